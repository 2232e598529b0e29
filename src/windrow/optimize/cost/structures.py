"""What windows are kept in, and what structures and compiled loops take of a processor.

**Structures**: how many tuples each touches, and what touching one costs. A tuple is *touched* when its key is looked at. A search finds the matches of one arrival; an update
inserts one tuple, or removes one. Inserting and removing touch equally many.

    stream A --probes--> [ window B ] <--inserts, removes-- stream B
    stream B --probes--> [ window A ] <--inserts, removes-- stream A

Of two streams, each window is probed by the arrivals of the other and kept up by its own. What the one
is kept in does not change what the other costs, so that the two are chosen apart.

**Compiled loops** of each plan, in microseconds of processor per unit of work.

One unit for all plans: only so can a pipeline be weighed against a hash table. The figures of sweeps,
pipelines and asymmetric joins (those that shed apart) were fitted, by relative least squares, to runs
over random workloads in process (`python -m benchmarks.planner --fit` repeats that); those of backward
evaluation were set by hand after 30 such joins; outer joins and joins of count windows have the
latter's, for their loops are alike. The structures' are what `windrow cost --calibrate` found on
the same machine. On another machine all of them shrink or grow together, more or less: where its
structures have been measured, the rest is scaled by how they compare.

The workers of a streaming query take up a state in every micro-batch, which costs as well. The rows
that are held come from the worker's cache as they are. Backward evaluation looks tuples up
by indexes that stay with them. Every other plan lays the rows out anew, tuple by tuple, and puts
each into its structure, or builds the combinations anew that a pipeline keeps:

    micro-batch     |------------|------------|        ahead / rate ticks
    held before it  [=====window=====]                 laid out once per micro-batch
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from windrow.errors import WindrowError
from windrow.optimize.cost.joins import Joined, Work
from windrow.physical.structures import USUAL, PartSizes


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
        >>> from windrow.physical.structures import USUAL
        >>> into_b = Direction(window=500, probes=2, arrivals=998)
        >>> round(direction_cost(Structure.buffer, into_b, REFERENCE, USUAL), 2)
        18.77
    """
    touched, weight = touches(structure, direction.window, sizes), weights.of(structure)
    searching = direction.probes * touched.search * weight.search
    updating = INSERT_AND_REMOVE * direction.arrivals * touched.update * weight.update
    return searching + updating


@dataclass(frozen=True)
class KernelCost:
    """Microseconds per unit of work.

    Per tuple taken in, look-up, tuple looked at, result, combination found, and tuple that a scan goes
    through where streams share no key.
    """

    tuple: float
    lookup: float
    touched: float
    result: float
    found: float = 0.0
    scanned: float = 0.0

    def us(self, work: Work) -> float:
        """The time that some work takes."""
        return (
            self.tuple * work.tuples
            + self.lookup * work.lookups
            + self.touched * work.touched
            + self.scanned * work.scanned
            + self.result * work.results
            + self.found * work.found
            + work.testing
        )


KERNELS = {
    "bew-hash": KernelCost(0.15, 0.05, touched=0.01, result=0.035, found=0.04, scanned=0.0005),
    "bew-nested-loop": KernelCost(0.12, 0.05, 0.0005, result=0.07, found=0.04, scanned=0.0005),
    "few-hash": KernelCost(tuple=1.5, lookup=0.0, touched=0.02, result=0.26, scanned=0.0008),
    "few-nested-loop": KernelCost(
        tuple=0.9, lookup=0.0, touched=0.0012, result=0.6, scanned=0.0008
    ),
    "hw": KernelCost(tuple=1.4, lookup=0.0, touched=0.006, result=0.2, scanned=0.003),
    "nlw": KernelCost(tuple=1.4, lookup=0.0, touched=0.003, result=0.2, scanned=0.003),
    "asymmetric": KernelCost(tuple=0.8, lookup=0.0, touched=0.006, result=0.2),
    "shed-asymmetric": KernelCost(0.05, lookup=0.05, touched=0.0, result=0.035, found=0.04),
}
"""Of the algorithm "asymmetric" it is what its loops take beside the structures. A join that sheds
takes tuples by the pane, and was seen to take as long by hashes as by backward evaluation with one.
"""

COMPARED, CALLED, IN_BLOCKS = 0.001, 0.02, 0.035
"""Microseconds to test a candidate: numbers compared in the loops, by a function of the user's on
arrays, and by an expression on blocks of candidates."""

REFERENCE = Weights(
    buffer=Weight(search=0.0024, update=0.0082),
    hash=Weight(search=0.0046, update=0.0176),
    btree=Weight(search=0.0043, update=0.0112),
    ttree=Weight(search=0.0042, update=0.0142),
    unit="us per unit of time",
)
"""The structures' weights on the machine that `KERNELS` were measured on."""


def machine_factor(weights: Weights) -> float:
    """How many times as long this machine takes, by the weights of its structures."""
    ratios = [
        getattr(weights.of(one), kind) / getattr(REFERENCE.of(one), kind)
        for one in Structure
        for kind in ("search", "update")
    ]
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


LAID_OUT = 0.3
"""Microseconds to lay out a row: measured 0.15 by an equality, 0.45 by a band."""

ONCE = 2_000.0
"""Microseconds that taking up a state takes whatever it holds."""


def restores(joined: Joined) -> float:
    """How often per tick: a micro-batch is as long as its rows take to come."""
    ticks = [rows / rate for rows, rate in zip(joined.ahead, joined.rates, strict=True) if rate]
    longest = max(ticks, default=0.0)
    return 1 / longest if longest else 0.0


def restoring_us(
    joined: Joined, weights: Weights, structures: Sequence[str], replayed_us: float
) -> float:
    """Microseconds per tick for laying out the rows held in every micro-batch.

    `structures` are those of each stream's window, where they have any; `replayed_us` is what it takes
    per tick of rows to build anew what is kept beside them.
    """
    reaches = [max(0, *joined.upper[stream]) for stream in joined.streams]
    held = [rate * reach for rate, reach in zip(joined.rates, reaches, strict=True)]
    us = (ONCE + LAID_OUT * sum(held)) * machine_factor(weights) + replayed_us * max(reaches)
    for name, rows in zip(structures, held, strict=False):
        one = Structure[name]
        us += rows * touches(one, rows, USUAL).update * weights.of(one).update
    return us * restores(joined)
