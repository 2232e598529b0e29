"""What the compiled loops of each plan take, in microseconds of processor per unit of work.

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

from windrow.optimize.cost.joins import Joined, Work
from windrow.optimize.cost.structures import Structure, Weight, Weights, touches
from windrow.physical.structures import USUAL


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
