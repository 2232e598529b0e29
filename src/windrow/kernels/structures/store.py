"""The arrays of a window structure, and the queue that all of them have.

An *entry* is a number of the caller's, a tuple's position say. Entries come in order of arrival,
each with a *key*: an ordered 64-bit word. Every structure keeps the keys as they came, in a ring:

    queue   [ newest | free ..... | oldest | ........ ]       first: where the oldest is
               key    (trees)                                 held: how many there are
               key, entry    (buffer)
               key, entry, following in its bucket    (hash)

The trees keep their entries in nodes of `size` slots each, a slot being a key and an entry. Of
equal keys the older comes first; the oldest entry is therefore the first one with its key, and
a tree finds it by the key alone. Nodes that are given up are chained, and used again first: a
window that slides for ever takes no more memory.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels._jit import lean_kernel, lean_kernel_part

Numbers = NDArray[np.int64]

BUFFER, HASH, BPLUS_TREE, T_TREE = range(4)

NONE = -1

KIND, SIZE, HELD, FIRST, ROOT, LEVELS, FREE, FREE_NODES = range(8)
"""Of the numbers of a store.

KIND        BUFFER, HASH, BPLUS_TREE or T_TREE
SIZE        tuples per bucket, or most entries of a node
HELD        entries in the window
FIRST       where in the queue the oldest is
ROOT        a tree's root, or NONE
LEVELS      of a B+tree: 1 where the root is a leaf; else 0
FREE        the first free node, or NONE
FREE_NODES  how many are free
"""

COMPARED, TOUCHED, MOVED = 8, 9, 10
"""The work done, among the numbers too.

