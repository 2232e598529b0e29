"""The best pairs among those alive, at every instant: when each is dominated, and when no longer.

A pair p is in the answer while it is alive, except while a pair that dominates it is alive too:

    p            |=====================================|
    dominates p       |--------|     |-----|
                          |-------|
    in answer    [===)            [==)     [===========)

Pairs of one group are compared as they come, in the order of their times. Of each one number is
kept, the instant from which on it is free of all that dominate it so far:

    free(p) = the latest end among the pairs alive that dominate p, or its own time

- A pair that comes is compared with those there; what dominates it moves its `free` on.
- It dominates others: one that was in the answer leaves it now, and `free` moves on to its end.
- Where free(p) reaches the end of p, p is gone for good: whatever ended p's chances is better than
  p and stays longer, so that it also does to others what p would do.

Pairs that come at one instant are compared with one another as well: neither was in the answer
before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels._jit import kernel
from windrow.kernels.bestmatch import longer


class Pairs(NamedTuple):
    """Pairs by group, within a group by time; those that were there before come first.

    `free` and `is_shown` (whether the answer has it now) are written.
    """

    starts: NDArray[np.int64]  # of each group, and one past the last
    codes: NDArray[np.uint64]  # one row per pair, one column per dimension; less is better
    times: NDArray[np.int64]
    ends: NDArray[np.int64]
    free: NDArray[np.int64]
    is_shown: NDArray[np.bool_]
    is_new: NDArray[np.bool_]


class Changes(NamedTuple):
    """Which pair comes into the answer, or leaves it, and when."""

    pairs: NDArray[np.int64]
    times: NDArray[np.int64]
    signs: NDArray[np.int64]
    comparisons: int


@kernel
def compare_new_pairs(pairs: Pairs) -> Changes:
    """Compares the new pairs of every group with what is there; gives the changes up to the last."""
    starts, codes, times, ends, free, is_shown, is_new = pairs
    there = np.empty(len(times), np.int64)  # pairs of the group that may still be in the answer
    # A pair leaves the answer at most once per pair that is new, and as often comes back.
    out = np.empty(64, np.int64)
    out_times = np.empty(64, np.int64)
    out_signs = np.empty(64, np.int64)
    made = 0
    comparisons = 0
    for group in range(len(starts) - 1):
        count = 0
        for pair in range(starts[group], starts[group + 1]):
            if not is_new[pair]:
                there[count] = pair
                count += 1
                continue
            now = times[pair]
            free[pair] = now
            at = 0
            while at < count and free[pair] < ends[pair]:
                other = there[at]
                leaves = ends[other]
                if leaves > now:
                    leaves = now
                    comparisons += 1
                    order = _compared(codes, pair, other)
                    if order >= 0:
                        if order > 0:
                            free[pair] = max(free[pair], ends[other])
                        at += 1
                        continue
                if free[other] < leaves:  # it was in the answer
                    if made + 2 > len(out):
                        out = longer(out)
                        out_times = longer(out_times)
                        out_signs = longer(out_signs)
                    if not is_shown[other]:
                        out[made], out_times[made], out_signs[made] = other, free[other], 1
                        made += 1
                    out[made], out_times[made], out_signs[made] = other, leaves, -1
                    made += 1
                    is_shown[other] = False
                stays_out_until = ends[pair] if leaves < ends[other] else leaves
                free[other] = max(free[other], stays_out_until)
                if free[other] >= ends[other]:
                    count -= 1
                    there[at] = there[count]
                else:
                    at += 1
            if free[pair] < ends[pair]:
                there[count] = pair
                count += 1
    return Changes(out[:made], out_times[:made], out_signs[:made], comparisons)


@kernel
def _compared(codes: NDArray[np.uint64], one: int, other: int) -> int:
    """-1 where the one pair dominates the other, 1 where the other does, else 0."""
    is_better = False
    is_worse = False
    for k in range(codes.shape[1]):
        if codes[one, k] < codes[other, k]:
            is_better = True
        elif codes[one, k] > codes[other, k]:
            is_worse = True
    if is_better == is_worse:
        return 0
    return -1 if is_better else 1
