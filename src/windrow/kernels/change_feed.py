"""What the deletes of a change feed do: which row each takes back, and what a count window then shows.

**Taken back.** Equal rows form a stack: an insert puts its row on top, a delete takes the top away. Of
one instant the deletes come first; one that finds nothing then looks among the inserts of the same
instant:

    slot A    +3   +5        -7        +9 -9
    stack      3   3 5       3         3             -7 takes the row of 5, -9 that of 3
    slot B              +9 -9                        nothing is earlier: -9 takes the row of 9,
                                                     unless its own may have ended by itself

Newest first, because it can be decided by what is there: of equal rows the older ones end first, so
that where the top has ended, all below it have. Contract: `slots` from 0 on; rows there already come
first, then those that come, in the order of (time, deletes first). One pass, a few steps per row.

**Count windows.** The rows of a partition form a list in their order. The window is its last `rows`
entries; `bound` is the oldest of them:

    rows = 2        A   B   [ C   D ]              bound C
    + E             A   B     C [ D   E ]          C leaves, E enters
    - D             A   B   [ C     E ]            D leaves, C comes back
    - A                 B   [ C     E ]            nothing is seen of it

Contract: rows known are given in their order, those of a partition ascending: first those stored,
then those that come. `slots` from 0 on. Every event is of a row that is there: an insert of one that
comes, once, or a delete. A few steps per event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel

NOTHING = -1
"""No row is there."""

Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]


@kernel
def rows_taken_back(
    slots: Int64s,
    times: Int64s,
    ends: Int64s,
    is_delete: Flags,
    there: int,
    slot_count: int,
    may_have_ended: int,
) -> Int64s:
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


class Moves(NamedTuple):
    """What enters and leaves: of each the row, the event that moves it, and the sign."""

    rows: Int64s
    events: Int64s
    signs: NDArray[np.int8]


@kernel
def window_moves(
    slots: Int64s, stored: int, event_rows: Int64s, is_delete: Flags, slot_count: int, rows: int
) -> Moves:
    """What enters and leaves the windows of the newest `rows` rows of each slot, event by event.

    Args:
        slots: per row known, the partition that it is of.
        stored: how many rows, the first ones, were there before.
        event_rows: per event, the row that comes or is deleted.
        is_delete: per event, whether it deletes.
        slot_count: the greatest slot, plus one.
        rows: how many rows of a partition are in its window.
    """
    older = np.full(len(slots), NOTHING, np.int64)
    newer = np.full(len(slots), NOTHING, np.int64)
    newest = np.full(slot_count, NOTHING, np.int64)
    bound = np.full(slot_count, NOTHING, np.int64)
    inside = np.zeros(slot_count, np.int64)
    moved = np.empty(2 * len(event_rows), np.int64)
    events = np.empty(2 * len(event_rows), np.int64)
    signs = np.empty(2 * len(event_rows), np.int8)
    count = 0
    # Stored rows come as those of events do, before all of these; nothing is told of it.
    for event in range(-stored, len(event_rows)):
        row = event_rows[event] if event >= 0 else event + stored
        slot = slots[row]
        leaves, enters = NOTHING, NOTHING
        if event < 0 or not is_delete[event]:
            enters = row
            older[row] = newest[slot]
            if newest[slot] != NOTHING:
                newer[newest[slot]] = row
            newest[slot] = row
            if inside[slot] == rows:
                leaves = bound[slot]
                bound[slot] = newer[leaves]
            else:
                bound[slot] = row if inside[slot] == 0 else bound[slot]
                inside[slot] += 1
        else:
            if bound[slot] != NOTHING and row >= bound[slot]:
                leaves, enters = row, older[bound[slot]]
                if row == bound[slot]:
                    bound[slot] = newer[row]
                if enters != NOTHING:
                    bound[slot] = enters
                else:
                    inside[slot] -= 1
            if older[row] != NOTHING:
                newer[older[row]] = newer[row]
            if newer[row] != NOTHING:
                older[newer[row]] = older[row]
            else:
                newest[slot] = older[row]
        if leaves != NOTHING and event >= 0:
            moved[count], events[count], signs[count] = leaves, event, -1
            count += 1
        if enters != NOTHING and event >= 0:
            moved[count], events[count], signs[count] = enters, event, 1
            count += 1
    return Moves(moved[:count], events[:count], signs[:count])
