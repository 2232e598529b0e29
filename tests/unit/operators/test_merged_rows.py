"""Rows that come and go together are added up, exactly, and only where that is worth it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.kernels.exact_sum import double_span
from windrow.kernels.merged_sums import double_parts
from windrow.operators.aggregates.merged_rows import merged_rows
from windrow.operators.columns.changes import TUPLES, ChangeBatch, concat
from windrow.physical.nodes.feeds import ExpireRows
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.nodes.stateless import RangeRows
from windrow.plan.exprs import column
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.schema import Field, Schema


def aggregate(kind, functions):
    schema = Schema((Field("x", kind),))
    scan = ScanStream("s", "s", schema.names, schema, "t", "bigint", 0)
    asked = tuple(Aggregate(f, column("x", kind), f, "unused") for f in functions)
    return SlidingAggregate(scan, (), asked, schema, is_merged=True)


def batch(values, times, signs=None, letters=None):
    whole = pa.RecordBatch.from_pydict({"x": values} | ({"letter": letters} if letters else {}))
    times = np.array(times)
    return ChangeBatch(whole, times, times + 5, None if signs is None else np.array(signs, np.int8))


def test_rows_of_one_time_end_and_sign_become_one():
    rows = batch(
        pa.array([1, 2, None, 5, 7, 0], pa.int32()), [3, 3, 3, 4, 3, 3], [1, 1, 1, 1, -1, 1]
    )
    merged = merged_rows(aggregate("int", ["sum", "count"]), rows)
    assert list(zip(merged.times, merged.signs, strict=True)) == [(3, -1), (3, 1), (4, 1)]
    assert merged.columns.to_pydict() == {
        "x": [7, 3, 5],
        "__weight0": [1, 3, 1],
        TUPLES: [1, 4, 1],
    }


def test_what_a_double_cannot_hold_goes_on_in_a_row_without_weight():
    rows = batch(pa.array([1e100, 1.0, 1e-100, math.nan, math.nan]), [3] * 5)
    merged = merged_rows(aggregate("double", ["sum"]), rows)
    finite = [1e100, 1.0, 1e-100]
    assert merged.columns.column("x").to_pylist()[:3] == finite
    assert merged.columns.column("__weight0").to_pylist() == [3, 0, 0, 2]
    assert merged.columns.column(TUPLES).to_pylist() == [5, 0, 0, 0]


@pytest.mark.parametrize("values", [[2**62] * 4, [-(2**62)] * 4])
def test_rows_whose_sum_does_not_fit_stay_apart(values):
    merged = merged_rows(aggregate("bigint", ["avg"]), batch(pa.array(values), [3] * 4))
    assert merged.columns.column("x").to_pylist() == values
    assert merged.columns.column("__weight0").to_pylist() == [1] * 4


def test_rows_stay_apart_where_hardly_any_come_together_or_are_needed_as_they_are():
    node, four = aggregate("bigint", ["sum"]), pa.array([1, None, 3, 4])
    assert merged_rows(node, batch(four, [1, 1, 2, 3])).columns.to_pydict() == {
        "x": [1, None, 3, 4],
        "__weight0": [1, 0, 1, 1],
        TUPLES: [1, 1, 1, 1],
    }
    letters = merged_rows(node, batch(four, [1] * 4, letters=list("abcd")), ["letter"])
    assert letters.columns.column("letter").to_pylist() == list("abcd")
    assert len(merged_rows(node, batch(four, [1] * 4))) == 1


def test_what_was_merged_and_what_stayed_apart_go_on_together():
    columns = pa.RecordBatch.from_pydict({"x": pa.array([1, 2]), "y": pa.array([0.1, None])})
    schema = Schema((Field("x", "bigint"), Field("y", "double")))
    scan = ScanStream("s", "s", schema.names, schema, "t", "bigint", 0)
    asked = tuple(Aggregate("sum", column(f.name, f.type), f.name, f.type) for f in schema.fields)
    node = SlidingAggregate(scan, (), asked, schema, is_merged=True)
    forms = [merged_rows(node, ChangeBatch(columns, np.array(times))) for times in ([1, 1], [1, 2])]
    assert [len(form) for form in forms] == [1, 2]
    assert concat(forms).tuples().sum() == 4


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6)))
def test_the_parts_of_a_sum_are_exactly_the_sum(groups):
    values = np.array([value for group in groups for value in group], np.float64)
    first_row = np.cumsum([0, *map(len, groups)])
    valid = np.ones(len(values), np.bool_)
    span = double_span(values.view(np.int64), valid)
    group_of, parts, counts = double_parts(first_row, values, valid, span)
    for number, group in enumerate(groups):
        own = parts[group_of == number]
        assert sum(map(Fraction, own)) == sum(map(Fraction, group))
        assert list(counts[group_of == number]) == [len(group), *[0] * (len(own) - 1)][: len(own)]


def test_of_values_in_order_the_outermost_go_on():
    rows = batch(pa.array([5, None, 7, 6, None, 9], pa.int32()), [3, 3, 3, 3, 4, 5])
    merged = merged_rows(aggregate("int", ["min", "max", "count"]), rows)
    assert merged.times.tolist() == [3, 3, 4, 5, 5]
    assert merged.columns.to_pydict() == {
        "x": [5, 7, None, 9, 9],
        "__weight0": [3, 0, 0, 1, 0],
        TUPLES: [4, 0, 1, 1, 0],
    }
    least = merged_rows(aggregate("int", ["min"]), rows)
    assert least.columns.column("x").to_pylist() == [5, None, 9]


def asked(functions, arguments, below):
    aggregates = tuple(
        Aggregate(f, column(name, "int"), f, "int")
        for f, name in zip(functions, arguments, strict=True)
    )
    return SlidingAggregate(below, (), aggregates, below.schema)


def test_values_in_order_are_left_out_only_where_none_is_taken_back_or_summed():
    schema = Schema((Field("x", "int"), Field("y", "int")))
    scan = ScanStream("s", "s", schema.names, schema, "t", "bigint", 0)
    windowed = RangeRows(scan, 5)
    assert asked(["min", "count", "sum"], "xxy", windowed).may_be_merged
    assert not asked(["min", "sum"], "xx", windowed).may_be_merged
    assert not asked(["min", "median"], "xy", windowed).may_be_merged
    for signed in (ExpireRows(windowed), SetOp((windowed,), "distinct")):
        assert asked(["sum"], "x", signed).may_be_merged
        assert not asked(["min"], "x", signed).may_be_merged
