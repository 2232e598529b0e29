"""The buffers of a pipeline's levels: slots, linked into lists in order of arrival.

One list, or one per bucket:

    heads   [ s0 | s4 | NONE ]        s0 -> s2 -> s7 -> NONE          tails [ s7 | s4 | NONE ]
    free      s5 -> s1 -> NONE        slots that tuples left, the first to be left taken first

What a loop over tuples calls takes arrays, not tuples of arrays: to hand on a tuple means to copy it
and to count a reference per array, which costs more than what the loops do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel, kernel_part
from windrow.kernels.tuple_at_a_time.tape import Numbers

NONE = -1

Words = NDArray[np.uint64]


class Store(NamedTuple):
    """The buffer of one side of a level.

    Attributes:
        places: as in `Entries`, a line per slot.
        times: likewise.
        words: likewise.
        low: the first tick of an m-tuple's period; of a right tuple, its own time.
        high: the last tick of the period; of a right tuple, its own time.
        links: the slot that follows in its list.
        heads: the first slot of each list.
        tails: the last slot of each list.
        free: the first free slot, the last, and how many slots are taken.
    """

    places: Numbers
    times: Numbers
    words: Words
    low: Numbers
    high: Numbers
    links: Numbers
    heads: Numbers
    tails: Numbers
    free: Numbers


FIRST_FREE, LAST_FREE, HELD = range(3)


@kernel_part
def append(links: Numbers, heads: Numbers, tails: Numbers, bucket: int, slot: int) -> None:
    """Adds a slot to the end of a list."""
    links[slot] = NONE
    if heads[bucket] == NONE:
        heads[bucket] = slot
    else:
        links[tails[bucket]] = slot
    tails[bucket] = slot


@kernel_part
def remove(
    links: Numbers, heads: Numbers, tails: Numbers, free: Numbers, bucket: int, before: int, slot: int
) -> None:  # fmt: skip
    """Takes a tuple out of its list; `before` is the one in front of it, or NONE."""
    if before == NONE:
        heads[bucket] = links[slot]
    else:
        links[before] = links[slot]
    if tails[bucket] == slot:
        tails[bucket] = before
    links[slot] = NONE
    if free[FIRST_FREE] == NONE:
        free[FIRST_FREE] = slot
    else:
        links[free[LAST_FREE]] = slot
    free[LAST_FREE] = slot
    free[HELD] -= 1


@kernel_part
def bucket_of(words: Words, n: int, shared: NDArray[np.bool_], buckets: int) -> int:
    """The list of a tuple: by its words in the shared key classes."""
    mixed = np.uint64(0)
    for key in range(len(shared)):
        if shared[key]:
            # Words are spread over all bits already; the odd factor tells (x, y) from (y, x).
            mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + words[n, key]
    return int(mixed & np.uint64(buckets - 1))


@kernel
def in_list_order(store: Store) -> Numbers:
    """The slots that are taken, list after list."""
    slots = np.empty(store.free[HELD], np.int64)
    filled = 0
    for bucket in range(len(store.heads)):
        at = store.heads[bucket]
        while at != NONE:
            slots[filled] = at
            filled += 1
            at = store.links[at]
    return slots


@kernel
def relink(store: Store, shared: NDArray[np.bool_], held: int) -> None:
    """Links the first `held` slots into lists, in their order, and the others as free ones."""
    for bucket in range(len(store.heads)):
        store.heads[bucket] = store.tails[bucket] = NONE
    for slot in range(held):
        bucket = bucket_of(store.words, slot, shared, len(store.heads))
        append(store.links, store.heads, store.tails, bucket, slot)
    room = len(store.links)
    for slot in range(held, room):
        store.links[slot] = slot + 1 if slot + 1 < room else NONE
    store.free[FIRST_FREE] = held if held < room else NONE
    store.free[LAST_FREE] = room - 1 if held < room else NONE
    store.free[HELD] = held
