"""Conditions on the times of rows, tested as combinations grow: t(right) - t(left) in [-lo, hi].

A join by time looks rows up by them. Where rows are looked up by something else (their numbers,
their ends), the conditions are tested on what is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.operators.joins.bew_steps import Route
from windrow.plan.windows import UNBOUNDED, Bound

Numbers = NDArray[np.int64]


def in_time(
    bounds: Sequence[Bound], route: Route, at: int, times_of: Callable[[int], Numbers]
) -> NDArray[np.bool_] | None:
    """For which matches of step `at` the conditions that it completes hold; None: there are none.

    Args:
        bounds: the conditions.
        route: whose step it is.
        at: the step.
        times_of: the times of the matches' rows of the input at a position of the route's order.
    """
    added = route.steps[at].input
    chosen = route.order[: at + 1]
    holds: NDArray[np.bool_] | None = None
    for bound in bounds:
        other = bound.left if bound.right == added else bound.right
        if added not in {bound.left, bound.right} or other not in chosen:
            continue
        lo, hi = (bound.lo, bound.hi) if bound.right == added else (bound.hi, bound.lo)
        own = _lies_within(times_of(chosen.index(other)), times_of(at + 1), lo, hi)
        holds = both(holds, own)
    return holds


def both(
    first: NDArray[np.bool_] | None, second: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    """Where both hold; None stands for everywhere."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _lies_within(start: Numbers, time: Numbers, lo: int, hi: int) -> NDArray[np.bool_]:
    """Whether time - start lies in [-lo, hi]; differences beyond 64 bits count as the greatest."""
    ahead = time >= start
    # As unsigned numbers, differences of any two times are exact.
    distance = np.where(ahead, time.view(np.uint64) - start.view(np.uint64), 0)
    behind = np.where(ahead, 0, start.view(np.uint64) - time.view(np.uint64))
    within: NDArray[np.bool_] = _at_most(distance, behind, hi) & _at_most(behind, distance, lo)
    return within


def _at_most(
    distance: NDArray[np.uint64], back: NDArray[np.uint64], most: int
) -> NDArray[np.bool_]:
    """Whether distance - back, one of which is zero, is at most a number of either sign."""
    if most >= UNBOUNDED:
        return np.ones(len(distance), np.bool_)
    if most >= 0:
        return distance <= np.uint64(most)
    return back >= np.uint64(-most)
