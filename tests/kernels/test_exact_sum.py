"""Exact sums against fractions: every double, every int64, every decimal."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from case_share import share_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from twins.aggregate import nearest_double

from windrow.kernels import exact_sum as kernels

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
INT64 = st.integers(-(2**63), 2**63 - 1)
INT128 = st.integers(-(10**38) + 1, 10**38 - 1)
WIDEST = 2098 // 32 + 3


def signed(values):
    """Values, each with whether it comes or goes."""
    return st.lists(st.tuples(values, st.sampled_from([1, 1, -1])), max_size=12)


def digits_for(limbs):
    return np.empty(kernels.FRACTION + limbs.shape[1] + 1, np.uint64)


def value_of(limbs):
    return sum(int(limb) << (32 * k) for k, limb in enumerate(limbs[0]))


@pytest.mark.law
@EXAMPLES
@given(signed(FINITE))
@example([(1.7e308, 1), (1.7e308, 1)])
@example([(5e-324, 1), (5e-324, 1), (-1.0, 1)])
@example([(1.0, 1), (2.0**-53, 1)])
@example([(1.0, 1), (2.0**-53, 1), (5e-324, 1)])
@example([(1.7976931348623157e308, 1), (2.0**970, 1)])
def test_a_sum_of_doubles_is_the_nearest_double_to_the_exact_one(terms):
    limbs = np.zeros((1, WIDEST), np.int64)
    for value, sign in terms:
        kernels.add_double(limbs, 0, np.float64(value).view(np.int64), 0, sign)
    kernels.settle(limbs, 0)
    exact = sum((sign * Fraction(value) for value, sign in terms), Fraction(0))
    assert value_of(limbs) == exact * 2**1074
    found = kernels.read_double(limbs, 0, -1074, digits_for(limbs))
    assert found == nearest_double(exact)
    assert math.copysign(1, found) == 1 or exact < 0


@pytest.mark.law
@EXAMPLES
@given(st.lists(FINITE, min_size=1, max_size=9))
@example([5e-324, 0.0, 0.0])
@example([-5e-324, 0.0])
@example([5e-324, 1e-323])
@example([1.7976931348623157e308] * 3)
def test_a_mean_of_doubles_is_the_nearest_double_to_the_exact_one(values):
    limbs = np.zeros((1, WIDEST), np.int64)
    for value in values:
        kernels.add_double(limbs, 0, np.float64(value).view(np.int64), 0, 1)
    kernels.settle(limbs, 0)
    exact = sum(map(Fraction, values), Fraction(0)) / len(values)
    assert kernels.read_mean(limbs, 0, -1074, len(values), digits_for(limbs)) == float(exact)


@pytest.mark.law
@EXAMPLES
@given(signed(FINITE))
def test_limbs_of_the_span_suffice(terms):
    bits = np.array([value for value, _ in terms], np.float64).view(np.int64)
    low, high = kernels.double_span(bits, np.ones(len(bits), np.bool_))
    if high < low:
        assert all(value == 0 for value, _ in terms)
        return
    limbs = np.zeros((1, high + 1 - low), np.int64)
    for word, (_, sign) in zip(bits, terms, strict=True):
        kernels.add_double(limbs, 0, word, 32 * low, sign)
    kernels.settle(limbs, 0)
    exact = sum((sign * Fraction(value) for value, sign in terms), Fraction(0))
    assert value_of(limbs) == exact * Fraction(2) ** (1074 - 32 * low)


def test_values_that_are_null_or_no_number_need_no_limbs():
    bits = np.array([math.nan, math.inf, -math.inf, -0.0, 1.0]).view(np.int64)
    valid = np.array([True, True, True, True, False])
    assert kernels.double_span(bits, valid) == (0, -1)


@pytest.mark.law
@EXAMPLES
@given(signed(INT64))
@example([(2**63 - 1, 1), (1, 1)])
@example([(-(2**63), 1)])
@example([(-(2**63), -1)])
@example([(2**63 - 1, 1)] * 3 + [(2**63 - 1, -1)] * 2)
def test_a_sum_of_integers_is_exact_or_known_not_to_fit(terms):
    limbs = np.zeros((1, 3), np.int64)
    for value, sign in terms:
        kernels.add_integer(limbs, 0, value, sign)
    kernels.settle(limbs, 0)
    exact = sum(value * sign for value, sign in terms)
    found, fits = kernels.read_integer(limbs, 0)
    assert fits == (-(2**63) <= exact < 2**63)
    assert found == exact or not fits
    assert kernels.read_double(limbs, 0, 0, digits_for(limbs)) == float(exact)


@pytest.mark.law
@EXAMPLES
@given(signed(INT128), st.integers(1, 38))
@example([(10**38 - 1, 1), (1, 1)], 38)
@example([(-(10**38) + 1, 1), (-1, 1)], 38)
@example([(99, 1), (1, 1)], 2)
@example([(-(2**64), 1)], 38)
def test_a_sum_of_decimals_is_exact_or_known_not_to_fit(terms, precision):
    limbs = np.zeros((1, 5), np.int64)
    for value, sign in terms:
        low, high = words_of(value)
        kernels.add_decimal(limbs, 0, low, high, sign)
    kernels.settle(limbs, 0)
    digits = digits_for(limbs)
    is_negative = kernels.magnitude(limbs, 0, digits)
    bound = np.array([(10**precision >> (32 * k)) & 0xFFFFFFFF for k in range(4)], np.uint64)
    low, high, fits = kernels.read_decimal(digits, is_negative, bound)
    exact = sum(value * sign for value, sign in terms)
    assert fits == (abs(exact) < 10**precision)
    if fits:
        assert (low & (2**64 - 1)) + (high << 64) == exact


def words_of(value):
    """The low and the high word of 128 bits in two's complement, as int64."""
    bits = (value % 2**128).to_bytes(16, "little")
    return np.frombuffer(bits, np.int64)


@pytest.mark.law
@EXAMPLES
@given(st.integers(0, 2**120), st.integers(1, 2**31 - 1), st.integers(1, 10**4))
def test_digits_scale_and_divide_as_whole_numbers_do(number, divisor, factor):
    digits = np.zeros(kernels.FRACTION + 6, np.uint64)
    for k in range(4):
        digits[kernels.FRACTION + k] = (number >> (32 * k)) & 0xFFFFFFFF
    kernels.scale_digits(digits, factor)
    rest = kernels.divide_digits(digits, kernels.FRACTION, divisor)
    quotient = sum(int(d) << (32 * k) for k, d in enumerate(digits[kernels.FRACTION :]))
    assert (quotient, rest) == divmod(number * factor, divisor)
