"""Decimals of up to 38 digits against whole numbers of Python, which have no end."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.columns.wide_numbers import column_of, distances, numbers, ranks, words_in

LARGEST = 10**38 - 1
SCALES = st.sampled_from([0, 2, 18, 38])
UNITS = st.one_of(
    st.none(),
    st.integers(-4, 4),
    st.integers(-LARGEST, LARGEST),
    st.sampled_from([LARGEST, -LARGEST, 2**64, 2**64 - 1, -(2**64), 2**127 - 1 - 2**126]),
)
LIMITS = st.one_of(st.none(), st.integers(0, 5), st.fractions(0, 5, max_denominator=4))


def decimals(units, scale):
    with localcontext() as context:
        context.prec = 60
        cells = [None if unit is None else Decimal(unit).scaleb(-scale) for unit in units]
        return pa.array(cells, pa.decimal128(38, scale))


def limit_of(limit):
    return float(limit) if isinstance(limit, Fraction) else limit


def check(words, is_candidate, expected, limit):
    """Ranks order as the numbers do, also of words that were kept; which are up to the limit."""
    wanted = [n is not None and (limit is None or n <= limit) for n in expected]
    assert is_candidate.tolist() == wanted
    codes = ranks(words_in(column_of(words)))
    assert codes.tolist() == ranks(words).tolist()
    known = [(n, int(code)) for n, code in zip(expected, codes, strict=True) if n is not None]
    for one, code in known:
        for other, other_code in known:
            assert np.sign(code - other_code) == (one > other) - (one < other)


@pytest.mark.law
@settings(max_examples=share_of(150), deadline=None, derandomize=True)
@given(st.lists(st.tuples(UNITS, UNITS), max_size=6), SCALES, SCALES, LIMITS)
def test_distances_are_exact_whatever_the_scales(pairs, scale, other_scale, limit):
    lefts, rights = (decimals([p[k] for p in pairs], (scale, other_scale)[k]) for k in (0, 1))
    apart = [
        None
        if None in (one, other)
        else abs(Fraction(one, 10**scale) - Fraction(other, 10**other_scale))
        for one, other in pairs
    ]
    check(*distances(lefts, rights, limit_of(limit)), apart, limit)
    if other_scale == 0:
        fits = [u if u is not None and abs(u) < 2**63 else None for _, u in pairs]
        whole = distances(lefts, pa.array(fits, pa.int64()), limit_of(limit))
        as_decimals = distances(lefts, decimals(fits, 0), limit_of(limit))
        assert all(np.array_equal(a, b) for a, b in zip(whole, as_decimals, strict=True))


@pytest.mark.law
@settings(max_examples=share_of(60), deadline=None, derandomize=True)
@given(st.lists(UNITS, max_size=6), SCALES, st.one_of(st.none(), st.integers(-3, 3)))
def test_so_are_numbers_below_zero_and_their_limits(units, scale, limit):
    expected = [None if unit is None else Fraction(unit, 10**scale) for unit in units]
    check(*numbers(decimals(units, scale), limit), expected, limit)


def test_a_slice_is_read_from_its_own_start():
    column = decimals([9, 100, 107], 2).slice(1)
    apart, _ = distances(column, column.take(pa.array([0, 0])), None)
    assert ranks(apart).tolist() == [0, 1]
    assert ranks(words_in(column_of(apart).slice(1))).tolist() == [0]
    assert math.isclose(float(column[1].as_py()), 1.07)
