"""What every window structure does, whichever it is: insert, probe, expire.

    insert(store, key, entry)       the newest; the store must have room (`has_room`, `grown`)
    expire(store)                   the oldest goes
    first(store, low, high)         a probe by a range of keys, both ends included, or by one key
    following(store, at, low, high)
    entry_at(store, at)

A probe goes from place to place, until there is NONE; it ends with any change. What it costs:

              by one key               by a range               insert, expire
    buffer    all entries              all entries              one
    hash      one bucket               all entries              one
    B+tree    a search, then those     a search, then those     a search, and a node's shift
    T-tree    that are found           that are found           likewise

A buffer and a hash give the entries of a probe by one key in order of arrival; so do the trees.
By a range the trees give them in the order of keys.
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel, lean_kernel_part
from windrow.kernels.structures.bplus_tree import bplus_find, bplus_insert, bplus_remove
from windrow.kernels.structures.buckets import (
    bucket_entry,
    bucket_first,
    bucket_following,
    bucket_insert,
    bucket_remove,
)
from windrow.kernels.structures.store import (
    BPLUS_TREE,
    BUFFER,
    ENTRY,
    FIRST,
    HASH,
    HELD,
    KEY,
    KIND,
    NONE,
    T_TREE,
    TOUCHED,
    Store,
    dequeue,
    enqueue,
    queue_place,
)
from windrow.kernels.structures.t_tree import t_tree_find, t_tree_insert, t_tree_remove
from windrow.kernels.structures.tree_nodes import slot_after, up_to


@lean_kernel_part
def insert(store: Store, key: int, entry: int) -> None:
    """Adds an entry, the newest."""
    kind = store.numbers[KIND]
    at = enqueue(store, key)
    if kind == T_TREE:
        t_tree_insert(store, key, entry)
    elif kind == BPLUS_TREE:
        bplus_insert(store, key, entry)
    elif kind == HASH:
        bucket_insert(store, key, entry)
    else:
        store.queue[at, ENTRY] = entry


@lean_kernel
def expire(store: Store) -> int:
    """Takes the oldest entry out, and gives it; there must be one."""
    kind = store.numbers[KIND]
    at = dequeue(store)
    key = store.queue[at, KEY]
    if kind == T_TREE:
        slot = t_tree_find(store, key)
        entry = store.slots[slot, ENTRY]
        t_tree_remove(store, slot)
        return int(entry)
    if kind == BPLUS_TREE:
        slot = bplus_find(store, key)
        entry = store.slots[slot, ENTRY]
        bplus_remove(store, slot)
        return int(entry)
    if kind == HASH:  # the oldest of all is the oldest of its bucket
        return bucket_remove(store, key)
    return int(store.queue[at, ENTRY])


@lean_kernel
def first(store: Store, low: int, high: int) -> int:
    """The first place of a probe, or NONE."""
    kind = store.numbers[KIND]
    if low > high or store.numbers[HELD] == 0:
        return NONE
    if kind == T_TREE:
        return up_to(store, t_tree_find(store, low), high)
    if kind == BPLUS_TREE:
        return up_to(store, bplus_find(store, low), high)
    if kind == HASH:
        return bucket_first(store, low, high)
    return _in_queue(store, 0, low, high)


@lean_kernel_part
def following(store: Store, at: int, low: int, high: int) -> int:
    """The place after one of the same probe, or NONE."""
    kind = store.numbers[KIND]
    if kind >= BPLUS_TREE:
        return up_to(store, slot_after(store, at), high)
    if kind == HASH:
        return bucket_following(store, at, low, high)
    n = at - store.numbers[FIRST]
    if n < 0:
        n += len(store.queue)
    return _in_queue(store, n + 1, low, high)


@lean_kernel_part
def entry_at(store: Store, at: int) -> int:
    """The entry at a place."""
    kind = store.numbers[KIND]
    if kind >= BPLUS_TREE:
        return int(store.slots[at, ENTRY])
    return bucket_entry(store, at) if kind == HASH else int(store.queue[at, ENTRY])


@lean_kernel_part
def _in_queue(store: Store, n: int, low: int, high: int) -> int:
    """The first place with a key in a range, from the n-th oldest on; or NONE."""
    queue, held, touched = store.queue, store.numbers[HELD], 0
    found = NONE
    at = queue_place(store, n)
    while n < held:
        touched += 1
        if low <= queue[at, KEY] <= high:
            found = at
            break
        n += 1
        at = 0 if at + 1 == len(queue) else at + 1
    store.numbers[TOUCHED] += touched
    return found


STRUCTURES = {"buffer": BUFFER, "hash": HASH, "btree": BPLUS_TREE, "ttree": T_TREE}
"""The kinds by the names that users know."""
