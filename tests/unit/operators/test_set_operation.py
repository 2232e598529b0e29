"""DISTINCT and set operations on plain cases: the paper's examples, and what is kept and counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.errors import DataError, InternalError
from windrow.operators.aggregates.set_operation import SetOperationOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import Snapshot
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.set_op import SetOp
from windrow.schema import MAX_TICK, Field, Schema

SCHEMA = Schema((Field("x", "string"),))
SCAN = ScanStream("s", "s", SCHEMA.names, SCHEMA, "t", "bigint", 0)


def operator_of(kind):
    inputs = 1 if kind in {"distinct", "changes"} else 2
    return SetOperationOp(SetOp((SCAN,) * inputs, kind))


def arrivals(rows, window):
    """Rows (time, value), each alive for window ticks after its own."""
    times = np.array([time for time, _ in rows], np.int64)
    values = pa.record_batch({"x": pa.array([value for _, value in rows], pa.string())})
    return ChangeBatch(values, times, times + window + 1)


def changes(batches):
    return [
        f"{time} {'+' if sign > 0 else '-'}{value}"
        for batch in batches
        for time, sign, value in zip(
            batch.times, batch.signs, batch.columns["x"].to_pylist(), strict=True
        )
    ]


# The paper's figure 6, as its text gives it: a and d were put out as distinct, and expire at T3 and
# T5 while a duplicate of each is in the window. At T5 the distinct values are e, a and d.
#
# 0    1    2    3    4    5    6    7    8
# a ------------------)    T3        T5
#           d ------------------)
#                a ------------------)
#                     e ------------------)
#                               d ----------
def test_a_duplicate_stays_distinct_when_the_tuple_before_it_expires():
    operator = operator_of("distinct")
    rows = [(0, "a"), (2, "d"), (3, "a"), (4, "e"), (6, "d")]
    list(operator.push([arrivals(rows, window=4)]))
    # Copies are alike, so that the duplicate need not be put out again.
    assert changes(operator.advance(8)) == ["0 +a", "2 +d", "4 +e"]
    assert changes(operator.advance(MAX_TICK)) == ["8 -a", "9 -e", "11 -d"]


# The paper's figure 7, as its text gives it: up to T1 S has B, A and C, which are put out; at T2 A
# comes to R, and A- is put out; at T3 E comes to S, where R has one; at T4 R's E expires.
#
#      0    1    2    3    4    5    6    7    8
# S         B    A    C         E
# R    E                   A              )
# S-R       +B   +A   +C   -A             +E
#                     T1   T2   T3        T4
def test_minus_gives_all_four_cases_of_signs_in_and_out():
    operator = operator_of("except all")
    s = arrivals([(1, "B"), (2, "A"), (3, "C"), (5, "E")], window=6)
    r = arrivals([(0, "E"), (4, "A")], window=6)
    list(operator.push([s, r]))
    # Case 2: -A for what comes to R; case 3: +E for what leaves it.
    assert changes(operator.advance(8)) == ["1 +B", "2 +A", "3 +C", "4 -A", "7 +E"]
    assert changes(operator.advance(MAX_TICK)) == ["8 -B", "10 -C", "12 -E"]


def test_of_equal_numbers_of_copies_nothing_is_left():
    # Steps 5 and 31 of algorithm 4.2 as printed miss this: f_s > f_r does not hold after the update.
    operator = operator_of("except all")
    list(operator.push([arrivals([(0, "a"), (0, "a")], 9), arrivals([(1, "a"), (2, "a")], 9)]))
    assert changes(operator.advance(5)) == ["0 +a", "0 +a", "1 -a", "2 -a"]


def test_except_is_not_except_all_then_distinct():
    operator = operator_of("except")
    list(operator.push([arrivals([(0, "a"), (0, "a")], 9), arrivals([(1, "a")], 2)]))
    assert changes(operator.advance(5)) == ["0 +a", "1 -a", "4 +a"]


def test_what_is_deleted_and_inserted_at_one_instant_is_no_change():
    operator = operator_of("changes")
    list(operator.push([arrivals([(0, "a"), (3, "a"), (3, "a")], window=2)]))
    assert changes(operator.advance(MAX_TICK)) == ["0 +a", "3 +a", "6 -a", "6 -a"]


def test_rows_alive_keep_their_slot_and_input_alone_and_counters_tell_the_work():
    operator = operator_of("intersect")
    s, r = arrivals([(0, "a"), (1, "b"), (9, "b")], 4), arrivals([(2, "b")], 4)
    list(operator.push([s, r]))
    assert changes(operator.advance(6)) == ["2 +b"]
    (part,) = operator.snapshot().buffers["alive"]
    assert part.chunk.batch.columns.schema.names == ["slot", "input"]
    counters = operator.counters
    # Of the rows at 0, 1 and 2 the first has gone (at 5); the one at 9 waits.
    assert (counters.rows_in, counters.rows_out, counters.comparisons) == (4, 1, 4)
    assert (counters.drops, counters.stored) == (1, 3)
    assert counters.state_bytes > 0


def test_rows_without_columns_are_all_alike():
    """Of rows that are counted alone, plans keep no column."""
    bare = Schema(())
    scan = ScanStream("s", "s", (), bare, "t", "bigint", 0)
    operator = SetOperationOp(SetOp((scan,), "changes"))
    columns = pa.RecordBatch.from_pydict({})
    list(operator.push([ChangeBatch(columns, np.array([1, 2]), np.array([4, 5]))]))
    (found,) = operator.advance(MAX_TICK)
    assert found.times.tolist() == [1, 2, 4, 5]
    assert found.signs_or_insert().tolist() == [1, 1, -1, -1]


@pytest.mark.parametrize("kind", ["union", "except all"])
def test_a_delete_of_a_row_that_is_not_there_is_refused(kind):
    operator = operator_of(kind)
    batch = arrivals([(0, "a")], 0)
    gone = ChangeBatch(batch.columns, batch.times, None, np.array([-1], np.int8))
    list(operator.push([None, gone]))
    with pytest.raises(DataError, match="a change deletes a row that the stream does not hold"):
        list(operator.advance(MAX_TICK))


def test_the_state_of_another_operator_is_refused():
    with pytest.raises(InternalError, match="was given the state of a sliding-aggregate"):
        operator_of("union").restore(Snapshot("sliding-aggregate", {}))


@pytest.mark.law
@pytest.mark.parametrize("kind", ["distinct", "except all"])
def test_a_change_costs_the_same_however_much_the_window_holds(kind):
    work = []
    for window in (100, 10_000):
        operator = operator_of(kind)
        rows = [(t, str(t % 50)) for t in range(window + 100)]
        ports = [arrivals(rows, window), arrivals(rows, window)]
        list(operator.push(ports[: 1 if kind == "distinct" else 2]))
        list(operator.advance(window))
        before = operator.counters.comparisons
        list(operator.advance(window + 50))
        work.append(operator.counters.comparisons - before)
    assert work[0] == work[1]
