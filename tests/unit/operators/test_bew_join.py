"""The window join operator: single pushes, drawn in time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.errors import InternalError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import Snapshot, build
from windrow.operators.joins.bew_join import BewJoinOp
from windrow.operators.joins.bew_search import MOST_FOUND
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.time_join import TimeJoin
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

METHODS = ["hash", "nested-loop"]


def join(*bounds: Bound, size: int = 2, keep: bool = True, **choices: object) -> TimeJoin:
    """A join of streams a, b, .. on their column k that keeps each one's v."""
    names = tuple("abcdefgh"[:size])
    kept = tuple((f"{name}.v",) if keep else () for name in names)
    key = KeyClass(tuple(f"{n}.k" for n in names), "bigint", bool(choices.get("null_safe")))
    return TimeJoin(
        tuple(ScanStream(n, n, (), Schema(()), "ts", "bigint", 0) for n in names),
        names, (key,), WindowGraph(names, bounds), kept, str(choices.get("method", "hash")),
        Schema(tuple(Field(name, "bigint") for part in kept for name in part)),
    )  # fmt: skip


def rows(name: str, *times: int, keys=None, ends=None) -> ChangeBatch:
    """Rows at some times, numbered by v; all of key 1 unless said otherwise."""
    columns = {
        f"{name}.k": pa.array([1] * len(times) if keys is None else keys, pa.int64()),
        f"{name}.v": pa.array(range(len(times)), pa.int64()),
        f"{name}.unused": pa.array(["some text"] * len(times)),
    }
    return ChangeBatch(
        pa.record_batch(columns),
        np.array(times, np.int64),
        None if ends is None else np.array(ends, np.int64),
    )


def pushed(operator: BewJoinOp, *batches: ChangeBatch | None) -> list[tuple]:
    found = []
    for result in operator.push(batches):
        columns = [column.to_pylist() for column in result.columns.columns]
        found += zip(*columns, result.times.tolist(), strict=True)
    return sorted(found)


@pytest.mark.parametrize("method", METHODS)
def test_both_ends_of_a_window_are_included(method):
    # 0    5    10   15       t(b) - t(a) in [-2, 5]
    # |----|----|----|
    #         [a......]       a at 10 reaches from 8 to 15
    #        b7 b8   b15 b16
    operator = BewJoinOp(join(Bound(0, 1, 2, 5), method=method))
    assert pushed(operator, rows("a", 10), rows("b", 7, 8, 15, 16)) == [(0, 1, 10), (0, 2, 15)]


@pytest.mark.parametrize("method", METHODS)
def test_a_result_comes_with_its_last_row_and_only_then(method):
    operator = BewJoinOp(join(Bound(0, 1, 5, 5), Bound(1, 2, 5, 5), size=3, method=method))
    assert pushed(operator, rows("a", 10), None, rows("c", 12)) == []
    assert pushed(operator, None, rows("b", 11), None) == [(0, 0, 0, 12)]
    assert pushed(operator, None, None, None) == []
    assert pushed(operator, rows("a", 9), None, None) == [(0, 0, 0, 12)]


def test_rows_of_one_push_meet_once_even_at_equal_times():
    operator = BewJoinOp(join(Bound(0, 1, 0, 0), Bound(1, 2, 0, 0), size=3))
    found = pushed(operator, rows("a", 5, 5), rows("b", 5), rows("c", 5, 5))
    assert found == [(a, 0, c, 5) for a in (0, 1) for c in (0, 1)]


def test_a_row_is_dropped_one_tick_after_its_last_partner_could_come():
    # t(b) - t(a) in [0, 3]: a waits 3 ticks for b, b waits for no later a.
    operator = BewJoinOp(join(Bound(0, 1, 0, 3)))
    pushed(operator, rows("a", 10), rows("b", 10))
    assert operator.due() == 11
    list(operator.advance(11))
    assert (operator.counters.stored, operator.counters.drops) == (1, 1)
    assert operator.due() == 14
    list(operator.advance(13))
    assert pushed(operator, None, rows("b", 13)) == [(0, 0, 13)]
    list(operator.advance(14))
    assert operator.counters.stored == 0
    assert operator.due() == MAX_TICK


def test_the_end_of_every_input_empties_the_state():
    operator = BewJoinOp(join(Bound(0, 1, 5, 5)))
    pushed(operator, rows("a", MAX_TICK - 2), None)
    list(operator.advance(MAX_TICK))
    assert operator.counters.stored == 0
    assert operator.counters.state_bytes == 0


def test_the_end_of_a_result_is_the_least_of_its_rows():
    operator = BewJoinOp(join(Bound(0, 1, 5, 5)))
    (result,) = operator.push([rows("a", 1, ends=[9]), rows("b", 2, ends=[7])])
    assert result.ends is not None
    assert result.ends.tolist() == [7]
    (result,) = operator.push([None, rows("b", 3)])
    assert result.ends is not None
    assert result.ends.tolist() == [9]


def test_plain_streams_give_results_that_never_end():
    operator = BewJoinOp(join(Bound(0, 1, 5, 5)))
    (result,) = operator.push([rows("a", 1), rows("b", 2)])
    assert result.ends is None
    assert result.signs is None


