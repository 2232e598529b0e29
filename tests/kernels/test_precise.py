"""Pairs of doubles hold what a double leaves out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from windrow.kernels.sliding_margins import exact_product_of, exact_sum_of, rounded, sum_of, times


def exact(pair):
    return Fraction(pair[0]) + Fraction(pair[1])


def numbers():
    dice = np.random.default_rng(6)
    return (dice.normal(0, 1, (50, 2)) * 10.0 ** dice.integers(-20, 20, (50, 2))).tolist()


def test_sums_and_products_of_doubles_are_exact():
    for a, b in numbers():
        assert exact(exact_sum_of(a, b)) == Fraction(a) + Fraction(b)
        assert exact(exact_product_of(a, b)) == Fraction(a) * Fraction(b)


def test_what_is_added_and_taken_away_again_leaves_no_more_than_a_trace():
    total = (0.0, 0.0)
    for a, b in numbers():
        total = sum_of(total, times(exact_product_of(a, b), 3.7))
    most = max(abs(a * b) for a, b in numbers())
    for a, b in numbers():
        total = sum_of(total, times(exact_product_of(a, b), -3.7))
    assert abs(total[0]) <= 1e-28 * most


def test_numbers_are_rounded_to_twenty_bits():
    for value in (1.0, 0.1, 1e100, 12345.678):
        near = rounded(value)
        assert abs(near / value - 1) <= 2.0**-20
        assert rounded(near * (1 + 2.0**-40)) == near == rounded(near)
        # The hidden bit and 19 more: of 13 hexadecimal digits behind the point, five at most.
        assert len(near.hex().split("p")[0].split(".")[1].rstrip("0")) <= 5