COMPARED    keys that a search for a place compared
TOUCHED     entries that a probe looked at
MOVED       entries put somewhere: into the queue and out of it, or to make or close a gap
"""

KEY, ENTRY, FOLLOWING = range(3)
"""The columns of the queue; of a slot the first two. In an inner node ENTRY is a child."""

COUNT, PARENT, NEXT, PREVIOUS, LEFT, RIGHT, HEIGHT = range(7)
"""The columns of a node: its entries, its place in the order of nodes, and in the tree."""

HEAD, TAIL = range(2)
"""The columns of a bucket: its oldest and newest, as places in the queue."""

_QUEUE_WIDTHS = {BUFFER: 2, HASH: 3, BPLUS_TREE: 1, T_TREE: 1}
_OCCUPANCY = {BPLUS_TREE: 0.6, T_TREE: 0.65}
"""How full nodes are, or fuller, while a window of random keys slides."""

_TREES = tuple(_OCCUPANCY)
_LEAST_ROOM = 16
_LEAST_NODES = 4
LEAST_SIZES = {BUFFER: 1, HASH: 1, BPLUS_TREE: 3, T_TREE: 1}
"""A node of a B+tree has two parts at least, each half full or more."""


class Store(NamedTuple):
    """A window structure.

    Attributes:
        numbers: as listed above.
        queue: the ring.
        slots: of trees, node after node, `size` lines each.
        nodes: of trees, a line per node; of a hash, a line per bucket.
    """

    numbers: Numbers
    queue: Numbers
    slots: Numbers
    nodes: Numbers


def empty_store(kind: int, size: int, room: int = _LEAST_ROOM) -> Store:
    """A structure without an entry.

    Args:
        kind: BUFFER, HASH, BPLUS_TREE or T_TREE.
        size: tuples per bucket (a hash), or most entries of a node (a tree).
        room: entries that it is to hold before it must grow.
    """
    if size < LEAST_SIZES[kind]:
        raise ValueError(f"a structure of kind {kind} has sizes from {LEAST_SIZES[kind]} on")
    room = max(1, room)
    numbers = np.zeros(MOVED + 1, np.int64)
    numbers[[KIND, SIZE, ROOT, FREE]] = kind, size, NONE, NONE
    nodes = np.empty((0, HEIGHT + 1), np.int64)
    if kind == HASH:
        nodes = np.full((-(-room // size), TAIL + 1), NONE, np.int64)
    store = Store(
        numbers,
        np.empty((room, _QUEUE_WIDTHS[kind]), np.int64),
        np.empty((0, ENTRY + 1), np.int64),
        nodes,
    )
    if kind in _TREES:
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
    kind, size = int(store.numbers[KIND]), int(store.numbers[SIZE])
    if store.numbers[HELD] == len(store.queue):
        queue = np.empty((2 * len(store.queue), store.queue.shape[1]), np.int64)
        queue[: len(store.queue)] = np.roll(store.queue, -store.numbers[FIRST], axis=0)
        store.numbers[FIRST] = 0
        store = store._replace(queue=queue)
        if kind == HASH:
            buckets = np.full((-(-len(queue) // size), TAIL + 1), NONE, np.int64)
            store = store._replace(nodes=buckets)
            link_all(store)
    if kind in _TREES and not has_nodes(store):
        store = _with_nodes(store, len(store.nodes) + len(store.nodes) // 2 + _LEAST_NODES)
    return store


def nbytes(store: Store) -> int:
    """Bytes of all arrays, free room included."""
    return sum(array.nbytes for array in store)


def _with_nodes(store: Store, count: int) -> Store:
    """The tree with so many nodes, the new ones free."""
    before, size = len(store.nodes), int(store.numbers[SIZE])
    nodes = np.full((count, HEIGHT + 1), NONE, np.int64)
    nodes[:before] = store.nodes
    slots = np.empty((count * size, ENTRY + 1), np.int64)
    slots[: before * size] = store.slots
    # Free nodes are taken from the front, so that those in use lie together.
    nodes[before:, NEXT] = np.arange(before + 1, count + 1)
    nodes[-1, NEXT] = store.numbers[FREE]
    store.numbers[FREE] = before
    store.numbers[FREE_NODES] += count - before
    return store._replace(nodes=nodes, slots=slots)


@lean_kernel_part
def has_nodes(store: Store) -> bool:
    """Whether one more entry finds nodes: a B+tree may split every level, and get another."""
    return bool(store.numbers[FREE_NODES] >= store.numbers[LEVELS] + 2)


@lean_kernel_part
def has_room(store: Store) -> bool:
    """Whether one more entry fits; if not, the store must be `grown` first."""
    numbers = store.numbers
    if numbers[HELD] == len(store.queue):
        return False
    return numbers[KIND] < BPLUS_TREE or has_nodes(store)


@lean_kernel_part
def queue_place(store: Store, n: int) -> int:
    """Where in the queue the entry is that n others are older than."""
    at = int(store.numbers[FIRST]) + n
    room = len(store.queue)
    return at - room if at >= room else at


@lean_kernel_part
def enqueue(store: Store, key: int) -> int:
    """Adds a key at the end of the queue; gives its place."""
    at = queue_place(store, store.numbers[HELD])
    store.queue[at, KEY] = key
    store.numbers[HELD] += 1
    store.numbers[MOVED] += 1
    return at


@lean_kernel_part
def dequeue(store: Store) -> int:
    """Takes the oldest out of the queue; gives the place that it had."""
    numbers = store.numbers
    at = int(numbers[FIRST])
    numbers[FIRST] = 0 if at + 1 == len(store.queue) else at + 1
    numbers[HELD] -= 1
    numbers[MOVED] += 1
    return at


@lean_kernel
def take_node(store: Store) -> int:
    """A free node, now in use and empty; there must be one."""
    nodes, numbers = store.nodes, store.numbers
    node = numbers[FREE]
    numbers[FREE] = nodes[node, NEXT]
    numbers[FREE_NODES] -= 1
    nodes[node, COUNT] = 0
    nodes[node, PARENT] = NONE
    nodes[node, NEXT] = NONE
    nodes[node, PREVIOUS] = NONE
    nodes[node, LEFT] = NONE
    nodes[node, RIGHT] = NONE
    nodes[node, HEIGHT] = 1
    return int(node)


@lean_kernel
def give_up(store: Store, node: int) -> None:
    """Makes a node free."""
    nodes, numbers = store.nodes, store.numbers
    nodes[node, COUNT] = NONE
    nodes[node, NEXT] = numbers[FREE]
    numbers[FREE] = node
    numbers[FREE_NODES] += 1


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Spreads keys over a word's upper half."""


@lean_kernel_part
def bucket_of(store: Store, key: int) -> int:
    """The bucket of a key: its spread upper half, scaled to the number of buckets."""
    spread = (np.uint64(key) * _GOLDEN) >> np.uint64(32)
    return int(np.int64((spread * np.uint64(len(store.nodes))) >> np.uint64(32)))


@lean_kernel_part
def link(store: Store, at: int) -> None:
    """Adds a place of the queue at the end of its bucket."""
    queue, buckets = store.queue, store.nodes
    bucket = bucket_of(store, queue[at, KEY])
    tail = buckets[bucket, TAIL]
    queue[at, FOLLOWING] = NONE
    buckets[bucket, TAIL] = at
    if tail == NONE:
        buckets[bucket, HEAD] = at
    else:
        queue[tail, FOLLOWING] = at


@lean_kernel
def link_all(store: Store) -> None:
    """Adds all places of the queue to their buckets, which are empty."""
    for n in range(store.numbers[HELD]):
        link(store, queue_place(store, n))
