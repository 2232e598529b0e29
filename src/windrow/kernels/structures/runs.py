"""Structures run on their own: filled, only searched, only updated; for tests and measuring.

store = filled_store(T_TREE, size=100, keys=window_keys)
found = search_only(store, lows, highs)          probes, nothing changes
store = update_only(store, keys)                 each key comes, and the oldest goes
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel
from windrow.kernels.structures.buckets import (
    AHEAD,
    is_far,
    read_buckets,
    read_free,
    read_head,
    read_oldest_heads,
    read_oldest_slots,
)
from windrow.kernels.structures.room import empty_store, grown, with_newest
from windrow.kernels.structures.store import (
    COMPARED,
    HELD,
    MOVED,
    NONE,
    Numbers,
    Store,
    has_room,
)
from windrow.kernels.structures.window import entry_at, expire, first, following, insert

WORK = slice(COMPARED, MOVED + 1)


def filled_store(kind: int, size: int, keys: Numbers) -> Store:
    """A structure that holds entries 0, 1, 2 and so on, with some keys; its work counted as none.

    There is room for one more, so that it can slide.
    """
    store = with_newest(empty_store(kind, size, len(keys) + 1), keys, 0)
    store.numbers[WORK] = 0
    return store


def update_only(store: Store, keys: Numbers) -> Store:
    """Inserts keys one by one, the oldest going each time; entries count on from those held."""
    done = _slide(store, keys, 0)
    while done < len(keys):
        store = grown(store)
        done = _slide(store, keys, done)
    return store


@lean_kernel
def search_only(store: Store, lows: Numbers, highs: Numbers) -> int:
    """Probes by ranges one after the other; gives how many entries they found."""
    found, total = 0, 0
    for n in range(len(lows)):
        if n % AHEAD == 0 and is_far(store):
            read_buckets(store, lows, n)
        at = first(store, lows[n], highs[n])
        while at != NONE:
            found += 1
            total += entry_at(store, at)  # as a join would read it
            at = following(store, at, lows[n], highs[n])
    return found if total >= 0 else NONE


def work_of(store: Store) -> tuple[int, int, int]:
    """Keys compared, entries touched and entries moved so far."""
    compared, touched, moved = store.numbers[WORK]
    return int(compared), int(touched), int(moved)


@lean_kernel
def _slide(store: Store, keys: Numbers, start: int) -> int:
    for n in range(start, len(keys)):
        if not has_room(store):
            return n
        if n % AHEAD == 0 and is_far(store):
            stop = min(n + AHEAD, len(keys))
            read_oldest_heads(store, stop - n)
            for coming in range(n, stop):
                read_head(store, keys[coming])
            read_oldest_slots(store, stop - n)
            for coming in range(n, stop):
                read_free(store, keys[coming])
        oldest = expire(store)
        insert(store, keys[n], oldest + store.numbers[HELD] + 1)
    return len(keys)
