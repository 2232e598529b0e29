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

Structures without an entry, with many more, and with more room are made here, arrays and all.
Rows of `nodes` that are not in use are chained, and used again first: a window that slides for ever
takes no more memory.

For tests and measuring they run on their own: filled, only searched, only updated.

    store = filled_store(T_TREE, size=100, keys=window_keys)
    found = search_only(store, lows, highs)          probes, nothing changes
    store = update_only(store, keys)                 each key comes, and the oldest goes
"""

from __future__ import annotations

import math

import numpy as np

from windrow.kernels.jit import lean_kernel, lean_kernel_part
from windrow.kernels.structures.bplus_tree import bplus_find, bplus_insert, bplus_remove
from windrow.kernels.structures.buckets import (
    AHEAD,
    LINK,
    LOW,
    SPAN,
    bucket_entry,
    bucket_first,
    bucket_following,
    bucket_insert,
    bucket_remove,
    is_far,
    read_buckets,
    read_free,
    read_head,
    read_oldest_heads,
    read_oldest_slots,
    rebucket,
)
from windrow.kernels.structures.store import (
    BPLUS_TREE,
    BUCKETS,
    BUFFER,
    COMPARED,
    ENTRY,
    FIRST,
    FREE,
    FREE_NODES,
    HASH,
    HEIGHT,
    HELD,
    KEY,
    KIND,
    LEVELS,
    MOVED,
    NEXT,
    NONE,
    ROOT,
    SIZE,
    T_TREE,
    TOUCHED,
    Int64s,
    Store,
    dequeue,
    enqueue,
    has_nodes,
    has_room,
    queue_place,
    take_node,
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
    if kind == BUFFER:
        return int(store.queue[at, ENTRY])
    if kind == HASH:  # the oldest of all is the oldest of its bucket
        return bucket_remove(store, key)
    slot = _place_from(store, key)
    entry = store.slots[slot, ENTRY]
    if kind == T_TREE:
        t_tree_remove(store, slot)
    else:
        bplus_remove(store, slot)
    return int(entry)


@lean_kernel_part
def _place_from(store: Store, key: int) -> int:
    """The first place of a tree whose key is at or above a key, or NONE."""
    if store.numbers[KIND] == T_TREE:
        return t_tree_find(store, key)
    return bplus_find(store, key)


@lean_kernel
def first(store: Store, low: int, high: int) -> int:
    """The first place of a probe, or NONE."""
    kind = store.numbers[KIND]
    if low > high or store.numbers[HELD] == 0:
        return NONE
    if kind == BUFFER:
        return _in_queue(store, 0, low, high)
    if kind == HASH:
        return bucket_first(store, low, high)
    return up_to(store, _place_from(store, low), high)


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


_QUEUE_WIDTHS = {BUFFER: 2, HASH: 1, BPLUS_TREE: 1, T_TREE: 1}
_OCCUPANCY = {BPLUS_TREE: 0.6, T_TREE: 0.65}
"""How full nodes are, or fuller, while a window of random keys slides."""

_MORE_SLOTS = 0.5
"""Slots of a block beyond those that its bucket is made for. Of buckets of 10 one in 20 needs more;
a block of theirs is 240 bytes, about four lines of memory."""

_BEHIND = 0.1
"""Blocks behind those of the buckets, per bucket, that a window of random keys needs, or fewer."""

_LEAST_ROOM = 16
_LEAST_NODES = 4
LEAST_SIZES = {BUFFER: 1, HASH: 1, BPLUS_TREE: 3, T_TREE: 1}
"""A node of a B+tree has two parts at least, each half full or more."""


def empty_store(kind: int, size: int, room: int = _LEAST_ROOM) -> Store:
    """A structure without an entry.

    Args:
        kind: BUFFER, HASH, BPLUS_TREE or T_TREE.
        size: tuples per bucket (a hash), or most entries of a node (a tree).
        room: entries that it is to hold before it must grow.
    """
    if not LEAST_SIZES[kind] <= size <= LOW:
        raise ValueError(f"a structure of kind {kind} has sizes from {LEAST_SIZES[kind]} to {LOW}")
    room = max(1, room)
    numbers = np.zeros(MOVED + 1, np.int64)
    numbers[[KIND, SIZE, ROOT, FREE]] = kind, size, NONE, NONE
    of_block = 2 * (size + math.ceil(size * _MORE_SLOTS))
    store = Store(
        numbers,
        np.empty((room, _QUEUE_WIDTHS[kind]), np.int64),
        np.empty((0, of_block if kind == HASH else ENTRY + 1), np.int64),
        np.empty((0, LINK + 1 if kind == HASH else HEIGHT + 1), np.int64),
    )
    if kind == HASH:
        return _with_buckets(store)
    if kind in _OCCUPANCY:
        store = _with_nodes(store, _LEAST_NODES + math.ceil(room / (size * _OCCUPANCY[kind])))
    if kind == BPLUS_TREE:
        numbers[ROOT] = take_node(store)
        numbers[LEVELS] = 1
    return store


def grown(store: Store) -> Store:
    """The structure with more room in what is short of it: twice the queue, half as many nodes more.

    The one given is left as it was; from now on only the new one may change.
    """
    store = store._replace(numbers=store.numbers.copy())
    kind = int(store.numbers[KIND])
    if store.numbers[HELD] == len(store.queue):
        queue = np.empty((2 * len(store.queue), store.queue.shape[1]), np.int64)
        queue[: len(store.queue)] = np.roll(store.queue, -store.numbers[FIRST], axis=0)
        store.numbers[FIRST] = 0
        if kind == HASH:
            return _with_buckets(store, queue)
        store = store._replace(queue=queue)
    if kind != BUFFER and not has_nodes(store):
        store = _with_nodes(store, _more(len(store.nodes)))
    return store


def with_newest(store: Store, keys: Int64s, entry: int) -> Store:
    """The structure with keys added, whose entries are numbered from one on."""
    done = _insert_some(store, keys, entry, 0)
    while done < len(keys):
        store = grown(store)
        done = _insert_some(store, keys, entry, done)
    return store


@lean_kernel
def _insert_some(store: Store, keys: Int64s, entry: int, start: int) -> int:
    """Inserts keys while there is room; gives how many are in."""
    for n in range(start, len(keys)):
        if not has_room(store):
            return n
        insert(store, keys[n], entry + n)
    return len(keys)


def _more(nodes: int) -> int:
    return nodes + nodes // 2 + _LEAST_NODES


def _with_buckets(old: Store, queue: Int64s | None = None) -> Store:
    """The hash with as many buckets as its queue has room for, that of now or a longer one."""
    numbers, queue_of_new = old.numbers.copy(), old.queue if queue is None else queue
    new = Store(numbers, queue_of_new, old.slots[:0], old.nodes[:0])
    buckets = -(-len(new.queue) // int(numbers[SIZE]))
    numbers[[BUCKETS, FREE, FREE_NODES]] = buckets, NONE, 0
    new = _with_nodes(new, buckets + _LEAST_NODES + math.ceil(buckets * _BEHIND))
    # The first are the buckets' own, the rest lie behind them when needed.
    new.nodes[:buckets, SPAN] = 0
    new.nodes[:buckets, LINK] = NONE
    numbers[FREE] = buckets
    numbers[FREE_NODES] -= buckets
    if queue is None:
        return new
    rest = Store(old.numbers.copy(), old.queue, old.slots.copy(), old.nodes.copy())
    done = rebucket(rest, new, 0)
    while done < len(old.queue):
        new = _with_nodes(new, _more(len(new.nodes)))
        done = rebucket(rest, new, done)
    return new


def _with_nodes(store: Store, count: int) -> Store:
    """The structure with so many nodes or blocks, the new ones free."""
    before, size = len(store.nodes), int(store.numbers[SIZE])
    is_hash = store.numbers[KIND] == HASH
    nodes = np.full((count, store.nodes.shape[1]), NONE, np.int64)
    nodes[:before] = store.nodes
    # Free nodes are taken from the front, so that those in use lie together.
    chained = LINK if is_hash else NEXT
    nodes[before:, chained] = np.arange(before + 1, count + 1)
    nodes[-1, chained] = store.numbers[FREE]
    store.numbers[FREE] = before
    store.numbers[FREE_NODES] += count - before
    lines = 1 if is_hash else size
    slots = np.empty((count * lines, store.slots.shape[1]), np.int64)
    slots[: before * lines] = store.slots
    return store._replace(nodes=nodes, slots=slots)


WORK = slice(COMPARED, MOVED + 1)


def filled_store(kind: int, size: int, keys: Int64s) -> Store:
    """A structure that holds entries 0, 1, 2 and so on, with some keys; its work counted as none.

    There is room for one more, so that it can slide.
    """
    store = with_newest(empty_store(kind, size, len(keys) + 1), keys, 0)
    store.numbers[WORK] = 0
    return store


def update_only(store: Store, keys: Int64s) -> Store:
    """Inserts keys one by one, the oldest going each time; entries count on from those held."""
    done = _slide(store, keys, 0)
    while done < len(keys):
        store = grown(store)
        done = _slide(store, keys, done)
    return store


@lean_kernel
def search_only(store: Store, lows: Int64s, highs: Int64s) -> int:
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
def _slide(store: Store, keys: Int64s, start: int) -> int:
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
