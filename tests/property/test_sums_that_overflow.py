"""Sums that leave their type: one answer under every plan, and no error under any."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from sessions import session

pytestmark = pytest.mark.law

TREES = {"structure": "ttree/btree"}
LOOP = {"algorithm": "bew-nested-loop"}


def pairs(values: pa.Array, condition: str, **options: str) -> list[tuple[int, int]]:
    """The pairs of two streams of the same values, by their numbers."""
    rows = pa.table({"x": values, "i": range(len(values)), "ts": range(len(values))})
    w = session(dict.fromkeys("ab", rows), time="ts")
    query = f"SELECT a.i, b.i AS j FROM a, b WHERE {condition} WINDOW = 9"
    found = w.sql(query, **options).to_arrow()
    return sorted(zip(found["i"].to_pylist(), found["j"].to_pylist(), strict=True))


@pytest.mark.parametrize("type_", [pa.int8(), pa.int32(), pa.int64()])
@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("abs(a.x - b.x) <= 5", lambda a, b: abs(a - b) <= 5),
        ("abs(a.x - b.x) BETWEEN 0 AND 5", lambda a, b: abs(a - b) <= 5),
        ("a.x > b.x + 100", lambda a, b: a > b + 100),
        ("a.x - 100 BETWEEN b.x - 105 AND b.x - 95", lambda a, b: abs(a - b) <= 5),
    ],
)
def test_whole_numbers_are_compared_exactly(type_, condition, holds):
    most = 2 ** (type_.bit_width - 1) - 1
    numbers = [-most - 1, 3 - most, 7, 9, most - 4, most]
    expected = [(i, j) for i, a in enumerate(numbers) for j, b in enumerate(numbers) if holds(a, b)]
    for options in (LOOP, TREES):
        assert pairs(pa.array(numbers, type_), condition, **options) == expected


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("condition", "options"),
    [
        ("a.x - 1.7e308 <= b.x", {}),
        ("a.x + 1.7e308 >= b.x - 1.7e308", {}),
        ("a.x BETWEEN b.x - 1.7e308 AND b.x + 1.7e308", {}),
        ("a.x + 1e289 >= b.x - 1e289", TREES),
        ("a.x BETWEEN b.x - 1e289 AND b.x + 1e289", TREES),
    ],
)
def test_sums_beyond_all_doubles_lose_no_row(condition, options):
    greatest = 1.7976931348623157e308
    numbers = [-greatest, -1e308, 0.0, 1e308, greatest, math.inf, -math.inf, math.nan, None]
    values = pa.array(numbers, pa.float64())
    assert pairs(values, condition, **options) == pairs(values, condition, **LOOP)
