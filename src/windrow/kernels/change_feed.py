"""Which row each delete of a change feed takes back.

Equal rows form a stack: an insert puts its row on top, a delete takes the top away. Of one instant
the deletes come first; one that finds nothing then looks among the inserts of the same instant:

    slot A    +3   +5        -7        +9 -9
    stack      3   3 5       3         3             -7 takes the row of 5, -9 that of 3
    slot B              +9 -9                        nothing is earlier: -9 takes the row of 9,
                                                     unless its own may have ended by itself

Newest first, because it can be decided by what is there: of equal rows the older ones end first, so
that where the top has ended, all below it have. Contract: `slots` from 0 on; rows there already come
first, then those that come, in the order of (time, deletes first). One pass, a few steps per row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel

NOTHING = -1
"""No row is there to be taken back."""

Numbers = NDArray[np.int64]


@kernel
def rows_taken_back(
    slots: Numbers,
    times: Numbers,
    ends: Numbers,
    is_delete: NDArray[np.bool_],
    there: int,
    slot_count: int,
    may_have_ended: int,
) -> Numbers:
    """Per row the one that it takes back; NOTHING for inserts, and for deletes that find none.

    Args:
        slots: per row, a number that equal rows share.
        times: per row, when it comes.
        ends: per row, the first instant at which it is gone; of a delete it does not matter.
        is_delete: per row, whether it takes one back.
        there: how many rows, the first ones, were there before.
        slot_count: the greatest slot, plus one.
        may_have_ended: from this instant on a delete that finds nothing may be of a row that has
            ended, and is not taken for one of an insert of its own instant.
    """
    total = len(slots)
    taken = np.full(total, NOTHING, np.int64)
    top = np.full(slot_count, NOTHING, np.int64)
    below = np.empty(total, np.int64)
    for row in range(there):
        below[row] = top[slots[row]]
        top[slots[row]] = row
    start = there
    while start < total:
        time, stop = times[start], start
        while stop < total and times[stop] == time:
            slot = slots[stop]
            if not is_delete[stop]:
                below[stop] = top[slot]
                top[slot] = stop
            elif top[slot] != NOTHING and ends[top[slot]] > time:
                taken[stop] = top[slot]
                top[slot] = below[top[slot]]
            stop += 1
        for row in range(start, stop if time < may_have_ended else start):
            slot = slots[row]
            if not is_delete[row] or taken[row] != NOTHING or top[slot] == NOTHING:
                continue
            if times[top[slot]] == time:
                taken[row] = top[slot]
                top[slot] = below[top[slot]]
        start = stop
    return taken
