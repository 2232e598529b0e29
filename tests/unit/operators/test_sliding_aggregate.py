"""Sliding aggregates: known answers, what is kept, and what is said when the data is wrong."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from windrow.errors import DataError, InternalError, UnsupportedError
from windrow.operators.aggregates.sliding_aggregate import SlidingAggregateOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import Snapshot
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.plan.exprs import column
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.schema import MAX_TICK, Field, Schema


def operator_of(keys, aggregates):
    """An operator over (store, price); aggregates as (function, type of price, or None)."""
    schema = Schema((Field("store", "string"), Field("price", "double")))
    scan = ScanStream("sales", "s", schema.names, schema, "t", "bigint", 0)
    listed = tuple(
        Aggregate(function, column("price", kind) if kind else None, f"{function}_{i}", "")
        for i, (function, kind) in enumerate(aggregates)
    )
    names = (*keys, *(each.name for each in listed))
    shown = Schema(tuple(Field(name, "") for name in names))
    return SlidingAggregateOp(SlidingAggregate(scan, keys, listed, shown))


def sales(rows, kind=None, *, window):
    """Rows (time, store, price), each alive for window ticks after its own."""
    times = np.array([row[0] for row in rows], np.int64)
    batch = pa.RecordBatch.from_pydict(
        {
            "store": pa.array([row[1] for row in rows], pa.string()),
            "price": pa.array([row[2] for row in rows], kind or pa.float64()),
        }
    )
    return ChangeBatch(batch, times, times + window + 1)


def changes(batches):
    found = []
    for batch in batches:
        rows = zip(*(each.to_pylist() for each in batch.columns.columns), strict=True)
        marks = ["+" if sign > 0 else "-" for sign in batch.signs]
        found += zip(batch.times.tolist(), marks, *zip(*rows, strict=True), strict=True)
    return found


# 0    1    2    3    4    5    6
# |----|----|----|----|----|----|
# n 4 -----------)                    alive at 0, 1, 2: [RANGE 2]
#      n 5 -----------)
#           s 7 -----------)
#                n 1 -----------)
def test_groups_come_change_and_go_with_their_rows():
    operator = operator_of(("store",), [("sum", "double"), ("count", None)])
    rows = [(0, "north", 4.0), (1, "north", 5.0), (2, "south", 7.0), (3, "north", 1.0)]
    list(operator.push([sales(rows, window=2)]))
    assert changes(operator.advance(3)) == [
        (0, "+", "north", 4.0, 1),
        (1, "-", "north", 4.0, 1),
        (1, "+", "north", 9.0, 2),
        (2, "+", "south", 7.0, 1),
    ]
    assert operator.due() == 4
    assert changes(operator.advance(5)) == [
        (3, "-", "north", 9.0, 2),
        (3, "+", "north", 6.0, 2),
        (4, "-", "north", 6.0, 2),
        (4, "+", "north", 1.0, 1),
    ]
    assert changes(operator.advance(MAX_TICK)) == [
        (5, "-", "south", 7.0, 1),
        (6, "-", "north", 1.0, 1),
    ]
    assert operator.due() == MAX_TICK


def test_a_row_at_the_last_instant_of_all_comes_too():
    """It was left out: one tick later, when it is due, is never."""
    operator = operator_of(("store",), [("sum", "double"), ("count", None)])
    list(operator.push([sales([(MAX_TICK - 1, "north", 4.0)], window=0)]))
    assert changes(operator.advance(MAX_TICK)) == [(MAX_TICK - 1, "+", "north", 4.0, 1)]
    assert changes(operator.advance(MAX_TICK)) == []


def test_nothing_changes_where_a_row_replaces_an_equal_one():
    operator = operator_of(("store",), [("sum", "double"), ("count", None)])
    list(operator.push([sales([(0, "north", 4.0), (3, "north", 4.0)], window=2)]))
    assert changes(operator.advance(MAX_TICK)) == [
        (0, "+", "north", 4.0, 1),
        (6, "-", "north", 4.0, 1),
    ]


def test_without_keys_one_row_stays_from_the_first_event_on():
    operator = operator_of((), [("sum", "double"), ("count", None)])
    assert changes(operator.advance(2)) == []
    list(operator.push([sales([(3, "north", 4.0)], window=0)]))
    assert changes(operator.advance(4)) == [(3, "+", 4.0, 1)]
    assert changes(operator.advance(9)) == [(4, "-", 4.0, 1), (4, "+", None, 0)]
    list(operator.push([sales([(9, "north", 2.5)], window=0)]))
    assert changes(operator.advance(MAX_TICK)) == [
        (9, "-", None, 0),
        (9, "+", 2.5, 1),
        (10, "-", 2.5, 1),
        (10, "+", None, 0),
    ]


def test_a_row_that_is_never_alive_changes_nothing():
    operator = operator_of(("store",), [("count", None)])
    batch = sales([(3, "north", 4.0)], window=0)
    list(operator.push([ChangeBatch(batch.columns, batch.times, batch.times)]))
    assert changes(operator.advance(MAX_TICK)) == []
    assert operator.counters.stored == 0


def test_a_mean_of_decimals_rounds_half_up_away_from_zero():
    operator = operator_of(("store",), [("avg", "decimal(4,0)"), ("sum", "decimal(4,0)")])
    kind = pa.decimal128(4, 0)
    halves = [(0, "north", Decimal(1))] + [(0, "north", Decimal(0))] * 31
    losses = [(0, "south", Decimal(-1))] + [(0, "south", Decimal(0))] * 31
    list(operator.push([sales(halves + losses, kind, window=0)]))
    (batch,) = operator.advance(1)
    # 1 / 32 = 0.03125
    assert batch.columns["avg_0"].to_pylist() == [Decimal("0.0313"), Decimal("-0.0313")]
    assert batch.columns["avg_0"].type == pa.decimal128(8, 4)
    assert batch.columns["sum_1"].type == pa.decimal128(14, 0)


def test_the_counters_tell_the_work():
    operator = operator_of(("store",), [("sum", "double")])
    list(operator.push([sales([(t, "north", 1.0) for t in range(10)], window=4)]))
    assert operator.counters.stored == 10
    out = sum(len(batch) for batch in operator.advance(8))
    counters = operator.counters
    assert (counters.rows_in, counters.rows_out) == (10, out)
    # Rows 0 to 7 have come; those of 0 to 2 have gone (at 5, 6, 7); 3 to 7 are alive, 8 and 9 wait.
    assert (counters.probes, counters.comparisons) == (8, 11)
    assert (counters.drops, counters.stored) == (3, 7)
    assert counters.state_bytes > 0


def test_rows_alive_keep_their_slot_and_arguments_alone():
    operator = operator_of(("store",), [("count", "double")])
    list(operator.push([sales([(0, "a long name of a store", 1.0)], window=4)]))
    list(operator.advance(1))
    (part,) = operator.snapshot().buffers["alive"]
    assert part.chunk.batch.columns.schema.names == ["slot", "argument0"]
    assert part.chunk.batch.columns.schema.field("argument0").type == pa.bool_()


def test_the_groups_are_stored_anew_only_when_they_changed():
    operator = operator_of(("store",), [("sum", "double")])
    list(operator.push([sales([(0, "north", 1.0), (9, "south", 1.0)], window=4)]))
    list(operator.advance(1))
    before = operator.snapshot().buffers["groups"]
    list(operator.advance(2))
    assert operator.snapshot().buffers["groups"] is before
    list(operator.advance(7))
    assert operator.snapshot().buffers["groups"] == ()


@pytest.mark.law
def test_equal_states_are_stored_as_equal_bytes_whatever_came_before():
    plain = operator_of(("store",), [("sum", "double")])
    list(plain.push([sales([(5, "north", 0.75)], window=9)]))
    list(plain.advance(6))
    widened = operator_of(("store",), [("sum", "double")])
    list(widened.push([sales([(0, "north", 1e300), (0, "north", -1e-300)], window=1)]))
    list(widened.push([sales([(5, "north", 0.75)], window=9)]))
    list(widened.advance(6))
    left, right = plain.snapshot(), widened.snapshot()
    assert left.numbers == right.numbers
    assert left.buffers["groups"][0].chunk.id == right.buffers["groups"][0].chunk.id


def test_a_sum_beyond_bigint_is_refused():
    operator = operator_of(("store",), [("sum", "bigint")])
    rows = [(0, "north", 2**62), (1, "north", 2**62)]
    list(operator.push([sales(rows, pa.int64(), window=9)]))
    with pytest.raises(DataError) as caught:
        list(operator.advance(MAX_TICK))
    assert str(caught.value) == (
        "DataError[sum-overflow]: SUM(price) has a value that bigint cannot hold\n"
        "  at some instant the rows alive add up to more than the type of the result\n"
        "  hint: cast the argument to double, or to a wider type, inside SUM"
    )


def test_integers_may_pass_bigint_within_an_instant():
    operator = operator_of(("store",), [("sum", "bigint")])
    rows = [(0, "north", 2**62), (0, "north", 2**62), (0, "north", -(2**62))]
    list(operator.push([sales(rows, pa.int64(), window=0)]))
    assert changes(operator.advance(1)) == [(0, "+", "north", 2**62)]


@pytest.mark.parametrize(
    ("function", "kind", "shown"),
    [
        ("sum", pa.decimal128(38, 0), "decimal(38,0)"),
        ("avg", pa.decimal128(38, 0), "decimal(38,4)"),
    ],
)
def test_a_decimal_that_its_type_cannot_hold_is_refused(function, kind, shown):
    operator = operator_of(("store",), [(function, "decimal(38,0)")])
    rows = [(0, "north", Decimal(10**38 - 1)), (0, "north", Decimal(1))]
    list(operator.push([sales(rows, kind, window=9)]))
    with pytest.raises(DataError) as caught:
        list(operator.advance(MAX_TICK))
    assert caught.value.condition == f"{function}-overflow"
    assert caught.value.sentence == (
        f"{function.upper()}(price) has a value that {shown} cannot hold"
    )


def test_a_delete_of_a_row_that_is_not_there_is_refused():
    operator = operator_of(("store",), [("count", None)])
    batch = sales([(0, "north", 1.0)], window=0)
    gone = ChangeBatch(batch.columns, batch.times, None, np.array([-1], np.int8))
    list(operator.push([gone]))
    with pytest.raises(DataError) as caught:
        list(operator.advance(MAX_TICK))
    assert str(caught.value) == (
        "DataError[delete-without-row]: a change deletes a row that the stream does not hold\n"
        "  a delete must follow the insert of an equal row, at its instant or later\n"
        "  hint: check that the changelog is complete and starts with its inserts, that none of them"
        " was kept aside, and that a database logs whole rows and not only their keys"
        " (PostgreSQL: REPLICA IDENTITY FULL)"
    )


# 0    1    2    3    4    5
# |----|----|----|----|----|
# + -----------------------)      a row of north
#           - -------)            that is taken back for a while
#           s ----)               and another group, which must not get its place
def test_a_delete_that_ends_gives_the_row_back():
    operator = operator_of(("store",), [("sum", "double")])
    batch = sales([(0, "north", 4.0), (2, "north", 4.0), (2, "south", 1.0)], window=0)
    ends, signs = np.array([5, 4, 3]), np.array([1, -1, 1], np.int8)
    list(operator.push([ChangeBatch(batch.columns, batch.times, ends, signs)]))
    found = [change for watermark in range(7) for change in changes(operator.advance(watermark))]
    assert found == [
        (0, "+", "north", 4.0),
        (2, "-", "north", 4.0),
        (2, "+", "south", 1.0),
        (3, "-", "south", 1.0),
        (4, "+", "north", 4.0),
        (5, "-", "north", 4.0),
    ]
    assert operator.snapshot().buffers["groups"] == ()


def test_a_group_that_comes_back_knows_nothing_of_its_past():
    # The delete has another price than the insert: bad data that no count shows.
    operator = operator_of(("store",), [("sum", "double")])
    batch = sales([(0, "north", 4.0), (1, "north", 3.0), (2, "north", 1.0)], window=0)
    signs = np.array([1, -1, 1], np.int8)
    for row in range(3):
        part = batch.slice(row, row + 1)
        list(operator.push([ChangeBatch(part.columns, part.times, None, signs[row : row + 1])]))
        found = changes(operator.advance(row + 1))
    assert found == [(2, "+", "north", 1.0)]


@pytest.mark.parametrize("aggregate", [("median", "double"), ("max", "double")])
def test_a_delete_of_a_value_that_its_group_does_not_hold_is_refused(aggregate):
    operator = operator_of(("store",), [aggregate])
    batch = sales([(0, "north", 1.0), (1, "north", 2.0)], window=0)
    signs = np.array([1, -1], np.int8)
    list(operator.push([ChangeBatch(batch.columns, batch.times, None, signs)]))
    with pytest.raises(DataError, match="delete-without-row"):
        list(operator.advance(MAX_TICK))


def test_rows_without_an_end_are_kept_where_values_are_and_cancel_out():
    operator = operator_of(("store",), [("max", "double")])
    times = np.arange(2_000, dtype=np.int64)
    # 0.0 comes and stays; of every further pair a row comes and is taken back.
    prices = np.repeat(np.arange(1_000.0), 2)
    signs = np.tile(np.array([1, -1], np.int8), 1_000)
    signs[1] = 1
    rows = [(int(t), "north", float(p)) for t, p in zip(times, prices, strict=True)]
    batch = sales(rows, window=0)
    for start in range(0, 2_000, 100):
        part = batch.slice(start, start + 100)
        own = signs[start : start + 100]
        list(operator.push([ChangeBatch(part.columns, part.times, None, own)]))
        list(operator.advance(start + 100))
    kept = sum(map(len, operator.snapshot().buffers["lasting"]))
    assert 2 <= kept < 400
    restored = operator_of(("store",), [("max", "double")])
    restored.restore(operator.snapshot())
    last = ChangeBatch(batch.columns.slice(0, 1), times[-1:] + 1, None, np.array([-1], np.int8))
    for each in (operator, restored):
        list(each.push([last]))
        assert changes(each.advance(3_000)) == []
        gone = ChangeBatch(last.columns, last.times + 9_000, None, last.signs)
        list(each.push([gone]))
        assert changes(each.advance(MAX_TICK)) == [(10_999 + 1, "-", "north", 0.0)]


def test_values_are_kept_in_order_once_a_row_lives_longer_than_others():
    operator = operator_of(("store",), [("min", "double"), ("max", "double")])
    list(operator.push([sales([(0, "north", 4.0), (1, "north", 5.0)], window=3)]))
    assert changes(operator.advance(2)) == [
        (0, "+", "north", 4.0, 4.0),
        (1, "-", "north", 4.0, 4.0),
        (1, "+", "north", 4.0, 5.0),
    ]
    list(operator.push([sales([(2, "north", 7.0)], window=0)]))
    list(operator.push([sales([(3, "north", 1.0)], window=9)]))
    assert changes(operator.advance(MAX_TICK)) == [
        (2, "-", "north", 4.0, 5.0),
        (2, "+", "north", 4.0, 7.0),
        (3, "-", "north", 4.0, 7.0),
        (3, "+", "north", 1.0, 5.0),
        (5, "-", "north", 1.0, 5.0),
        (5, "+", "north", 1.0, 1.0),
        (13, "-", "north", 1.0, 1.0),
    ]


def test_a_sum_of_texts_is_refused():
    with pytest.raises(UnsupportedError) as caught:
        operator_of(("store",), [("sum", "string")])
    assert str(caught.value) == (
        "UnsupportedError[aggregate-type]: SUM(price) has an argument of type string\n"
        "  SUM takes whole numbers, decimals, float and double\n"
        "  hint: cast it, for instance  SUM(CAST(price AS DOUBLE))"
    )


def test_the_state_of_another_operator_is_refused():
    operator = operator_of(("store",), [("count", None)])
    with pytest.raises(InternalError, match="was given the state of a bew-join"):
        operator.restore(Snapshot("bew-join", {}))


def test_what_comes_and_goes_at_one_instant_does_not_begin_an_aggregate_without_keys():
    """Joins of changelogs give such pairs; the one row is there once a row is."""
    operator = operator_of((), [("count", None)])
    pair = ChangeBatch(
        pa.RecordBatch.from_pydict(
            {"store": pa.array(["n", "n"]), "price": pa.array([1.0, 1.0], pa.float64())}
        ),
        np.array([5, 5]),
        np.array([12, 12]),
        np.array([1, -1], np.int8),
    )
    list(operator.push([pair]))
    assert changes(operator.advance(6)) == []
    resumed = operator_of((), [("count", None)])
    resumed.restore(operator.snapshot())
    list(resumed.push([sales([(7, "n", 1.0)], window=2)]))
    assert changes(resumed.advance(20)) == [(7, "+", 1), (10, "-", 1), (10, "+", 0)]


def test_a_restart_takes_up_no_value_of_a_group_that_has_gone():
    """Values that cancel out are kept for a while; their groups' slots may be gone by then."""
    operator = operator_of(("store",), [("min", "double")])
    stores = ["north", "south", "east"]
    came = [(0, store, 4.0) for store in stores]
    went = [(1, store, 4.0) for store in stores[1:]]
    rows = sales([*came, *went], window=0)
    signs = np.array([1, 1, 1, -1, -1], np.int8)
    list(operator.push([ChangeBatch(rows.columns, rows.times, None, signs)]))
    list(operator.advance(2))
    restored = operator_of(("store",), [("min", "double")])
    restored.restore(operator.snapshot())
    list(restored.push([ChangeBatch(*_of(sales([(5, "north", 3.0)], window=0)))]))
    assert changes(restored.advance(6)) == [(5, "-", "north", 4.0), (5, "+", "north", 3.0)]
    assert restored.counters.stored == 2


def _of(rows):
    """Columns and times: rows that stay."""
    return rows.columns, rows.times
