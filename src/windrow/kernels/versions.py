"""The versions that groups go through, instant by instant.

Rows come and go: event + at a row's time, event - at its end; the other way round for a row that
takes another back. All events of one group at one
instant make one *version* of that group's answer. A group's version before the first of them, its
*opening*, has no events:

    events of group a      +      + -            -
    instants           ----3------5--------------9----->
    versions of a      [o  [1     [2             [3         previous: 1 -> o, 2 -> 1, 3 -> 2

Versions are numbered in the order of their instants, an opening right before the version that
follows it. Each knows its events by a range (compressed rows): version v has events
first_event[v] to first_event[v + 1]. Aggregates then need one pass over versions, and a changelog
is each version's difference from the one before.

Time and memory are linear in the events: both inputs come sorted, so merging replaces sorting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.fetch import AHEAD, fetch_item
from windrow.kernels.jit import kernel

OPENING = -1
"""The `previous` of a version that was there before the first event."""


class Events(NamedTuple):
    """What happens, in the order of instants.

    Rows come in the order of `coming_times`: row i, in group `slots[i]`, with `signs[i]` -1 where
    it takes an earlier row back. `going_rows` are the rows that leave, at `going_times`, ascending:
    what each has added is subtracted.
    `slots` and `signs` cover all rows, coming ones first.
    """

    coming_times: NDArray[np.int64]
    going_times: NDArray[np.int64]
    going_rows: NDArray[np.int64]
    slots: NDArray[np.int64]
    signs: NDArray[np.int8]


class Versions(NamedTuple):
    """Versions in the order of their instants, and the events of each."""

    slots: NDArray[np.int64]
    times: NDArray[np.int64]
    previous: NDArray[np.int64]
    first_event: NDArray[np.int64]
    event_rows: NDArray[np.int64]
    event_signs: NDArray[np.int8]


class VersionChanges(NamedTuple):
    """Rows of a changelog: which version each shows, when, and whether it comes or goes."""

    versions: NDArray[np.int64]
    times: NDArray[np.int64]
    signs: NDArray[np.int8]


@kernel
def versions_of(events: Events, latest: NDArray[np.int64]) -> Versions:
    """The versions that the events make.

    `latest` is to work in: OPENING for every slot there is, and left so. To make it anew for a few
    events of many slots would cost more than the events do.
    """
    coming, going = len(events.coming_times), len(events.going_times)
    total = coming + going
    room = total + min(total, len(latest))
    slots = np.empty(room, np.int64)
    times = np.empty(room, np.int64)
    previous = np.empty(room, np.int64)
    first_event = np.zeros(room + 1, np.int64)
    event_version = np.empty(total, np.int64)
    rows = np.empty(total, np.int64)

    count = 0
    i = j = 0
    for event in range(total):
        if j == going or (i < coming and events.coming_times[i] <= events.going_times[j]):
            time, row = events.coming_times[i], i
            i += 1
            if i + AHEAD < coming:
                fetch_item(latest, events.slots[i + AHEAD])
        else:
            # -row - 1 marks a row that leaves.
            time, row = events.going_times[j], -events.going_rows[j] - 1
            j += 1
            if j + AHEAD < going:
                fetch_item(latest, events.slots[events.going_rows[j + AHEAD]])
        slot = events.slots[row if row >= 0 else -row - 1]
        version = latest[slot]
        if version == OPENING:
            slots[count], times[count], previous[count] = slot, time, OPENING
            version = count
            count += 1
        if previous[version] == OPENING or times[version] != time:
            slots[count], times[count], previous[count] = slot, time, version
            version = count
            count += 1
        latest[slot] = version
        event_version[event] = version
        rows[event] = row
        first_event[version + 1] += 1

    for version in range(count):
        first_event[version + 1] += first_event[version]
        latest[slots[version]] = OPENING
    event_rows = np.empty(total, np.int64)
    event_signs = np.empty(total, np.int8)
    filled = first_event[:count].copy()
    for event in range(total):
        place = filled[event_version[event]]
        filled[event_version[event]] += 1
        row = rows[event]
        if row >= 0:
            event_rows[place], event_signs[place] = row, events.signs[row]
        else:
            event_rows[place], event_signs[place] = -row - 1, -events.signs[-row - 1]
    return Versions(
        slots[:count].copy(),
        times[:count].copy(),
        previous[:count].copy(),
        first_event[: count + 1].copy(),
        event_rows,
        event_signs,
    )


@kernel
def mark_changed(
    words: NDArray[np.int64] | NDArray[np.bool_],
    previous: NDArray[np.int64],
    changed: NDArray[np.bool_],
) -> None:
    """Marks every version whose word differs from that of its previous version."""
    for version in range(len(previous)):
        before = previous[version]
        if before != OPENING and words[version] != words[before]:
            changed[version] = True


@kernel
def changes_of(
    versions: Versions, exists: NDArray[np.bool_], changed: NDArray[np.bool_]
) -> VersionChanges:
    """The changelog: instants ascend; within one, what goes comes before what comes.

    A version that exists and differs from its previous one is inserted; the previous one, where it
    exists, is deleted. `changed` says which versions differ in a value.
    """
    count = len(versions.slots)
    shown = np.empty(2 * count, np.int64)
    times = np.empty(2 * count, np.int64)
    signs = np.empty(2 * count, np.int8)
    out = 0
    start = 0
    while start < count:
        time = versions.times[start]
        stop = start
        while stop < count and versions.times[stop] == time:
            before = versions.previous[stop]
            if before != OPENING and exists[before] and (changed[stop] or not exists[stop]):
                shown[out], times[out], signs[out] = before, time, -1
                out += 1
            stop += 1
        for version in range(start, stop):
            before = versions.previous[version]
            if before != OPENING and exists[version] and (changed[version] or not exists[before]):
                shown[out], times[out], signs[out] = version, time, 1
                out += 1
        start = stop
    return VersionChanges(shown[:out].copy(), times[:out].copy(), signs[:out].copy())
