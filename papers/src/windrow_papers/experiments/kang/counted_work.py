"""Work of window structures as it is counted: the same wherever it is measured."""

from __future__ import annotations

from windrow.calibration.measuring import CompiledBench, fitted, measure
from windrow.kernels.structures.window import work_of
from windrow.optimize.cost.structures import INSERT_AND_REMOVE, Sizes, Structure, Weights
from windrow_papers.experiments.experiment import Say


class CountingBench(CompiledBench):
    """A structure that holds a window. Costs are counted work."""

    def __init__(self, structure: Structure, window: int, sizes: Sizes) -> None:
        self._look_ups = look_ups(structure)
        super().__init__(structure, window, sizes)

    def search(self, count: int) -> float:
        """The work of so many probes by key."""
        before = sum(work_of(self.store))
        super().search(count)
        return sum(work_of(self.store)) - before + count * self._look_ups

    def update(self, count: int) -> float:
        """That of so many arrivals: each is inserted, and the oldest goes."""
        before = sum(work_of(self.store))
        super().update(count)
        return sum(work_of(self.store)) - before + INSERT_AND_REMOVE * count * self._look_ups


def weights_in_work(say: Say, windows: tuple[int, ...], rounds: int) -> Weights:
    """The weights on counted work."""
    points = measure(CountingBench, Sizes(), say, windows=windows, rounds=rounds)
    return fitted(points, "units of work per unit of time")


def look_ups(structure: Structure) -> int:
    """What any operation costs beside the tuples that it compares, touches and moves.

    A hash table finds the bucket of the key.
    """
    return 1 if structure is Structure.hash else 0
