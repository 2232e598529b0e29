from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
import pytest
from same_rows import assert_same_rows, same_rows


def table(**columns: object):
    return pa.table(columns)


def test_rows_in_another_order_are_the_same():
    assert same_rows(table(k=[1, 2, 2], v=["a", "b", None]), table(k=[2, 1, 2], v=[None, "a", "b"]))


def test_a_row_that_comes_twice_is_not_a_row_that_comes_once():
    comparison = same_rows(table(k=[1, 1]), table(k=[1]))
    assert not comparison
    assert comparison.unexpected == ((1,),)
    assert comparison.missing == ()
    assert not same_rows(table(k=[1]), table(k=[1, 1]))


def test_floats_are_near_and_nan_equals_nan():
    assert same_rows(table(v=[0.1 + 0.2, math.nan]), table(v=[math.nan, 0.3]))
    assert not same_rows(table(v=[0.31]), table(v=[0.3]))
    assert same_rows(table(v=[0.31]), table(v=[0.3]), absolute=0.1)
    assert not same_rows(table(v=[math.inf]), table(v=[math.nan]))


def test_near_floats_find_their_partner_whatever_their_sort_order():
    close = 1e-13
    actual = table(a=[1.0 + close, 1.0], b=[5.0, 7.0])
    expected = table(a=[1.0, 1.0 + close], b=[5.0, 7.0])
    assert same_rows(actual, expected)


def test_floats_inside_lists_and_structs_are_near_too():
    actual = table(v=[[0.1 + 0.2, 1.0]], s=[{"x": 0.1 + 0.2, "y": None}])
    expected = table(v=[[0.3, 1.0]], s=[{"x": 0.3, "y": None}])
    assert same_rows(actual, expected)


def test_a_null_is_no_zero_and_a_decimal_equals_the_integer_of_its_value():
    assert not same_rows(table(v=pa.array([None], pa.int64())), table(v=[0]))
    assert same_rows(table(v=[Decimal("5.00")]), table(v=[5]))


def test_other_column_names_are_a_difference_even_without_rows():
    comparison = same_rows(table(a=pa.array([], pa.int64())), table(b=pa.array([], pa.int64())))
    assert not comparison
    assert repr(comparison) == "the columns are ['a'], expected ['b']"


def test_rows_may_be_given_as_dictionaries():
    assert same_rows([{"k": 1, "v": 2.0}], table(k=[1], v=[2.0]))
    assert same_rows(table(k=pa.array([], pa.int64())), [])
    assert not same_rows([], table(k=[1]))


def test_the_difference_is_readable():
    with pytest.raises(AssertionError) as caught:
        assert_same_rows(table(k=[1, 2], v=["a", "b"]), table(k=[1, 2], v=["a", None]))
    assert str(caught.value) == (
        "1 rows are missing, 1 are unexpected, 1 agree\n    k | v\n  - 2 | NULL\n  + 2 | b"
    )


def test_a_long_difference_is_cut():
    text = repr(same_rows(table(k=list(range(50))), table(k=[-1])))
    assert text.endswith("  + ... and 30 more")
