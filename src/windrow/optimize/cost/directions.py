"""The cost of one direction of a join, and of a combination: the sum of its two directions.

    stream A --probes--> [ window B ] <--inserts, removes-- stream B
    stream B --probes--> [ window A ] <--inserts, removes-- stream A

Each window is probed by the arrivals of the other stream and kept up by its own. What the one is
kept in does not change what the other costs, so that the two are chosen apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from windrow.optimize.cost.structures import CostError, Sizes, Structure, Weights, touches

EVERY_STRUCTURE = tuple(Structure)
INSERT_AND_REMOVE = 2
"""In a full window one tuple goes for each that comes."""


@dataclass(frozen=True)
class Direction:
    """One window and what happens to it in a unit of time.

    Attributes:
        window: tuples in the window.
        probes: searches in it, one per arrival of the other stream.
        arrivals: tuples that it takes in; as many leave it.
    """

    window: float
    probes: float
    arrivals: float


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


def direction_cost(
    structure: Structure, direction: Direction, weights: Weights, sizes: Sizes
) -> float:
    """Equation 2, with the equation of the structure in it: the cost of one direction.

    Examples:
        >>> from windrow.optimize.cost.structures import PAPER
        >>> into_b = Direction(window=500, probes=2, arrivals=998)
        >>> round(direction_cost(Structure.buffer, into_b, PAPER, Sizes()), 4)
        0.4996
    """
    touched, weight = touches(structure, direction.window, sizes), weights.of(structure)
    searching = direction.probes * touched.search * weight.search
    updating = INSERT_AND_REMOVE * direction.arrivals * touched.update * weight.update
    return searching + updating


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
        >>> from windrow.optimize.cost.structures import PAPER
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
