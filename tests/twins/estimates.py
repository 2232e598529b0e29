"""Estimates over a join that sheds, combination by combination and pair by pair: slow and plain.

The variance is the sum over all pairs of combinations of u u' (1 - r), where r is the product over
the draws that both have of 1 - sqrt(q q'); no sums by sets of inputs, and nothing incremental.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

NORMAL_95 = 1.959963984540054
NEVER = 2**63 - 1

Interval = tuple[float | None, float | None, float | None]
"""Low end, estimate, high end; None for NULL."""


@dataclass(frozen=True)
class Combination:
    """A row of a join that sheds: alive in [time, end)."""

    key: Any
    value: float | None
    draws: tuple[int, ...]
    chances: tuple[float, ...]
    time: int
    end: int

    @property
    def weight(self) -> float:
        return 1 / math.prod(self.chances)


def estimate(function: str, argument: str | None, rows: list[Combination]) -> Interval:
    """COUNT, SUM or AVG with its interval, of the rows of one group."""
    counted = [row for row in rows if argument is None or row.value is not None]
    draws = [
        len({row.draws[at] for row in rows if row.chances[at] < 1})
        for at in range(len(rows[0].draws))
    ]
    weights = [row.weight for row in counted]
    count = sum(weights)
    if function == "count":
        margin = student_margin(counted, weights, draws)
        is_certain = all(chance == 1 for row in rows for chance in row.chances)
        high = max(count + margin, len(counted)) if counted or is_certain else None
        return max(count - margin, len(counted)), count, high
    if not counted:
        return None, None, None
    total = sum(w * row.value for w, row in zip(weights, counted, strict=True))
    if function == "sum":
        shares = [w * row.value for w, row in zip(weights, counted, strict=True)]
        margin, value = student_margin(counted, shares, draws), total
    else:
        value = total / count
        shares = [w * (row.value - value) for w, row in zip(weights, counted, strict=True)]
        margin = student_margin(counted, shares, draws, estimated=1) / count
    return value - margin, value, value + margin


def student_margin(
    rows: list[Combination], shares: list[float], draws: list[int], estimated: int = 0
) -> float:
    """Half the width of the interval of a total to which rows add these shares.

    `draws`: per input, how many different ones the group has, those of certain tuples aside.
    `estimated`: 1 where the shares are deviations from an average of the same rows.
    """
    variance = max(0.0, variance_of(rows, shares))
    single = spread = 0.0
    for at, many in enumerate(draws):
        part = sum(
            u * v * math.sqrt((1 - a.chances[at]) * (1 - b.chances[at]))
            for a, u in zip(rows, shares, strict=True)
            for b, v in zip(rows, shares, strict=True)
            if a.draws[at] == b.draws[at]
        )
        single += part
        spread += part**2 / (max(many - 1, 1) / 2)
    freedom = max(single**2 / spread if spread > 0 else math.inf, 3.0)
    return student_quantile(freedom) * math.sqrt(variance * (1 + estimated / freedom))


def variance_of(rows: list[Combination], shares: list[float]) -> float:
    """The estimated variance of the total of shares."""
    total = 0.0
    for a, u in zip(rows, shares, strict=True):
        for b, v in zip(rows, shares, strict=True):
            shared = [at for at in range(len(a.draws)) if a.draws[at] == b.draws[at]]
            r = math.prod(1 - math.sqrt((1 - a.chances[i]) * (1 - b.chances[i])) for i in shared)
            total += u * v * (1 - r)
    return total


def student_quantile(freedom: float) -> float:
    """Of Student's distribution for 95%, with three degrees of freedom or more."""
    z = NORMAL_95
    return z + (z**3 + z) / 4 / freedom + (5 * z**5 + 16 * z**3 + 3 * z) / 96 / freedom**2