def test_null_keys_are_counted_but_neither_kept_nor_matched():
    operator = BewJoinOp(join(Bound(0, 1, 5, 5)))
    assert pushed(operator, rows("a", 1, keys=[None]), rows("b", 1, keys=[None])) == []
    assert (operator.counters.rows_in, operator.counters.stored) == (2, 0)


@pytest.mark.parametrize("method", METHODS)
def test_null_keys_match_in_a_null_safe_class(method):
    operator = BewJoinOp(join(Bound(0, 1, 5, 5), null_safe=True, method=method))
    found = pushed(operator, rows("a", 1, 1, keys=[None, 4]), rows("b", 1, 1, keys=[4, None]))
    assert found == [(0, 1, 1), (1, 0, 1)]


def test_rows_without_an_event_time_are_left_out():
    operator = BewJoinOp(join(Bound(0, 1, 5, 5)))
    assert pushed(operator, rows("a", MIN_TICK), rows("b", MIN_TICK)) == []
    assert operator.counters.stored == 0


def test_a_join_that_keeps_no_column_still_gives_its_rows():
    operator = BewJoinOp(join(Bound(0, 1, 5, 5), keep=False))
    (result,) = operator.push([rows("a", 1, 2), rows("b", 2, 3)])
    assert len(result) == 4
    assert result.columns.num_columns == 0
    assert sorted(result.times.tolist()) == [2, 2, 3, 3]


def test_state_holds_only_the_columns_that_are_needed():
    operator = BewJoinOp(join(Bound(0, 1, 5, 5)))
    pushed(operator, rows("a", 1), None)
    (part,) = operator.snapshot().buffers["0"]
    assert part.chunk.batch.columns.schema.names == ["a.v", "a.k"]


@pytest.mark.parametrize("method", METHODS)
def test_eight_streams_join(method):
    bounds = [Bound(i, i + 1, 1, 1) for i in range(7)]
    operator = BewJoinOp(join(*bounds, size=8, method=method))
    batches = [rows(name, at, 100, keys=[1, 2]) for at, name in enumerate("abcdefgh")]
    assert pushed(operator, *batches[:7], None) == []
    assert pushed(operator, *[None] * 7, batches[7]) == [(0,) * 8 + (7,), (1,) * 8 + (100,)]


def test_a_huge_fan_out_comes_in_batches_of_bounded_size():
    operator = BewJoinOp(join(Bound(0, 1, 5, 5)))
    sizes = [len(r) for r in operator.push([rows("a", *[1] * 700), rows("b", *[1] * 700)])]
    assert sum(sizes) == 490_000
    assert max(sizes) < 2 * MOST_FOUND
    assert operator.counters.rows_out == 490_000


@pytest.mark.law
def test_a_push_touches_what_its_rows_can_match_however_large_the_window():
    touched = []
    for size in (1_000, 10_000):
        operator = BewJoinOp(join(Bound(0, 1, 10**6, 10**6)))
        times = range(size)
        pushed(operator, rows("a", *times, keys=list(times)), None)
        assert len(pushed(operator, None, rows("b", *times[:10], keys=list(range(10))))) == 10
        touched.append(operator.counters.comparisons)
    assert touched[1] <= touched[0] + 20


def test_an_index_is_built_once_and_stays_with_its_chunk():
    operator = BewJoinOp(join(Bound(0, 1, 5, 5)))
    pushed(operator, rows("a", 1), rows("b", 1))
    (part,) = operator.snapshot().buffers["0"]
    index = part.chunk.derived["buckets by ('a.k',)"]
    pushed(operator, None, rows("b", 2))
    assert part.chunk.derived["buckets by ('a.k',)"] is index


def test_counters_tell_probes_rows_and_state():
    operator = build(join(Bound(0, 1, 5, 5), method="nested-loop"))
    pushed(operator, rows("a", 1, 2, 3), None)
    pushed(operator, None, rows("b", 2))
    counters = operator.counters
    assert (counters.rows_in, counters.rows_out, counters.stored) == (4, 3, 4)
    assert (counters.probes, counters.comparisons) == (1, 3)
    assert counters.state_bytes > 0


def test_a_row_that_is_taken_back_is_an_error_of_ours():
    operator = BewJoinOp(join(Bound(0, 1, 5, 5)))
    batch = rows("a", 1)
    taken_back = ChangeBatch(batch.columns, batch.times, None, np.array([-1], np.int8))
    with pytest.raises(InternalError) as caught:
        list(operator.push([taken_back, None]))
    assert str(caught.value) == (
        "InternalError[join-retraction]: input 'a' of a window join takes a row back\n"
        "  a window join reads inserts only; rows leave it by their ends"
    )


def test_the_state_of_another_operator_is_refused():
    operator = BewJoinOp(join(Bound(0, 1, 5, 5)))
    with pytest.raises(InternalError) as caught:
        operator.restore(Snapshot("sliding-aggregate", {}))
    assert str(caught.value) == (
        "InternalError[wrong-state]: a window-join operator was given the state of a sliding-aggregate"
    )
