"""The join that takes its combinations back: what the law of snapshot joins does not see."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.joins.snapshot_join import ExpiringJoinOp
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.snapshot_join import ExpiringJoin
from windrow.plan.windows import WindowGraph
from windrow.schema import MAX_TICK, Field, Schema

Row = tuple[int, int, int]
"""Key, time, end."""


def node(aliases: str = "ab") -> ExpiringJoin:
    names = [(f"{alias}.k",) for alias in aliases]
    schemas = [Schema((Field(name, "bigint"),)) for (name,) in names]
    return ExpiringJoin(
        tuple(
            ScanStream(alias, alias, ("k",), schema, "t", "bigint", 0)
            for alias, schema in zip(aliases, schemas, strict=True)
        ),
        tuple(aliases),
        (KeyClass(tuple(name for (name,) in names), "bigint"),),
        WindowGraph(tuple(aliases), ()),
        tuple(names),
        "hash",
        Schema(tuple(field for schema in schemas for field in schema.fields)),
    )


def batch(
    join: ExpiringJoin, port: int, rows: list[Row], signs: list[int] | None = None
) -> ChangeBatch:
    keys, times, ends = (list(column) for column in zip(*rows, strict=True))
    columns = pa.RecordBatch.from_pydict({join.keep[port][0]: pa.array(keys, pa.int64())})
    own = None if signs is None else np.array(signs, np.int8)
    return ChangeBatch(columns, np.array(times), np.array(ends), own)


def pushed(join: ExpiringJoin, *inputs: list[Row]) -> ExpiringJoinOp:
    operator = ExpiringJoinOp(join)
    assert not list(operator.push([batch(join, port, rows) for port, rows in enumerate(inputs)]))
    return operator


def given(operator: ExpiringJoinOp, watermark: int) -> list[tuple[int, int]]:
    """(time, sign) of what comes out, which has no ends."""
    batches = list(operator.advance(watermark))
    assert all(found.ends is None for found in batches)
    marks = [zip(b.times.tolist(), b.signs_or_insert().tolist(), strict=True) for b in batches]
    return [pair for own in marks for pair in own]


def test_a_combination_comes_with_its_last_row_and_goes_with_the_first_that_ends():
    join = node("abc")
    operator = pushed(join, [(1, 3, 9)], [(1, 5, 16)], [(1, 7, 12)])
    assert given(operator, 8) == [(7, 1)]
    assert operator.counters.stored == 3  # the rows, and no combination
    assert operator.due() == 10
    assert given(operator, 10) == [(9, -1)]
    assert given(operator, MAX_TICK) == []
    assert (operator.counters.stored, operator.counters.drops) == (0, 3)


@pytest.mark.parametrize("marks", [(MAX_TICK,), (5, 9, MAX_TICK), range(1, 20)])
def test_rows_that_end_together_take_their_combination_back_once(marks):
    operator = pushed(node("abc"), [(1, 3, 9)], [(1, 3, 9), (1, 4, 9)], [(1, 2, 9)])
    found = [pair for mark in marks for pair in given(operator, mark)]
    assert found == [(3, 1), (4, 1), (9, -1), (9, -1)]


def test_rows_wait_until_the_watermark_has_passed_them():
    operator = pushed(node(), [(1, 5, 20)], [(1, 3, 20)])
    assert operator.due() == 4
    assert given(operator, 5) == []
    assert operator.counters.stored == 2
    assert given(operator, 6) == [(5, 1)]


def test_a_row_that_is_taken_back_takes_its_combinations_back_and_none_again_at_its_end():
    join = node()
    operator = ExpiringJoinOp(join)
    first = batch(join, 0, [(1, 2, 12), (1, 6, 12)], [1, -1])
    list(operator.push([first, batch(join, 1, [(1, 3, 30)])]))
    assert given(operator, 7) == [(3, 1), (6, -1)]
    assert operator.counters.stored == 1
    assert given(operator, MAX_TICK) == []


def test_a_row_that_ends_before_another_is_taken_back_leaves_it_alone():
    """Both happen in one step: at 5 the first row ends, at 7 the second is taken back."""
    join = node()
    operator = ExpiringJoinOp(join)
    second = batch(join, 1, [(1, 3, MAX_TICK), (1, 7, MAX_TICK)], [1, -1])
    list(operator.push([batch(join, 0, [(1, 2, 5)]), second]))
    assert given(operator, 10) == [(3, 1), (5, -1)]


def test_nothing_is_held_when_time_has_ended():
    operator = pushed(node(), [(1, 2, MAX_TICK)], [(2, 3, MAX_TICK)])
    assert given(operator, MAX_TICK) == []
    assert operator.counters.stored == 0


def test_rows_that_can_match_nothing_are_not_held():
    operator = ExpiringJoinOp(node())
    columns = pa.RecordBatch.from_pydict({"a.k": pa.array([None, 1], pa.int64())})
    rows = ChangeBatch(columns, np.array([1, 5]), np.array([9, 5]))  # the second ends as it comes
    list(operator.push([rows, None]))
    assert (operator.counters.rows_in, operator.counters.stored) == (2, 0)
