"""What a join of two streams costs with its windows in structures, for every pair of these.

Where the join sheds, the allocation has come first: windows are as large as what is kept of them,
and as many probe as are allowed to.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from windrow.optimize.cost.directions import Direction, direction_cost
from windrow.optimize.cost.join_statistics import Sized
from windrow.optimize.cost.joins import Joined, Work, ahead_of, backward_join
from windrow.optimize.cost.kernels import KERNELS, machine_factor
from windrow.optimize.cost.structures import Sizes, Structure
from windrow.optimize.cost.weights import Weights
from windrow.optimize.shedding.expected import left_directions
from windrow.physical.algorithms import ALGORITHMS, ASYMMETRIC
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.physical.structures import BUFFER, HASH, NAMES, served_range


def structure_costs(
    node: MultiJoin, join: Sized, weights: Weights
) -> list[tuple[MultiJoin, float]]:
    """The join by every pair of structures that can serve its conditions, in microseconds per tick."""
    names = list(NAMES)
    if not node.classes:
        names = [BUFFER] if served_range(node) is None else [n for n in names if n != HASH]
    sizes = Sizes(node.sizes.bucket, node.sizes.node)
    cases = _directions(node, join.widest)
    sides = [
        [(name, fmean(direction_cost(Structure[name], case[at], weights, sizes) for case in cases))
         for name in names]
        for at in (0, 1)
    ]  # fmt: skip
    kernel = KERNELS[ASYMMETRIC if node.shedding is None else f"shed-{ASYMMETRIC}"]
    loops = kernel.us(_matched(join.widest, in_blocks=node.shedding is None)) * machine_factor(
        weights
    )
    method = ALGORITHMS[ASYMMETRIC].methods[0 if node.classes else -1]
    return [
        (node.by(ASYMMETRIC, method, structures=(left, right)), loops + cost_left + cost_right)
        for left, cost_left in sides[0]
        for right, cost_right in sides[1]
    ]


def _directions(node: MultiJoin, joined: Joined) -> list[tuple[Direction, Direction]]:
    """Each window, and what happens to it in a tick, in each case that may be."""
    if isinstance(node, SheddingJoin) and node.shedding.expected is not None:
        return left_directions(node)
    return [(_direction(joined, 0), _direction(joined, 1))]


def _direction(joined: Joined, at: int) -> Direction:
    other = 1 - at
    length = joined.upper[at][other] + min(0, joined.upper[other][at])
    return Direction(
        window=joined.rates[at] * max(0, length) + ahead_of(joined, at),
        probes=joined.rates[other],
        arrivals=joined.rates[at],
    )


def _matched(joined: Joined, *, in_blocks: bool) -> Work:
    """The work of the loops around structures, which hand on the tuples that keys allow."""
    work = backward_join(joined, ((1,), (0,)), is_hashed=True)
    testing = work.found * sum(test.us_in_blocks if in_blocks else test.us for test in joined.tests)
    return replace(work, touched=work.found, testing=testing)
