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

What a pair is compared by, in any of the dimensions:

    codes      numbers, less is better
    shared     a set, ascending: one that contains another is better. Several sets are one, if no
               element of one is any of another's
    said       what an order that no number and no set tells says of two pairs of a group; given
               for every pair that is new, and all that stand before it in its group

All of this rests on one law: what is better than a pair is better than whatever this one is better
than. It is so of numbers and sets, and a partial order is one for that reason.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.bestmatch import longer
from windrow.kernels.jit import kernel, kernel_part

BETTER, WORSE = 1, 2
"""Bits of what is said of a new pair beside another: both, where neither is better; none, where
they are as good."""


class Worth(NamedTuple):
    """What pairs are compared by.

    The set of pair i is elements[starts[i]:starts[i + 1]]. What is said of a new pair and of the
    k-th pair of its group is said[first_said[pair] + k]; `said` is empty where no dimension needs
    it.
    """

    codes: NDArray[np.uint64]  # one row per pair, one column per dimension
    starts: NDArray[np.int64]
    elements: NDArray[np.int64]
    first_said: NDArray[np.int64]
    said: NDArray[np.int8]


class Pairs(NamedTuple):
    """Pairs by group, within a group by time; those that were there before come first.

    `free` and `is_shown` (whether the answer has it now) are written.
    """

    starts: NDArray[np.int64]  # of each group, and one past the last
    times: NDArray[np.int64]
    ends: NDArray[np.int64]
    free: NDArray[np.int64]
    is_shown: NDArray[np.bool_]
    is_new: NDArray[np.bool_]


class PairChanges(NamedTuple):
    """Which pair comes into the answer, or leaves it, and when."""

    pairs: NDArray[np.int64]
    times: NDArray[np.int64]
    signs: NDArray[np.int64]
    comparisons: int


@kernel
def compare_new_pairs(pairs: Pairs, worth: Worth) -> PairChanges:
    """Compares the new pairs of every group with what is there; gives the changes up to the last."""
    starts, times, ends, free, is_shown, is_new = pairs
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
                    order = _compared(worth, starts[group], pair, other)
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
    return PairChanges(out[:made], out_times[:made], out_signs[:made], comparisons)


@kernel_part
def _compared(worth: Worth, start: int, one: int, other: int) -> int:
    """-1 where the one pair dominates the other, 1 where the other does, else 0.

    The one is new, and its group begins at `start`.
    """
    codes = worth.codes
    is_better = False
    is_worse = False
    for k in range(codes.shape[1]):
        if codes[one, k] < codes[other, k]:
            is_better = True
        elif codes[one, k] > codes[other, k]:
            is_worse = True
    if len(worth.said):
        said = worth.said[worth.first_said[one] + other - start]
        is_better |= (said & BETTER) != 0
        is_worse |= (said & WORSE) != 0
    if is_better and is_worse:
        return 0
    if len(worth.elements):
        at, last = worth.starts[one], worth.starts[one + 1]
        its, its_last = worth.starts[other], worth.starts[other + 1]
        while at < last or its < its_last:
            if its == its_last or (at < last and worth.elements[at] < worth.elements[its]):
                is_better = True
                at += 1
            elif at == last or worth.elements[at] > worth.elements[its]:
                is_worse = True
                its += 1
            else:
                at += 1
                its += 1
            if is_better and is_worse:
                return 0
    if is_better == is_worse:
        return 0
    return -1 if is_better else 1
