"""Where the cheapest combination changes as one stream becomes faster and the other slower.

For one window the costs of two structures are lines over the ratio of probes to arrivals: they
cross once, or never. A ratio is that of stream A's rate to stream B's. Window B is probed by A, so
that its crossovers are ratios of probes to arrivals; window A is probed by B, and its crossovers
are the inverse.

    rate A / rate B   0 ------ 8 ------ 9 ------ 10 ------ 11 ------> infinity    (equations)
    cheapest             TN        TH       HH        HT        NT
    what changes             B: N,H   A: T,H    B: H,T    A: H,N
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from windrow.optimize.cost.structures import INSERT_AND_REMOVE, Sizes, Structure, Weights, touches
from windrow_papers.cost.combinations import (
    EVERY_STRUCTURE,
    Combination,
    Workload,
    cheapest,
    combination_cost,
)

PAPER_STRUCTURES = (Structure.buffer, Structure.hash, Structure.ttree)
"""Those of the paper's figures and crossovers: it leaves B+trees out, which cost nearly what
T-trees do and take more memory."""


@dataclass(frozen=True)
class Crossover:
    """Where two combinations cost the same.

    Attributes:
        below: cheaper while the ratio is smaller.
        above: cheaper while it is larger.
        ratio: rate A over rate B; None where the two do not cross that way round.
    """

    below: Combination
    above: Combination
    ratio: float | None


@dataclass(frozen=True)
class Reign:
    """The ratios of rate A to rate B over which one combination is the cheapest."""

    combination: Combination
    first: float
    last: float


def crossing(
    one: Structure, other: Structure, window: float, weights: Weights, sizes: Sizes
) -> float | None:
    """The ratio of probes to arrivals at which two structures cost the same for a window.

    None where one of them is the cheaper whatever the ratio is.

    Examples:
        >>> from windrow_papers.cost.combinations import PAPER
        >>> round(crossing(Structure.buffer, Structure.hash, 500, PAPER, Sizes()), 4)
        0.0094
    """
    search_one, update_one = _slopes(one, window, weights, sizes)
    search_other, update_other = _slopes(other, window, weights, sizes)
    if search_one == search_other:
        return None
    ratio = (update_other - update_one) / (search_one - search_other)
    return ratio if ratio > 0 else None


def paper_crossovers(
    window_a: float, window_b: float, weights: Weights, sizes: Sizes
) -> tuple[Crossover, ...]:
    """Equations 8 to 11: TN and TH, TH and HH, HH and HT, HT and NT.

    9 and 10 carry the slip of equation 6; these are without it. Under other weights than the
    paper's some may not be there.
    """
    buffer, hashed, ttree = PAPER_STRUCTURES
    ratios = {
        ("TN", "TH"): crossing(buffer, hashed, window_b, weights, sizes),
        ("TH", "HH"): _inverse(crossing(ttree, hashed, window_a, weights, sizes)),
        ("HH", "HT"): crossing(hashed, ttree, window_b, weights, sizes),
        ("HT", "NT"): _inverse(crossing(hashed, buffer, window_a, weights, sizes)),
    }

    def total(combination: Combination, ratio: float) -> float:
        workload = Workload(ratio, 1.0, window_a, window_b)
        return combination_cost(combination, workload, weights, sizes).total

    found = []
    for letters, ratio in ratios.items():
        below, above = map(Combination.of, letters)
        is_there = ratio is not None and total(below, ratio / 2) < total(above, ratio / 2)
        found.append(Crossover(below, above, ratio if is_there else None))
    return tuple(found)


def reigns(
    window_a: float,
    window_b: float,
    weights: Weights,
    sizes: Sizes,
    structures: Sequence[Structure] = EVERY_STRUCTURE,
) -> list[Reign]:
    """The cheapest combination for every ratio of the rates, from A slowest to A fastest."""
    found: list[Reign] = []
    for first, last in pairwise(_turning_points(window_a, window_b, weights, sizes, structures)):
        workload = Workload(_between(first, last), 1.0, window_a, window_b)
        winner = Combination(
            cheapest(workload.into_a, weights, sizes, structures),
            cheapest(workload.into_b, weights, sizes, structures),
        )
        if found and found[-1].combination == winner:
            found[-1] = replace(found[-1], last=last)
        else:
            found.append(Reign(winner, first, last))
    return found


def _turning_points(
    window_a: float,
    window_b: float,
    weights: Weights,
    sizes: Sizes,
    structures: Sequence[Structure],
) -> list[float]:
    """Every ratio at which two structures cost the same for either window, and both ends."""
    pairs = list(combinations(structures, 2))
    of_b = [crossing(one, other, window_b, weights, sizes) for one, other in pairs]
    of_a = [_inverse(crossing(one, other, window_a, weights, sizes)) for one, other in pairs]
    return [0.0, *sorted({ratio for ratio in (*of_a, *of_b) if ratio is not None}), math.inf]


def _slopes(
    structure: Structure, window: float, weights: Weights, sizes: Sizes
) -> tuple[float, float]:
    """What one probe and one arrival cost."""
    touched, weight = touches(structure, window, sizes), weights.of(structure)
    return touched.search * weight.search, INSERT_AND_REMOVE * touched.update * weight.update


def _inverse(ratio: float | None) -> float | None:
    return None if ratio is None else 1 / ratio


def _between(first: float, last: float) -> float:
    """A ratio inside a range."""
    if last == math.inf:
        return first * 2 if first else 1.0
    return (first + last) / 2
