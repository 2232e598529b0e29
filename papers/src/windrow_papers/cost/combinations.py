"""What a join of two streams costs by the structures of its windows: the sum of its two directions.

What the one window is kept in does not change what the other costs, so that the two are chosen apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from windrow.optimize.cost.structures import (
    CostError,
    Direction,
    Sizes,
    Structure,
    Weight,
    Weights,
    direction_cost,
)

EVERY_STRUCTURE = tuple(Structure)

PAPER = Weights(
    buffer=Weight(search=3e-4, update=1e-4),
    hash=Weight(search=5.5e-4, update=7.8e-4),
    btree=Weight(search=2.6e-4, update=2.6e-4),
    ttree=Weight(search=2.6e-4, update=2.7e-4),
    unit="units of the paper",
)
"""Equation 7: as measured in Java on a machine of 2002."""

MOST = 1e100
"""More than any rate or window; products of two have a number still."""


@dataclass(frozen=True)
class Workload:
    """Two streams and their windows.

    Attributes:
        rate_a: arrivals of stream A per unit of time.
        rate_b: arrivals of stream B.
        window_a: tuples in the window of stream A.
        window_b: tuples in the window of stream B.
    """

    rate_a: float
    rate_b: float
    window_a: float
    window_b: float

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (math.isfinite(value) and value >= 0):
                raise CostError.bad_number(name.replace("_", " "), value, "a number from 0 on")
            if value > MOST:
                raise CostError.bad_number(name.replace("_", " "), value, f"at most {MOST:g}")

    @property
    def into_a(self) -> Direction:
        """Window A, which stream B probes."""
        return Direction(self.window_a, probes=self.rate_b, arrivals=self.rate_a)

    @property
    def into_b(self) -> Direction:
        """Window B, which stream A probes."""
        return Direction(self.window_b, probes=self.rate_a, arrivals=self.rate_b)


@dataclass(frozen=True)
class Combination:
    """The structure that each window is kept in.

    Examples:
        >>> str(Combination(Structure.ttree, Structure.buffer))
        'TN'
    """

    a: Structure
    b: Structure

    def __str__(self) -> str:
        return self.a.value + self.b.value

    @classmethod
    def of(cls, letters: str) -> Combination:
        """The combination of two letters, window A's first."""
        return cls(Structure(letters[0]), Structure(letters[1]))


@dataclass(frozen=True)
class Cost:
    """What a combination costs per unit of time, window by window."""

    combination: Combination
    window_a: float
    window_b: float

    @property
    def total(self) -> float:
        """The cost of the join."""
        return self.window_a + self.window_b


def combination_cost(
    combination: Combination, workload: Workload, weights: Weights, sizes: Sizes
) -> Cost:
    """The cost of a full join: either direction's, added up."""
    return Cost(
        combination,
        direction_cost(combination.a, workload.into_a, weights, sizes),
        direction_cost(combination.b, workload.into_b, weights, sizes),
    )


def every_cost(
    workload: Workload,
    weights: Weights,
    sizes: Sizes,
    structures: Sequence[Structure] = EVERY_STRUCTURE,
) -> list[Cost]:
    """The cost of every combination of the structures, the cheapest first.

    Examples:
        >>> costs = every_cost(Workload(550, 450, 4_000, 6_000), PAPER, Sizes())
        >>> len(costs), str(costs[0].combination), round(costs[0].total, 2)
        (16, 'HH', 7.06)
    """
    costs = [
        combination_cost(Combination(a, b), workload, weights, sizes)
        for a in structures
        for b in structures
    ]
    return sorted(costs, key=lambda cost: cost.total)


def cheapest(
    direction: Direction,
    weights: Weights,
    sizes: Sizes,
    structures: Sequence[Structure] = EVERY_STRUCTURE,
) -> Structure:
    """The structure that keeps one window at the least cost; the first of equals."""
    return min(structures, key=lambda one: direction_cost(one, direction, weights, sizes))
