"""What a window can be kept in, how many tuples each structure touches, and what touching one costs.

A tuple is *touched* when its key is looked at. A search finds the matches of one arrival; an update
inserts one tuple, or removes one. Inserting and removing touch equally many.

    stream A --probes--> [ window B ] <--inserts, removes-- stream B
    stream B --probes--> [ window A ] <--inserts, removes-- stream A

Of two streams, each window is probed by the arrivals of the other and kept up by its own. What the one
is kept in does not change what the other costs, so that the two are chosen apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from windrow.errors import WindrowError
from windrow.physical.structures import PartSizes


class CostError(WindrowError, ValueError):
    """The cost model cannot answer as asked; the one who asked acts."""

    @classmethod
    def bad_number(cls, name: str, value: float, wanted: str) -> Self:
        """A rate, a size or a share that cannot be."""
        return cls("bad-cost-number", f"{name} is {value:g}", hint=f"it must be {wanted}")


MOST_TUPLES = 1_000_000
"""The most in a bucket or a node."""


class Structure(StrEnum):
    """A structure by the letter that the paper gives it; its name is the word for it.

    Examples:
        >>> Structure("T").name
        'ttree'
        >>> Structure["hash"].value
        'H'
    """

    buffer = "N"
    hash = "H"
    btree = "B"
    ttree = "T"


@dataclass(frozen=True)
class Sizes(PartSizes):
    """How large the parts of structures are made, where the cost model is asked: any that can be."""

    def __post_init__(self) -> None:
        if not 1 <= self.bucket <= MOST_TUPLES:
            raise CostError.bad_number("the bucket size", self.bucket, f"1 to {MOST_TUPLES:,}")
        # A node of a B+tree is split into parts that are half full or more.
        if not 3 <= self.node <= MOST_TUPLES:
            raise CostError.bad_number("the node size", self.node, f"3 to {MOST_TUPLES:,}")


@dataclass(frozen=True)
class Touches:
    """Tuples touched by one search, and by one insertion or removal."""

    search: float
    update: float


def touches(structure: Structure, window: float, sizes: PartSizes) -> Touches:
    """The tuples that one search and one update touch in a window of so many tuples: equations 3 to 6.

    Of a T-tree any node may hold the key, so that on average one less is passed than the tree is high; a
    tree of one node has none to pass. The paper's equation 6 multiplies the first term of an update by
    two (insertion and removal) and not the second; its table multiplies both, and so do we.

    Examples:
        >>> touches(Structure.ttree, 5_000, Sizes())
        Touches(search=14.5, update=14.5)
    """
    node = sizes.node
    match structure:
        case Structure.buffer:  # a search scans the window; the oldest tuple is at its end
            return Touches(search=window, update=1)
        case (
            Structure.hash
        ):  # a bucket, none larger than the window; these keep the order of arrival
            return Touches(search=min(sizes.bucket, window), update=1)
        case Structure.btree:  # a binary search in each node from the root to the leaf
            path: float = (_log_up(_nodes(window, node), node + 1) + 1) * _log_up(node, 2)
        case (
            Structure.ttree
        ):  # 1.5 comparisons in each node passed, a binary search in the last one
            height = _log_up(_nodes(window, node), 2)
            path = 1.5 * max(0, height - 1) + _log_up(node, 2)
    return Touches(search=path, update=path)


def _nodes(window: float, node: int) -> int:
    """The nodes that hold a window, at least the root."""
    return max(1, math.ceil(window / node))


def _log_up(number: int, base: int) -> int:
    """The logarithm rounded up: the least power of the base that reaches the number.

    By whole numbers: a logarithm of floats may end a hair above the whole number it should be.
    """
    power, reached = 0, 1
    while reached < number:
        reached *= base
        power += 1
    return power


@dataclass(frozen=True)
class Weight:
    """The cost of touching one tuple while searching, and while updating."""

    search: float
    update: float


@dataclass(frozen=True)
class Weights:
    """The weights of every structure; `unit` is what costs made with them are counted in."""

    buffer: Weight
    hash: Weight
    btree: Weight
    ttree: Weight
    unit: str

    def of(self, structure: Structure) -> Weight:
        """The weight of a structure."""
        own: Weight = getattr(self, structure.name)
        return own


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
