"""Structures without an entry, with many more, and with more room: the arrays are made here.

Rows of `nodes` that are not in use are chained, and used again first: a window that slides for ever
takes no more memory.
"""

from __future__ import annotations

import math

import numpy as np

from windrow.kernels.jit import lean_kernel
from windrow.kernels.structures.buckets import LINK, LOW, SPAN, rebucket
from windrow.kernels.structures.store import (
    BPLUS_TREE,
    BUCKETS,
    BUFFER,
    ENTRY,
    FIRST,
    FREE,
    FREE_NODES,
    HASH,
    HEIGHT,
    HELD,
    KIND,
    LEVELS,
    MOVED,
    NEXT,
    NONE,
    ROOT,
    SIZE,
    T_TREE,
    Numbers,
    Store,
    has_nodes,
    has_room,
    take_node,
)
from windrow.kernels.structures.window import insert

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


def with_newest(store: Store, keys: Numbers, entry: int) -> Store:
    """The structure with keys added, whose entries are numbered from one on."""
    done = _insert_some(store, keys, entry, 0)
    while done < len(keys):
        store = grown(store)
        done = _insert_some(store, keys, entry, done)
    return store


@lean_kernel
def _insert_some(store: Store, keys: Numbers, entry: int, start: int) -> int:
    """Inserts keys while there is room; gives how many are in."""
    for n in range(start, len(keys)):
        if not has_room(store):
            return n
        insert(store, keys[n], entry + n)
    return len(keys)


def _more(nodes: int) -> int:
    return nodes + nodes // 2 + _LEAST_NODES


def _with_buckets(old: Store, queue: Numbers | None = None) -> Store:
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
