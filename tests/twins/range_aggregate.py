"""WINDOW JOIN by the book: for each left row, all right rows in its range, added up one by one.

Rows are as the twin of the as-of join has them, with a value `v` that may be NULL. Sums are of
fractions, so that nothing is rounded before the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from twins.asof import Row, Rules, same_keys


@dataclass(frozen=True)
class Range:
    """Right rows with t(right) - t(left) in [-lo, hi]; per key, whether NULLs match."""

    lo: int
    hi: int
    null_safe: tuple[bool, ...] = ()


def around(left: Row, right: Sequence[Row], own: Range) -> list[Row]:
    """The right rows that a left row counts."""
    rules = Rules("nearest", null_safe=own.null_safe)
    return [
        row
        for row in right
        if -own.lo <= row["t"] - left["t"] <= own.hi and same_keys(left, row, rules)
    ]


def answers(left: Row, right: Sequence[Row], own: Range) -> dict[str, Any]:
    """COUNT(*), and COUNT, SUM, AVG, MIN, MAX and MEDIAN of v."""
    rows = around(left, right, own)
    values = sorted(row["v"] for row in rows if row["v"] is not None)
    found: dict[str, Any] = {"rows": len(rows), "count": len(values)}
    if not values:
        return found | dict.fromkeys(("sum", "avg", "min", "max", "median"))
    total = sum(map(Fraction, values), Fraction(0))
    middle = (values[(len(values) - 1) // 2], values[len(values) // 2])
    return found | {
        "sum": total,
        "avg": float(total / len(values)),
        "min": values[0],
        "max": values[-1],
        "median": middle[0] + 0.5 * (middle[1] - middle[0]),  # as Spark computes it
    }
