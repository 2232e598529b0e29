"""Outer, semi and anti joins step by step: what comes when, and what is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from cases.driving import step

from windrow.errors import InternalError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import Snapshot, build
from windrow.operators.engine.driver import OperatorDriver
from windrow.operators.joins.bew_join import BewJoinOp
from windrow.operators.joins.match_log import Intervals, Matched, between, numbered, together
from windrow.operators.joins.outer_join import FINAL_ROWS, OuterJoinOp
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.outer_join import OuterJoin
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.time_join import TimeJoin
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

COLUMNS = {
    alias: Schema((Field(f"{alias}.k", "bigint"), Field(f"{alias}.v", "string"))) for alias in "ab"
}


def join(kind: str, lo: int = 5, hi: int = 5, *, keyed: bool = True) -> OuterJoin:
    keep = tuple(schema.names for schema in COLUMNS.values())
    if kind in {"semi", "anti"}:
        keep = (keep[0], ())
    fields = [f for s, kept in zip(COLUMNS.values(), keep, strict=True) for f in s.fields if kept]
    return OuterJoin(
        inputs=tuple(
            ScanStream(alias, alias, ("k", "v"), schema, "ts", "bigint", 0)
            for alias, schema in COLUMNS.items()
        ),
        aliases=("a", "b"),
        classes=(KeyClass(("a.k", "b.k"), "bigint"),) if keyed else (),
        graph=WindowGraph(("a", "b"), (Bound(0, 1, lo, hi),)),
        keep=keep,
        method="hash" if keyed else "nested-loop",
        schema=Schema(tuple(fields)),
        kind=kind,
    )


def rows(alias: str, *rows: tuple[int, int | None]) -> ChangeBatch:
    """Rows (time, key); their value names them: `a7` is the row of a at 7."""
    columns = {
        f"{alias}.k": pa.array([key for _, key in rows], pa.int64()),
        f"{alias}.v": pa.array([f"{alias}{time}" for time, _ in rows]),
    }
    return ChangeBatch(
        pa.RecordBatch.from_pydict(columns), np.array([t for t, _ in rows], np.int64)
    )


def shown(results: Any) -> list[tuple[Any, ...]]:
    """The values of v, then the event time."""
    found = []
    for batch in results:
        values = [c.to_pylist() for n, c in zip(batch.columns.schema.names, batch.columns.columns, strict=True) if n.endswith(".v")]  # fmt: skip
        found += zip(*values, batch.times.tolist(), strict=True)
    return sorted(found, key=repr)


def test_a_pair_comes_with_its_last_row_and_an_unmatched_row_once_final():
    # b comes from 2 before a to 5 after it
    #   a10 |-------- reach 8..15 --------|    b9 matches it
    #   a20 |-------- reach 18..25 -------|    nothing does; final at the watermark 26
    join_op = OuterJoinOp(join("left", lo=2, hi=5))
    assert shown(join_op.push([rows("a", (10, 1), (20, 1)), None])) == []
    assert shown(join_op.push([None, rows("b", (9, 1), (30, 1))])) == [("a10", "b9", 10)]
    assert shown(join_op.advance(25)) == []
    assert shown(join_op.advance(26)) == [("a20", None, 20)]
    assert shown(join_op.advance(MAX_TICK)) == []


def test_each_side_of_a_full_join_waits_for_its_own_reach():
    join_op = OuterJoinOp(join("full", lo=2, hi=5))
    list(join_op.push([rows("a", (10, 1)), rows("b", (10, 2))]))
    assert join_op.due() == 13
    assert shown(join_op.advance(13)) == [(None, "b10", 10)]
    assert join_op.due() == 16
    assert shown(join_op.advance(16)) == [("a10", None, 10)]
    assert join_op.due() == MAX_TICK


def test_a_semi_row_comes_once_with_its_first_match():
    join_op = OuterJoinOp(join("semi"))
    assert shown(join_op.push([rows("a", (10, 1), (11, 1)), rows("b", (9, 1))])) == [
        ("a10", 10),
        ("a11", 11),
    ]
    assert shown(join_op.push([rows("a", (12, 1)), rows("b", (11, 1), (12, 1))])) == [("a12", 12)]
    assert shown(join_op.push([None, rows("b", (13, 1))])) == []
    assert shown(join_op.advance(MAX_TICK)) == []


def test_a_row_with_a_null_key_matches_nothing_and_is_preserved():
    for kind, wanted in {
        "left": [("a3", None, 3)],
        "right": [(None, "b4", 4)],
        "full": [("a3", None, 3), (None, "b4", 4)],
        "anti": [("a3", 3)],
        "semi": [],
    }.items():
        join_op = OuterJoinOp(join(kind))
        assert shown(join_op.push([rows("a", (3, None)), rows("b", (4, None))])) == []
        assert join_op.counters.rows_in == 2
        assert shown(join_op.advance(MAX_TICK)) == wanted


def test_matches_that_lie_before_a_row_are_known_as_it_comes():
    join_op = OuterJoinOp(join("left", lo=9, hi=-2))  # t(b) - t(a) in [-9, -2]
    list(join_op.push([None, rows("b", (1, 1))]))
    list(join_op.advance(4))
    assert shown(join_op.push([rows("a", (5, 1), (5, 2), (40, 1)), None])) == [("a5", "b1", 5)]
    assert shown(join_op.advance(4)) == [("a5", None, 5)]
    assert join_op.counters.stored == 2  # b1, and a40, which b may still reach
    assert shown(join_op.advance(39)) == [("a40", None, 40)]


def test_late_rows_and_rows_without_a_time_are_counted_and_not_preserved():
    driver = OperatorDriver(join("full"))
    assert step(driver, [rows("a", (3, 1), (MIN_TICK, 2)), rows("b", (9, 5))], 4, 5) == []
    assert (driver.counters.late, driver.counters.null_time) == (1, 1)
    assert shown(driver.advance(MAX_TICK)) == [(None, "b9", 9)]


def test_nothing_is_kept_longer_than_in_the_inner_join():
    outer, inner = OuterJoinOp(join("full", lo=2, hi=5)), BewJoinOp(join("inner", lo=2, hi=5))
    batches = [rows("a", *((t, t % 3) for t in range(20))), rows("b", (7, 1), (3, 2))]
    for operator in (outer, inner):
        list(operator.push(batches))
        list(operator.advance(12))
    for port in ("0", "1"):
        kept = [
            sorted(t for part in operator.snapshot().buffers[port] for t in part.rows().times)
            for operator in (outer, inner)
        ]
        assert kept[0] == kept[1]


def test_a_row_is_logged_once_however_many_pushes_match_it():
    join_op = OuterJoinOp(join("left", keyed=False))
    list(join_op.push([rows("a", (5, 1), (6, 1)), None]))
    for _ in range(10):
        list(join_op.push([None, rows("b", (5, 1))]))
    (log,) = [parts for name, parts in join_op.snapshot().buffers.items() if name == "log 0"]
    assert sum(map(len, log)) == 2


def test_a_push_looks_only_at_the_rows_that_it_matches():
    """The log of a long window is asked by bits, which are computed once per chunk."""
    matched = Matched(by_instant=False)
    everyone = rows("a", *((t, 1) for t in range(20_000)))
    matched.note(numbered(everyone, 0))
    (chunk,) = [part.chunk for part in matched.log.slices]
    again = numbered(everyone, 0).take(np.array([7, 19_999]))
    assert len(matched.note(again)) == 0
    index = chunk.derived["bits"]
    assert len(matched.note(again)) == 0
    assert chunk.derived["bits"] is index
    assert matched.note(numbered(rows("a", (7, 1)), 20_000)).tolist() == [0]


def test_final_rows_leave_in_blocks():
    join_op = OuterJoinOp(join("anti", keyed=False))
    count = 2 * FINAL_ROWS + 10
    list(join_op.push([rows("a", *((t // 3, 1) for t in range(count))), None]))
    sizes = [len(batch) for batch in join_op.advance(MAX_TICK)]
    assert sum(sizes) == count
    assert max(sizes) <= FINAL_ROWS + 3
    assert join_op.counters.rows_out == join_op.counters.drops == count


def test_numbers_go_on_after_a_restore():
    first = OuterJoinOp(join("semi", keyed=False))
    list(first.push([rows("a", (5, 1)), rows("b", (5, 1))]))
    second = OuterJoinOp(join("semi", keyed=False))
    second.restore(first.snapshot())
    assert shown(second.push([rows("a", (5, 2)), None])) == [("a5", 5)]
    assert shown(second.push([None, rows("b", (6, 1))])) == []
    assert second.snapshot().numbers == {"next_number": 2}


def test_the_state_of_an_inner_join_is_not_taken():
    with pytest.raises(InternalError, match="wrong-state"):
        OuterJoinOp(join("left")).restore(Snapshot("window-join", {}))


def test_every_kind_but_inner_is_built_as_an_outer_join():
    for kind in ("left", "right", "full", "semi", "anti"):
        assert isinstance(build(join(kind)), OuterJoinOp)
    assert not isinstance(build(TimeJoin(**join("left").common())), OuterJoinOp)


def test_one_side_that_never_comes_leaves_the_other_unmatched():
    join_op = OuterJoinOp(join("left"))
    list(join_op.push([rows("a", (5, 1), (4, 2)), None]))
    assert shown(join_op.advance(MAX_TICK)) == [("a4", None, 4), ("a5", None, 5)]


def test_columns_of_the_answer_have_the_types_of_the_schema():
    node = replace(join("left"), keep=(("a.v",), ("b.k",)))
    node = replace(node, schema=Schema((Field("a.v", "string"), Field("b.k", "bigint"))))
    join_op = OuterJoinOp(node)
    list(join_op.push([rows("a", (5, 1)), None]))
    (alone,) = join_op.advance(MAX_TICK)
    assert alone.columns.schema.types == [pa.string(), pa.int64()]


def intervals(*parts: tuple[int, int, int]) -> Intervals:
    columns = zip(*parts, strict=True) if parts else ([], [], [])
    return Intervals(*(np.array(list(column), np.int64) for column in columns))


def as_rows(found: Intervals) -> list[tuple[int, ...]]:
    return list(zip(*(part.tolist() for part in found), strict=True))


def test_intervals_that_overlap_or_touch_are_one():
    found = together(intervals((1, 0, 4), (0, 5, 6), (1, 4, 6), (1, 8, 9), (1, 1, 2), (0, 1, 3)))
    assert as_rows(found) == [(0, 1, 3), (0, 5, 6), (1, 0, 6), (1, 8, 9)]
    assert as_rows(together(intervals())) == []


def test_a_row_stands_alone_between_its_matches():
    # row 0   0 |==  ====   | 10      alone before, between and after
    # row 1   0 |===========| 10      alone all the time
    # row 2   0             | 10      never
    matches = intervals((0, 2, 3), (0, 5, 9), (2, 0, 10))
    found = between(matches, np.zeros(3, np.int64), np.full(3, 10, np.int64))
    assert as_rows(found) == [(0, 0, 2), (0, 3, 5), (0, 9, 10), (1, 0, 10)]
