"""Joins of two streams with each window in a structure of its own, run and metered.

Windows hold a number of tuples, as in the paper, and are full from the start. Arrivals come in a
random order in proportion to the rates; a probe matches one tuple on average. All combinations get
the same arrivals, and must find the same matches.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from windrow.calibration.measuring import filled
from windrow.errors import InternalError
from windrow.kernels.structures.window import work_of
from windrow.optimize.cost.structures import Sizes
from windrow_papers.cost.combinations import Combination, Workload
from windrow_papers.experiments.experiment import Say
from windrow_papers.experiments.kang.counted_work import look_ups
from windrow_papers.experiments.workloads.streams import Int64s
from windrow_papers.kernels.two_windows import TwoWindows

REPEATS = 5
OPERATIONS_PER_WINDOW = 2
"""An arrival is inserted into its own window, where the oldest goes, and probes the other."""


@dataclass(frozen=True)
class Metered:
    """What some operations cost: processor seconds, and counted work, which no other program disturbs."""

    seconds: float
    work: float


@dataclass(frozen=True)
class Arrivals:
    """What both windows hold at first, and what comes then."""

    label: str
    window_a: Int64s
    window_b: Int64s
    sides: Int64s
    keys: Int64s


def arrivals(workload: Workload, tuples: int, seed: int) -> Arrivals:
    """So many arrivals of a workload."""
    dice = np.random.default_rng(seed)
    values = int(max(workload.window_a, workload.window_b))
    share_b = workload.rate_b / (workload.rate_a + workload.rate_b)
    # As many of each as the rates say, so that two workloads differ by what they should alone.
    sides = np.zeros(tuples, np.int64)
    sides[: round(tuples * share_b)] = 1
    dice.shuffle(sides)
    return Arrivals(
        f"rates {workload.rate_a:g}/{workload.rate_b:g}",
        dice.integers(0, values, int(workload.window_a)),
        dice.integers(0, values, int(workload.window_b)),
        sides,
        dice.integers(0, values, tuples),
    )


def metered(
    combinations: Sequence[Combination], came: Arrivals, sizes: Sizes, say: Say
) -> Mapping[Combination, Metered]:
    """What each combination costs per arrival: the work, and the least time of some runs.

    The combinations take turns, so that a busy spell of the machine is no single one's.
    """
    seconds: dict[Combination, list[float]] = {one: [] for one in combinations}
    work: dict[Combination, float] = {}
    matches: set[int] = set()
    for turn in range(REPEATS):
        say(f"{came.label}: {len(came.keys):,} arrivals, run {turn + 1} of {REPEATS}")
        for one in combinations:
            join = TwoWindows(
                filled(one.a, sizes, came.window_a), filled(one.b, sizes, came.window_b)
            )
            began = time.thread_time()
            matches.add(join.take(came.sides, came.keys))
            seconds[one].append(time.thread_time() - began)
            work[one] = _work(join, one, came.sides)
    if len(matches) > 1:
        raise InternalError("different-answers", f"combinations found {sorted(matches)} matches")
    each = 1 / len(came.keys)
    return {one: Metered(min(seconds[one]) * each, work[one] * each) for one in combinations}


def _work(join: TwoWindows, combination: Combination, sides: Int64s) -> float:
    """Counted work of both windows, the look-ups of every operation included."""
    of_b = int(sides.sum())
    of_a = len(sides) - of_b
    on_a = OPERATIONS_PER_WINDOW * of_a + of_b
    on_b = OPERATIONS_PER_WINDOW * of_b + of_a
    looked_up = on_a * look_ups(combination.a) + on_b * look_ups(combination.b)
    return sum(work_of(join.a)) + sum(work_of(join.b)) + looked_up
