"""The cost of one direction of a join of two streams.

    stream A --probes--> [ window B ] <--inserts, removes-- stream B
    stream B --probes--> [ window A ] <--inserts, removes-- stream A

Each window is probed by the arrivals of the other stream and kept up by its own. What the one is
kept in does not change what the other costs, so that the two are chosen apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimize.cost.structures import Structure, Weights, touches
from windrow.physical.structures import PartSizes

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


def direction_cost(
    structure: Structure, direction: Direction, weights: Weights, sizes: PartSizes
) -> float:
    """Equation 2, with the equation of the structure in it: the cost of one direction.

    Examples:
        >>> from windrow.optimize.cost.kernels import REFERENCE
        >>> from windrow.physical.structures import USUAL
        >>> into_b = Direction(window=500, probes=2, arrivals=998)
        >>> round(direction_cost(Structure.buffer, into_b, REFERENCE, USUAL), 2)
        18.77
    """
    touched, weight = touches(structure, direction.window, sizes), weights.of(structure)
    searching = direction.probes * touched.search * weight.search
    updating = INSERT_AND_REMOVE * direction.arrivals * touched.update * weight.update
    return searching + updating
