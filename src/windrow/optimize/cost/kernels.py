"""What the compiled loops of each plan take, in microseconds of processor per unit of work.

One unit for all plans: only so can a pipeline be weighed against a hash table. The figures of
sweeps, pipelines and asymmetric joins (those that shed apart) were fitted, by relative least squares, to runs over random
workloads in process (`python -m benchmarks.planner --fit` repeats that); those of backward
evaluation were set by hand after 30 such joins; outer joins and joins of count windows have the
latter's, for their loops are alike. The structures' are what `windrow cost --calibrate` found on
the same machine. On another machine all of them shrink or grow together, more or less: where its
structures have been measured, the rest is scaled by how they compare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from windrow.optimize.cost.joins import Work
from windrow.optimize.cost.structures import Structure
from windrow.optimize.cost.weights import Weight, Weights


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
    "outer-hash": KernelCost(0.15, 0.05, touched=0.01, result=0.035, found=0.04, scanned=0.0005),
    "outer-nested-loop": KernelCost(0.12, 0.05, 0.0005, result=0.07, found=0.04, scanned=0.0005),
    "count-hash": KernelCost(0.15, 0.05, touched=0.01, result=0.035, found=0.04, scanned=0.0005),
    "count-nested-loop": KernelCost(0.12, 0.05, 0.0005, result=0.07, found=0.04, scanned=0.0005),
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
