"""The bestmatch operator step by step: what comes out at which watermark, and what stays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.errors import InternalError
from windrow.operators.bestmatch import bestmatch as bestmatch_module
from windrow.operators.bestmatch.bestmatch import MatwinBestmatchOp
from windrow.operators.columns.arrow_types import arrow_type
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import Snapshot
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.bestmatch import MatwinBestmatch
from windrow.physical.nodes.scans import ScanStream
from windrow.plan.nodes.bestmatch_join import Dimension
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

FIELDS = (("id", "bigint"), ("x", "bigint"), ("k", "string"), ("note", "string"))


def scan(alias):
    schema = Schema(tuple(Field(f"{alias}.{name}", kind) for name, kind in FIELDS))
    names = tuple(name for name, _ in FIELDS)
    return ScanStream(alias, alias, names, schema, f"{alias}.ts", "bigint", 0)


def node(lo=10, hi=10, *, eps=None, keep_unmatched=False, classes=(), time_dimension=True):
    time = (Dimension("l.ts", "r.ts", "mindist", None, is_time=True),) if time_dimension else ()
    return MatwinBestmatch(
        left=scan("l"),
        right=scan("r"),
        dimensions=(*time, Dimension("l.x", "r.x", "mindist", eps)),
        classes=classes,
        lo=lo,
        hi=hi,
        keep=(("l.id",), ("r.id", "r.note")),
        keep_unmatched=keep_unmatched,
        schema=Schema(
            (Field("l.id", "bigint"), Field("r.id", "bigint"), Field("r.note", "string"))
        ),
    )


def batch(alias, *rows: tuple, ends=None):
    """Rows of (time, id, x[, k]); the note repeats the id."""
    padded = [(*row, "a")[:4] for row in rows]
    cells = {
        "id": [row[1] for row in padded],
        "x": [row[2] for row in padded],
        "k": [row[3] for row in padded],
        "note": [f"note {row[1]}" for row in padded],
    }
    arrays = [pa.array(cells[name], arrow_type(kind)) for name, kind in FIELDS]
    columns = pa.RecordBatch.from_arrays(arrays, names=[f"{alias}.{name}" for name, _ in FIELDS])
    times = np.array([row[0] for row in padded], np.int64)
    return ChangeBatch(columns, times, None if ends is None else np.array(ends, np.int64))


def rows(batches):
    return [
        (row["l.id"], row["r.id"], int(time))
        for one in batches
        for row, time in zip(one.columns.to_pylist(), one.times, strict=True)
    ]


def held(operator, side):
    parts = operator.snapshot().buffers[side]
    return sorted(int(t) for part in parts for t in part.rows().times)


def test_a_left_row_gives_its_pairs_once_the_watermark_is_beyond_its_reach():
    # 0         10        20        30
    # |---------|---------|---------|
    #         S8                          1 apart in x, 2 in time
    #           R10                       reaches 0 to 20
    #               S15                   0 apart in x, 5 in time: neither dominates the other
    #                 S17                 dominated by S15 in both
    operator = MatwinBestmatchOp(node())
    right = batch("r", (8, 1, 101), (15, 2, 100), (17, 3, 100))
    assert list(operator.push([batch("l", (10, 7, 100)), right])) == []
    assert operator.due() == 21
    assert rows(operator.advance(20)) == []
    assert sorted(rows(operator.advance(21))) == [(7, 1, 10), (7, 2, 15)]
    assert rows(operator.advance(MAX_TICK)) == []


def test_both_ends_of_the_reach_count():
    operator = MatwinBestmatchOp(node(lo=3, hi=5, time_dimension=False))
    right = batch("r", (6, 1, 0), (7, 2, 0), (15, 3, 0), (16, 4, 0))
    list(operator.push([batch("l", (10, 7, 0)), right]))
    assert rows(operator.advance(MAX_TICK)) == [(7, 2, 10), (7, 3, 15)]


def test_equal_distances_stay_side_by_side():
    operator = MatwinBestmatchOp(node())
    right = batch("r", (8, 1, 3), (12, 2, 7), (12, 3, 3), (12, 4, 8))
    list(operator.push([batch("l", (10, 7, 5)), right]))
    assert sorted(rows(operator.advance(MAX_TICK))) == [(7, 1, 10), (7, 2, 12), (7, 3, 12)]


def test_a_left_row_without_candidates_is_absent_unless_it_is_to_be_kept():
    left = batch("l", (10, 7, 5), (11, 8, None), (12, 9, 5))
    for keep_unmatched, expected in ((False, []), (True, [(7, None, 10), (8, None, 11)])):
        operator = MatwinBestmatchOp(node(eps=2, keep_unmatched=keep_unmatched))
        list(operator.push([left, batch("r", (22, 1, 5), (10, 2, 8), (10, 3, None))]))
        assert rows(operator.advance(MAX_TICK)) == [*expected, (9, 1, 22)]


def test_unmatched_rows_have_typed_nulls_even_when_nothing_came_from_the_right():
    operator = MatwinBestmatchOp(node(keep_unmatched=True))
    list(operator.push([batch("l", (10, 7, 5)), None]))
    (result,) = operator.advance(MAX_TICK)
    assert result.columns.schema.types == [pa.int64(), pa.int64(), pa.string()]
    assert result.columns.to_pylist() == [{"l.id": 7, "r.id": None, "r.note": None}]


def test_an_end_is_the_earlier_of_both_and_an_unmatched_row_keeps_its_own():
    operator = MatwinBestmatchOp(node(keep_unmatched=True))
    left = batch("l", (10, 7, 5), (11, 8, 5), (50, 9, 5), ends=[30, 18, 70])
    list(operator.push([left, batch("r", (10, 1, 5), ends=[20])]))
    (result,) = operator.advance(MAX_TICK)
    assert rows([result]) == [(7, 1, 10), (8, 1, 11), (9, None, 50)]
    assert result.ends.tolist() == [20, 18, 70]
    assert result.signs is None


def test_rows_without_ends_never_end_beside_rows_that_do():
    operator = MatwinBestmatchOp(node())
    list(operator.push([batch("l", (10, 7, 5)), batch("r", (10, 1, 5), ends=[20])]))
    (result,) = operator.advance(MAX_TICK)
    assert result.ends.tolist() == [20]
    list(operator.push([batch("l", (10, 7, 5)), batch("r", (10, 1, 5))]))
    (result,) = operator.advance(MAX_TICK)
    assert result.ends is None


def test_a_right_row_goes_as_soon_as_no_left_row_can_reach_it():
    # lo = 4, hi = 10:    S20 is reached by left rows from 10 to 24
    operator = MatwinBestmatchOp(node(lo=4, hi=10))
    list(operator.push([None, batch("r", (20, 1, 0))]))
    assert operator.due() == 25
    list(operator.advance(24))
    assert held(operator, "right") == [20]
    list(operator.advance(25))
    assert held(operator, "right") == []
    assert operator.counters.drops == 1


def test_a_right_row_stays_while_a_waiting_left_row_reaches_it():
    operator = MatwinBestmatchOp(node(lo=4, hi=10))
    list(operator.push([batch("l", (24, 7, 0)), batch("r", (20, 1, 0), (19, 2, 0))]))
    assert operator.due() == 24  # S19 is out of reach of L24, and of all to come from 24 on
    list(operator.advance(34))
    assert held(operator, "right") == [20]
    assert operator.due() == 35
    assert rows(operator.advance(35)) == [(7, 1, 24)]
    assert held(operator, "right") == held(operator, "left") == []
    assert operator.due() == MAX_TICK


def test_a_reach_that_lies_wholly_before_the_left_row_needs_no_waiting():
    # t(right) - t(left) in [-9, -5]: R10 reaches 1 to 5 and is final once the watermark is 6
    operator = MatwinBestmatchOp(node(lo=9, hi=-5, time_dimension=False))
    list(operator.push([batch("l", (10, 7, 0)), batch("r", (5, 1, 0), (6, 2, 0), (0, 3, 0))]))
    assert rows(operator.advance(5)) == []
    assert rows(operator.advance(6)) == [(7, 1, 10)]
    assert held(operator, "right") == [0, 5, 6]  # S0 is reached by left rows from 5 to 9
    list(operator.advance(10))
    assert held(operator, "right") == [5, 6]


def test_results_trail_the_watermark_by_what_a_left_row_waits_and_never_lead_it():
    assert node(lo=4, hi=10).delay == 10
    assert node(lo=9, hi=-5).delay == 0


def test_a_watermark_of_minus_infinity_changes_nothing():
    operator = MatwinBestmatchOp(node())
    list(operator.push([batch("l", (-(2**62), 7, 0)), batch("r", (-(2**62), 1, 0))]))
    assert rows(operator.advance(MIN_TICK)) == []
    assert operator.counters.stored == 2


def test_times_at_the_edge_of_what_ticks_can_count_do_not_wrap():
    operator = MatwinBestmatchOp(node(lo=2**62, hi=2**62))
    left = batch("l", (MIN_TICK + 1, 1, 0), (MAX_TICK - 1, 2, 0))
    list(operator.push([left, batch("r", (MIN_TICK + 2, 1, 0), (MAX_TICK - 2, 2, 0))]))
    assert rows(operator.advance(MAX_TICK)) == [(1, 1, MIN_TICK + 2), (2, 2, MAX_TICK - 1)]


def test_keys_must_be_equal_and_null_meets_null_only_where_asked():
    left = batch("l", (10, 7, 5, "a"), (10, 8, 5, None), (10, 9, 5, "c"))
    right = batch("r", (10, 1, 9, "a"), (10, 2, 5, "b"), (10, 3, 5, None))
    for null_safe, expected in ((False, [(7, 1, 10)]), (True, [(7, 1, 10), (8, 3, 10)])):
        classes = (KeyClass(("l.k", "r.k"), "string", null_safe),)
        operator = MatwinBestmatchOp(node(classes=classes))
        list(operator.push([left, right]))
        assert rows(operator.advance(MAX_TICK)) == expected


def test_a_negative_constraint_leaves_no_candidates():
    operator = MatwinBestmatchOp(node(eps=-1, keep_unmatched=True))
    list(operator.push([batch("l", (10, 7, 5)), batch("r", (10, 1, 5))]))
    assert rows(operator.advance(MAX_TICK)) == [(7, None, 10)]


def test_final_rows_come_in_blocks_in_time_order(monkeypatch):
    monkeypatch.setattr(bestmatch_module, "BLOCK_ROWS", 4)
    operator = MatwinBestmatchOp(node(lo=0, hi=0))
    times = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    list(operator.push([batch("l", *[(t, t, 0) for t in times]), batch("r", (4, 1, 0))]))
    list(operator.push([None, batch("r", (9, 2, 0))]))
    assert rows(operator.advance(MAX_TICK)) == [(4, 1, 4), (9, 2, 9)]
    assert operator.counters.probes == 2


def test_state_keeps_only_the_columns_that_the_join_needs():
    operator = MatwinBestmatchOp(node())
    list(operator.push([batch("l", (10, 7, 5)), batch("r", (10, 1, 5))]))
    buffers = operator.snapshot().buffers
    assert buffers["left"][0].chunk.batch.columns.schema.names == ["l.id", "l.x"]
    assert buffers["right"][0].chunk.batch.columns.schema.names == ["r.id", "r.note", "r.x"]


def test_counters_tell_rows_in_out_probed_compared_dropped_and_stored():
    operator = MatwinBestmatchOp(node(lo=2, hi=2))
    list(operator.push([batch("l", (10, 7, 5), (30, 8, 5)), batch("r", (9, 1, 5), (12, 2, 9))]))
    list(operator.advance(20))
    figures = operator.counters.as_dict()
    assert (figures["rows_in"], figures["rows_out"]) == (4, 1)
    assert (figures["probes"], figures["comparisons"]) == (1, 2)
    assert (figures["drops"], figures["stored"]) == (3, 1)
    assert figures["state_bytes"] > 0


def test_a_chunk_is_indexed_once_however_often_it_is_read():
    operator = MatwinBestmatchOp(node(lo=100, hi=0))
    list(operator.push([None, batch("r", *[(t, t, t) for t in range(50)])]))
    (part,) = operator.snapshot().buffers["right"]
    indexes = []
    for t in range(50, 60):
        list(operator.push([batch("l", (t, t, t)), None]))
        list(operator.advance(t + 1))
        indexes += part.chunk.derived.values()
    assert len(indexes) == 10
    assert all(index is indexes[0] for index in indexes)


def test_the_state_of_another_operator_is_refused():
    with pytest.raises(
        InternalError, match="bestmatch-join operator was given the state of a window-join"
    ):
        MatwinBestmatchOp(node()).restore(Snapshot("window-join", {}))
