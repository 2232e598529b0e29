"""Negative tuples at the source: what the law of the operator does not see."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.errors import DataError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.feeds.expire import ExpireRowsOp
from windrow.physical.nodes.feeds import ExpireRows
from windrow.physical.nodes.scans import ScanStream
from windrow.schema import MAX_TICK, Field, Schema

COLUMNS = Schema((Field("s.x", "bigint"),))
SPEC = ExpireRows(ScanStream("s", "s", ("x",), COLUMNS, "t", "bigint", 0))


def rows(values, times, ends, signs=None) -> ChangeBatch:
    columns = pa.RecordBatch.from_pydict({"s.x": pa.array(values, pa.int64())})
    own = None if signs is None else np.array(signs, np.int8)
    return ChangeBatch(columns, np.array(times), np.array(ends), own)


def shown(batches) -> list[tuple[int, int, int]]:
    return [
        (time, sign, value)
        for batch in batches
        for time, sign, value in zip(
            batch.times.tolist(),
            batch.signs_or_insert().tolist(),
            batch.columns.column("s.x").to_pylist(),
            strict=True,
        )
    ]


def test_the_example_of_the_paper():
    """Figure 5(b): values 6, 9 and 13 in a window, of which 6 and 9 leave one after the other."""
    operator = ExpireRowsOp(SPEC)
    list(operator.push([rows([6, 9, 13], [0, 2, 3], [5, 7, 8])]))
    assert shown(operator.advance(4)) == [(0, 1, 6), (2, 1, 9), (3, 1, 13)]
    assert shown(operator.advance(6)) == [(5, -1, 6)]
    assert shown(operator.advance(MAX_TICK)) == [(7, -1, 9), (8, -1, 13)]


def test_counters_show_that_tuples_double_and_what_is_held():
    operator = ExpireRowsOp(SPEC)
    assert operator.due() == MAX_TICK
    list(operator.push([rows([1, 2, 3], [0, 4, 9], [5, 9, 14])]))
    assert operator.due() == 1
    assert operator.counters.stored == 3
    list(operator.advance(5))
    assert operator.due() == 6  # the first has its end at 5
    list(operator.advance(10))
    figures = operator.counters
    assert (figures.rows_in, figures.rows_out, figures.drops, figures.stored) == (3, 5, 2, 1)
    assert figures.state_bytes > 0
    list(operator.advance(MAX_TICK))
    assert (figures.rows_out, figures.stored, figures.state_bytes) == (6, 0, 0)


def test_a_row_that_is_taken_back_is_held_no_longer_and_has_no_negative_at_its_end():
    operator = ExpireRowsOp(SPEC)
    list(operator.push([rows([7, 7], [0, 3], [10, 10], [1, -1])]))
    assert shown(operator.advance(4)) == [(0, 1, 7), (3, -1, 7)]
    assert operator.counters.stored == 0
    assert shown(operator.advance(MAX_TICK)) == []


def test_the_end_of_a_row_that_was_taken_back_is_no_longer_waited_for():
    operator = ExpireRowsOp(SPEC)
    list(operator.push([rows([7, 8, 9, 7], [0, 0, 0, 1], [5, 8, 9, 5], [1, 1, 1, -1])]))
    assert len(shown(operator.advance(4))) == 4
    assert operator.due() == 9
    assert shown(operator.advance(6)) == []
    assert shown(operator.advance(MAX_TICK)) == [(8, -1, 8), (9, -1, 9)]


def test_rows_without_columns_come_and_go_too():
    bare = ChangeBatch(pa.RecordBatch.from_pydict({}), np.array([1, 1]), np.array([3, 4]))
    operator = ExpireRowsOp(SPEC)
    list(operator.push([bare]))
    (changes,) = operator.advance(MAX_TICK)
    assert changes.times.tolist() == [1, 1, 3, 4]
    assert changes.signs_or_insert().tolist() == [1, 1, -1, -1]


def test_a_row_that_takes_back_what_never_came_is_bad_data():
    operator = ExpireRowsOp(SPEC)
    list(operator.push([rows([1], [0], [10], [-1])]))
    with pytest.raises(DataError, match="deletes a row that the stream does not hold"):
        list(operator.advance(1))
