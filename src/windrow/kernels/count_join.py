"""When the tuples of count windows leave, by their numbers in the one order of a join.

Contract: `numbers` ascend, one per tuple of a stream, the oldest first; int64. All loops are one
pass over the tuples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels._jit import kernel

NEVER = 2**63 - 1
"""Leaves with no tuple that is known."""

Numbers = NDArray[np.int64]


@kernel
def partition_exits(slots: Numbers, numbers: Numbers, rows: int, slot_count: int) -> Numbers:
    """The number at which each tuple leaves `[PARTITION BY k ROWS n]`: that of its n-th successor.

        number    0   1   2   3   4   5          n = 2
        slot      A   B   A   A   B   A
        leaves    3   .   5   .   .   .          0 leaves as 3, the second A after it, enters

    Args:
        slots: which partition each tuple is of, 0 .. slot_count - 1.
        numbers: those of the tuples.
        rows: how many tuples of a partition stay.
        slot_count: how many partitions there are.
    """
    size = len(slots)
    starts = np.zeros(slot_count + 1, np.int64)
    for i in range(size):
        starts[slots[i] + 1] += 1
    for slot in range(slot_count):
        starts[slot + 1] += starts[slot]
    filled = starts[:slot_count].copy()
    members = np.empty(size, np.int64)  # the tuples of one partition after those of another
    for i in range(size):
        members[filled[slots[i]]] = i
        filled[slots[i]] += 1
    exits = np.empty(size, np.int64)
    for at in range(size):
        i = members[at]
        successor = at + rows
        is_there = successor < starts[slots[i] + 1]
        exits[i] = numbers[members[successor]] if is_there else NEVER
    return exits


@kernel
def newest_before(numbers: Numbers, entering: Numbers, rows: int) -> Numbers:
    """The number of the oldest tuple in `[ROWS n]` as each of some others enters.

        numbers    2   5   6   9           n = 2
        entering             8             5 and 6 are there: gives 5

    Where fewer than n have come, all of them are there: gives the first number possible, 0.
    """
    out = np.empty(len(entering), np.int64)
    for i in range(len(entering)):
        before = np.searchsorted(numbers, entering[i])
        out[i] = numbers[before - rows] if before >= rows else 0
    return out
