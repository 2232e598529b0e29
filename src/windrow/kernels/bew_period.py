"""The period of a BEW-join: where the next tuple of a combination may lie in time.

BEW-join (window join of the 2003 paper, section 3.1) extends a new tuple by one tuple of every
other stream. Each tuple chosen shrinks the period that the next must lie in:

    chosen a            t(a) - lo              t(a) + hi
                   --------[======================]---------> time
    chosen b                    [======================]
    period of c                 [=================]            the next tuple is taken from here

With `upper[i][j]` the largest t(j) - t(i) allowed, both ends included,

    low  = max over chosen i of t(i) - upper[j][i]
    high = min over chosen i of t(i) + upper[i][j]

A sum beyond 64 bits stays at the last tick.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel

MOST = 2**63 - 1
LEAST = -(2**63)

Ticks = NDArray[np.int64]


class Probes(NamedTuple):
    """Partial combinations that look for their next tuple: its key's word and its period."""

    words: NDArray[np.uint64]
    low: Ticks
    high: Ticks


class FoundMatches(NamedTuple):
    """Room for matches: which probe, which stored row (plus a base), and that row's time."""

    probes: NDArray[np.int64]
    rows: NDArray[np.int64]
    times: Ticks


PROBE, AT, FILLED, LOOKUPS, TOUCHED = range(5)
"""How far a probing kernel came: an array of five numbers, which the kernel updates.

A kernel stops when there is no room in `FoundMatches`, and goes on from PROBE and AT when called again;
it is through when PROBE is the number of probes. LOOKUPS and TOUCHED count its work.
"""

Progress = NDArray[np.int64]


def no_progress(filled: int) -> Progress:
    """The beginning: the first probe, no stored row reached (-1), some room taken already."""
    return np.array([0, -1, filled, 0, 0], np.int64)


@kernel
def periods(times: Ticks, reach_back: Ticks, reach_on: Ticks) -> tuple[Ticks, Ticks]:
    """The period of the next tuple of each partial combination.

    Args:
        times: one row per chosen stream i, one column per combination.
        reach_back: upper[j][i] per chosen stream i.
        reach_on: upper[i][j] per chosen stream i.
    """
    chosen, size = times.shape
    low, high = np.empty(size, np.int64), np.empty(size, np.int64)
    for n in range(size):
        least, most = LEAST, MOST
        for i in range(chosen):
            least = max(least, minus(times[i, n], reach_back[i]))
            most = min(most, plus(times[i, n], reach_on[i]))
        low[n], high[n] = least, most
    return low, high


@kernel
def before_start(high: Ticks, start: Ticks, is_strict: bool) -> Ticks:  # noqa: FBT001
    """The ends of the periods, cut off at the start tuple's time (below it, if strict)."""
    out = np.empty_like(high)
    less = 1 if is_strict else 0
    for n in range(len(high)):
        out[n] = min(high[n], minus(start[n], less))
    return out


@kernel
def plus(time: int, ticks: int) -> int:
    """The time so many ticks later, or the last tick there is."""
    if ticks > 0 and time > MOST - ticks:
        return MOST
    if ticks < 0 and time < LEAST - ticks:
        return LEAST
    return time + ticks


@kernel
def minus(time: int, ticks: int) -> int:
    """The time so many ticks earlier, or the first tick there is."""
    if ticks > 0 and time < LEAST + ticks:
        return LEAST
    if ticks < 0 and time > MOST + ticks:
        return MOST
    return time - ticks
