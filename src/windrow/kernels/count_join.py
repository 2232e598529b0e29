"""When the tuples of count windows leave, by their numbers in the one order of a join.

Contract: `numbers` ascend, one per tuple of the partitions that are looked at, the oldest first;
int64. Leaving takes one pass over these tuples, entering a binary search for each that enters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel

NEVER = 2**63 - 1
"""Leaves with no tuple that is known."""

Int64s = NDArray[np.int64]


class Partitions(NamedTuple):
    """The tuples of a stream by partition: those of partition p are members[starts[p]:starts[p + 1]].

    `slots` says for each tuple which partition it is of; members are ascending in each.
    """

    slots: Int64s
    starts: Int64s
    members: Int64s


@kernel
def partitioned(slots: Int64s, slot_count: int) -> Partitions:
    """The partitions of tuples, which are given by number from 0 to slot_count - 1."""
    size = len(slots)
    starts = np.zeros(slot_count + 1, np.int64)
    for i in range(size):
        starts[slots[i] + 1] += 1
    for slot in range(slot_count):
        starts[slot + 1] += starts[slot]
    filled = starts[:slot_count].copy()
    members = np.empty(size, np.int64)
    for i in range(size):
        members[filled[slots[i]]] = i
        filled[slots[i]] += 1
    return Partitions(slots, starts, members)


@kernel
def partition_exits(partitions: Partitions, numbers: Int64s, rows: int) -> Int64s:
    """The number at which each tuple leaves `[PARTITION BY k ROWS n]`: that of its n-th successor.

    number    0   1   2   3   4   5          n = 2
    slot      A   B   A   A   B   A
    leaves    3   .   5   .   .   .          0 leaves as 3, the second A after it, enters
    """
    slots, starts, members = partitions
    exits = np.empty(len(slots), np.int64)
    for at in range(len(slots)):
        i = members[at]
        successor = at + rows
        is_there = successor < starts[slots[i] + 1]
        exits[i] = numbers[members[successor]] if is_there else NEVER
    return exits


@kernel
def newest_of_partition(
    partitions: Partitions, numbers: Int64s, slots: Int64s, entering: Int64s, rows: int
) -> Int64s:
    """The number of the oldest tuple of one partition that is there as each of some others enters.

    Args:
        partitions: of the tuples that may be there.
        numbers: those of the same tuples.
        slots: the partition that each of the entering tuples asks for; beyond the last: one that
            nothing is known of. All of its tuples may be there: gives 0.
        entering: their numbers.
        rows: how many tuples of a partition stay.
    """
    starts, members = partitions.starts, partitions.members
    out = np.empty(len(entering), np.int64)
    for i in range(len(entering)):
        if slots[i] >= len(starts) - 1:
            out[i] = 0
            continue
        first, low, high = starts[slots[i]], starts[slots[i]], starts[slots[i] + 1]
        while low < high:  # the first member that is not before the one that enters
            middle = (low + high) // 2
            if numbers[members[middle]] < entering[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = numbers[members[low - rows]] if low - rows >= first else 0
    return out
