"""The as-of search: one pass over two inputs in the order of time.

    right, slot 0    r0         r1                  r2
    right, slot 1         s0              s1
    left                     a0      b1        a0 ........ the row that its slot had last
    ------------------------------------------------------> time

`newest` holds, per slot (key), the place of the right row seen last. A left row takes what its slot
holds. Each row is touched once: time is linear in the rows, whatever the number of keys.

Forward is backward with time turned around: negated times, arrays from the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel

NOTHING = -1
"""The place of a match that there is not."""


class Timed(NamedTuple):
    """Rows of one input in ascending order of time, and the slot of each one's key."""

    times: NDArray[np.int64]
    slots: NDArray[np.int64]


@kernel
def newest_at(
    left: Timed,
    right: Timed,
    newest: NDArray[np.int64],
    is_strict: bool,  # noqa: FBT001
) -> NDArray[np.int64]:
    """Per left row, the last right row of its slot with t(right) <= t(left); < where strict.

    Args:
        left: the rows that ask.
        right: the rows that are found; of equal times, the one that comes last is.
        newest: per slot what is found before any of these rows, or NOTHING; left with the last
            right row of every slot that has one.
        is_strict: whether a right row of the same time is no match.
    """
    found = np.empty(len(left.times), np.int64)
    count = len(right.times)
    j = 0
    for i in range(len(left.times)):
        time = left.times[i]
        while j < count and (right.times[j] < time or (right.times[j] == time and not is_strict)):
            newest[right.slots[j]] = j
            j += 1
        found[i] = newest[left.slots[i]]
    while j < count:
        newest[right.slots[j]] = j
        j += 1
    return found


@kernel
def mark_tied(rows: Timed, latest: NDArray[np.int64], is_tied: NDArray[np.bool_]) -> None:
    """Marks the rows that share time and slot with another one.

    `latest` is to work in: NOTHING for every slot.
    """
    for i in range(len(rows.times)):
        before = latest[rows.slots[i]]
        if before != NOTHING and rows.times[before] == rows.times[i]:
            is_tied[before] = True
            is_tied[i] = True
        latest[rows.slots[i]] = i
