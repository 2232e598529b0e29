"""Which predicates are read as bands, and how wide these are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp, parse_one

from windrow.plan.exprs import Band, Comparison, Side
from windrow.sql.bands import bands_of
from windrow.sql.comparisons import comparisons_of

TYPES = {
    "i": "int", "l": "bigint", "d": "double", "e": "double", "f": "float", "m": "decimal(9,2)",
    "n": "decimal(10,4)", "w": "decimal(20,2)", "t": "timestamp", "u": "timestamp", "s": "string",
}  # fmt: skip
DOUBLE, FLOAT = 2.0**-52, 2.0**-23


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
        ("abs(d - e) BETWEEN 1 AND 3", Band("d", "e", -3.0, 3.0, rounding=DOUBLE, constants=3.0)),
        ("abs(m - n) <= 1e0", Band("m", "n", -10002, 10002, scale=4)),
        ("abs(d - i) < 1", Band("d", "i", -1.0, 1.0, rounding=DOUBLE, constants=1.0)),
        ("abs(f - f) < 1", Band("f", "f", -1.0, 1.0, rounding=FLOAT, constants=1.0)),
        ("abs(m - n) < 0.5", Band("m", "n", -4999, 4999, scale=4)),
        ("m < n", Band("m", "n", None, -1, scale=4)),
        ("m >= n - 0.25", Band("m", "n", -2500, None, scale=4)),
        ("m + 0.5 > n", Band("m", "n", -4999, None, scale=4)),
        ("t <= u + INTERVAL '2' SECONDS", Band("t", "u", None, 2_000_000)),
    ],
)
def test_a_predicate_is_read_as_a_band(text, expected):
    assert bands(text) == (expected,)


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
        "NOT (i < l)", "i < l OR i > l", "m < w", "m < i", "m < n + 1e0", "abs(t - u) < 3",
        "abs(m - i) < 3", "abs(s - i) < 3", "abs(i - l) < 1e16", "abs(i - l) BETWEEN 1 AND 3", "d < e + 1e300",
        "d - 1.7e308 <= e", "abs(d - e) < 1e300",
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
