"""A structure that holds a random sample of a window, whose members may leave out of turn.

A structure lets go of its oldest entry alone. Of a sample any entry may be gone, and is then only
marked: its place is below 0. Entries are numbered on and on, in the order in which they came:

    entries of the structure   [ first ............................ newest ]
    times, places                12   14   14   20   23 ..
                                       -1             -1                       gone, and skipped

What is gone at the front leaves the structure; what is gone behind it waits, until its owner has
the structure built anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.bew_period import AT, FILLED, LOOKUPS, PROBE, TOUCHED, FoundMatches, Progress
from windrow.kernels.jit import kernel, lean_kernel
from windrow.kernels.structures.buckets import AHEAD, is_far, read_buckets
from windrow.kernels.structures.store import FIRST, HELD, KEY, NONE, Int64s, Store
from windrow.kernels.structures.store import TOUCHED as TOUCHED_BY_STORE
from windrow.kernels.structures.window import entry_at, expire, first, following


class Entries(NamedTuple):
    """What is known of the entries of a structure, the oldest first.

    Attributes:
        first: the number of the oldest.
        times: event times.
        places: where their rows are; below 0 for those that are gone.
    """

    first: int
    times: Int64s
    places: Int64s


class ProbeRanges(NamedTuple):
    """What each probe asks for: a range of keys and a period, all ends included."""

    low_keys: Int64s
    high_keys: Int64s
    low: Int64s
    high: Int64s


@kernel
def still_there(
    times: Int64s,
    draws: NDArray[np.float64],
    now_times: Int64s,
    now_draws: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Which entries are still in a window, of which some have gone and some have come at the end.

    Two with one time and one draw come and go together, so that it does not matter which is taken
    for which.
    """
    found = np.zeros(len(times), np.bool_)
    now = 0
    for n in range(len(times)):
        if now == len(now_times):
            break
        if times[n] == now_times[now] and draws[n] == now_draws[now]:
            found[n] = True
            now += 1
    return found


@lean_kernel
def expire_some(store: Store, count: int) -> None:
    """Takes so many of the oldest entries out."""
    for _ in range(count):
        expire(store)


def keys_held(store: Store) -> Int64s:
    """The keys of all entries, the oldest first."""
    places = store.numbers[FIRST] + np.arange(store.numbers[HELD])
    keys: Int64s = store.queue[places % len(store.queue), KEY]
    return keys


@lean_kernel
def probe_sample(
    store: Store, entries: Entries, asked: ProbeRanges, found: FoundMatches, progress: Progress
) -> None:
    """Adds to `found` every entry that a probe asks for and that is not gone.

    Args:
        store: the structure.
        entries: its entries.
        asked: what is looked for.
        found: room for matches: which probe, where the row is, and its time.
        progress: where to go on (`bew_period`); AT is a place of the structure.
    """
    n, at, filled = progress[PROBE], progress[AT], progress[FILLED]
    before, lookups, room = store.numbers[TOUCHED_BY_STORE], 0, len(found.rows)
    is_full = False
    while n < len(asked.low):
        low_key, high_key, low, high = (
            asked.low_keys[n], asked.high_keys[n], asked.low[n], asked.high[n],
        )  # fmt: skip
        if at == NONE:
            if n % AHEAD == 0 and is_far(store):
                read_buckets(store, asked.low_keys, n)
            lookups += 1
            at = first(store, low_key, high_key) if low <= high else NONE
        while at != NONE:
            if filled == room:
                is_full = True
                break
            entry = entry_at(store, at) - entries.first
            time, place = entries.times[entry], entries.places[entry]
            if place >= 0 and low <= time <= high:
                found.probes[filled], found.rows[filled], found.times[filled] = n, place, time
                filled += 1
            at = following(store, at, low_key, high_key)
        if is_full:
            break
        n += 1
    progress[PROBE], progress[AT], progress[FILLED] = n, at, filled
    progress[LOOKUPS] += lookups
    progress[TOUCHED] += store.numbers[TOUCHED_BY_STORE] - before
