"""Which predicates are read as bands, and how wide these are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp, parse_one

from windrow.plan.exprs import ALWAYS, NEVER, Band, Comparison, Side
from windrow.sql.render.bands import bands_of, comparisons_of

TYPES = {
    "i": "int", "l": "bigint", "d": "double", "e": "double", "f": "float", "m": "decimal(9,2)",
    "n": "decimal(10,4)", "w": "decimal(20,2)", "v": "decimal(38,4)", "x": "decimal(38,0)", "t": "timestamp", "u": "timestamp", "s": "string",
}  # fmt: skip
DOUBLE, FLOAT, DECIMAL = 2.0**-52, 2.0**-23, 2.0**-49


def bands(text: str) -> tuple[Band, ...]:
    node = parse_one(text, dialect="spark")
    assert isinstance(node, exp.Expression)
    return bands_of(node, TYPES, comparisons_of(node, TYPES))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i < l", Band("i", "l", None, -1)),
        ("i <= l + 5", Band("i", "l", None, 5)),
        ("i - 2 > l", Band("i", "l", 3, None)),
        ("i >= l", Band("i", "l", 0, None)),
        ("d < e + 0.5", Band("d", "e", None, 0.5, rounding=DOUBLE, constants=0.5)),
        ("abs(i - l) < 3", Band("i", "l", -2, 2)),
        ("abs(i - l) <= 3", Band("i", "l", -3, 3)),
        ("2.5 >= (abs((l - i)))", Band("l", "i", -2, 2)),
        ("abs(i - l) < 2.5", Band("i", "l", -2, 2)),
        ("abs(i - l) < -1", Band("i", "l", 2, -2)),
        ("abs(i - l) <= 8e0", Band("i", "l", -8, 8)),
        ("abs(i - l) < 8e0", Band("i", "l", -7, 7)),
        ("abs(i - l) BETWEEN 0 AND 3", Band("i", "l", -3, 3)),
        ("abs(m - n) <= 1e0", Band("m", "n", -10002, 10002, scale=4)),
        ("abs(m - n) < 0.5", Band("m", "n", -4999, 4999, scale=4)),
        ("m < n", Band("m", "n", None, -1, scale=4)),
        ("m >= n - 0.25", Band("m", "n", -2500, None, scale=4)),
        ("m + 0.5 > n", Band("m", "n", -4999, None, scale=4)),
        ("t <= u + INTERVAL '2' SECONDS", Band("t", "u", None, 2_000_000)),
    ],
)
def test_a_predicate_is_read_as_a_band(text, expected):
    assert bands(text) == (expected,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i - l < 5", Band("i", "l", None, 4)),
        ("l - i >= -2", Band("l", "i", -2, None)),
        ("5 >= i - l", Band("l", "i", -5, None)),
        ("i - l < 2.5", Band("i", "l", None, 2)),
        ("i < l + 2.5", Band("i", "l", None, 2)),
        ("i - l > -2.5", Band("i", "l", -2, None)),
        ("i - l > 8e0", Band("i", "l", 9, None)),
        ("i - l + 3 > 8e0", Band("i", "l", 6, None)),
        ("i + 3 - l <= 5 - 1", Band("i", "l", None, 1)),
        ("- i > - l - 1", Band("l", "i", 0, None)),
        ("NOT (i >= l)", Band("i", "l", None, -1)),
        ("m - n < 0.5", Band("m", "n", None, 4999, scale=4)),
        ("0.5 < m - n", Band("n", "m", None, -5001, scale=4)),
    ],
)
def test_a_difference_is_a_band_however_it_is_written(text, expected):
    assert bands(text) == (expected,)


@pytest.mark.parametrize(
    ("text", "left", "right", "ends", "rounding", "nan"),
    [
        ("abs(d - e) BETWEEN 1 AND 3", "d", "e", (-3.0, 3.0), DOUBLE, NEVER),
        ("abs(d - i) < 1", "d", "i", (-1.0, 1.0), DOUBLE, NEVER),
        ("abs(f - f) < 1", "f", "f", (-1.0, 1.0), FLOAT, NEVER),
        ("d - e < 5", "d", "e", (None, 5.0), DOUBLE, NEVER),
        ("e - d >= -2", "e", "d", (-2.0, None), DOUBLE, ALWAYS),
        ("5 > d - e", "e", "d", (-5.0, None), DOUBLE, NEVER),
        ("5 < d - e", "e", "d", (None, -5.0), DOUBLE, ALWAYS),
        ("d - f < 0.5", "d", "f", (None, 0.5), FLOAT, NEVER),
        ("f < f + 5", "f", "f", (None, 5.0), FLOAT, "above"),
        ("i + 1 < d", "i", "d", (None, -1.0), DOUBLE, "above"),
        ("l - d < 5", "l", "d", (None, 5.0), DOUBLE, NEVER),
        ("i < l + 1e0", "i", "l", (None, 1.0), DOUBLE, "above"),
        ("abs(w - m) < 5", "w", "m", (-5.0, 5.0), DECIMAL, NEVER),
        ("m < w", "m", "w", (None, 0.0), DECIMAL, "above"),
        ("v >= v", "v", "v", (0.0, None), DECIMAL, "above"),
        ("m < i", "m", "i", (None, 0.0), DECIMAL, "above"),
        ("m < n + 1e0", "m", "n", (None, 1.0), DECIMAL, "above"),
        ("w - d <= 1", "w", "d", (None, 1.0), DECIMAL, NEVER),
        ("abs(m - i) < 3", "m", "i", (-3.0, 3.0), DECIMAL, NEVER),
    ],
)
def test_numbers_that_are_rounded_are_in_a_band_that_knows_it(text, left, right, ends, rounding, nan):  # fmt: skip
    (band,) = bands(text)
    assert (band.left, band.right, (band.low, band.high)) == (left, right, ends)
    assert (band.rounding, band.nan, band.scale) == (rounding, nan, 0)


def test_a_band_knows_the_size_of_all_constants_that_take_part():
    (band,) = bands("d - e + 3 < 5 - 1.5")
    assert (band.high, band.constants) == (0.5, 9.5)


def test_a_between_of_a_difference_is_two_bands():
    low, high = bands("d - e BETWEEN -1 AND 2")
    assert (low.low, low.high, low.nan) == (-1.0, None, ALWAYS)
    assert (high.low, high.high, high.nan) == (None, 2.0, NEVER)


@pytest.mark.parametrize(
    "text",
    [
        "v - v < 1",  # takes 39 digits
        "abs(v - v) < 1",
        "v < v + 0.5",
        "v < x",  # all digits of both do not fit 38
        "l + 1 < d",  # the sum may leave its type
        "abs(d - e) BETWEEN 1 / d AND 3",
        "abs(i - l) BETWEEN 1 AND 3",
    ],
)
def test_what_may_raise_is_no_band(text):
    assert bands(text) == ()


def test_a_between_is_two_bands():
    assert bands("i BETWEEN l - 1 AND l + 2") == (Band("i", "l", -1, None), Band("i", "l", None, 2))
    assert bands("m BETWEEN m AND n") == (
        Band("m", "m", 0, None, scale=2),
        Band("m", "n", None, 0, scale=4),
    )


@pytest.mark.parametrize(
    "text",
    [
        "i <> l", "s < s", "abs(i - l) > 3", "abs(i + l) < 3", "abs(i - l) < d", "i * 2 < l",
        "i < l OR i > l", "abs(t - u) < 3", "s - i < 3", "s < d",
        "abs(s - i) < 3", "abs(i - l) < 1e16", "d < e + 1e300", "i - l < 1e16", "i - l <> 5", "t - u < 3",
        "d - 1.7e308 <= e", "abs(d - e) < 1e300", "d - e < 1e300", "f < f + 1e31", "- d < - e", "i + l < 3",
        "d - e + 1 + 2 + 3 < 4", "i - l < i", "d * 2 - e < 1", "NOT (i BETWEEN l - 1 AND l)",
        "abs(m - n) <= 1e400",
    ],
)  # fmt: skip
def test_anything_else_is_no_band(text):
    assert bands(text) == ()


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("abs(i - l) < 3", 2),
        ("abs(i - l) < 2.5", 2),
        ("3 >= abs(i - l)", 3),
        ("abs(i - l) < 8e0", 7),
    ],
)
def test_a_distance_of_whole_numbers_is_two_comparisons(text, most):
    own, other = Side("i", 0, "int"), Side("l", most, "bigint")
    assert comparisons_of(parse_one(text, dialect="spark"), TYPES) == (
        Comparison(own, ">=", replace(other, shift=-most)),
        Comparison(own, "<=", other),
    )


def test_a_band_turned_twice_is_itself():
    band = Band("i", "l", -1, None)
    assert band.turned == Band("l", "i", None, 1)
    assert band.turned.turned == band
