"""The arrays of a window structure, and the queue that all of them have.

An *entry* is a number of the caller's, a tuple's position say. Entries come in order of arrival,
each with a *key*: an ordered 64-bit word. Every structure keeps the keys as they came, in a ring:

    queue   [ newest | free ..... | oldest | ........ ]       first: where the oldest is
               key    (hash, trees)                           held: how many there are
               key, entry    (buffer)

A hash keeps its entries in blocks (`buckets`): the oldest entry is the oldest of its bucket. The
trees keep their entries in nodes of `size` slots each, a slot being a key and an entry. Of equal
keys the older comes first; the oldest entry is therefore the first one with its key, and a tree
finds it by the key alone. `room` makes the arrays, and larger ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import lean_kernel, lean_kernel_part

Int64s = NDArray[np.int64]

BUFFER, HASH, BPLUS_TREE, T_TREE = range(4)

NONE = -1

KIND, SIZE, HELD, FIRST, ROOT, LEVELS, FREE, FREE_NODES = range(8)
BUCKETS = ROOT
"""Of the numbers of a store.

KIND        BUFFER, HASH, BPLUS_TREE or T_TREE
SIZE        tuples per bucket, or most entries of a node
HELD        entries in the window
FIRST       where in the queue the oldest is
ROOT        a tree's root, or NONE
BUCKETS     of a hash, in its place: how many there are
LEVELS      of a B+tree: 1 where the root is a leaf; else 0
FREE        the first free node or block, or NONE
FREE_NODES  how many are free
"""

COMPARED, TOUCHED, MOVED = 8, 9, 10
"""The work done, among the numbers too.

COMPARED    keys that a search for a place compared
TOUCHED     entries that a probe looked at
MOVED       entries put somewhere: into the queue and out of it, or to make or close a gap
"""

KEY, ENTRY = range(2)
"""The columns of the queue, and of a slot. In an inner node ENTRY is a child."""

COUNT, PARENT, NEXT, PREVIOUS, LEFT, RIGHT, HEIGHT = range(7)
"""The columns of a node: its entries, its place in the order of nodes, and in the tree."""


class Store(NamedTuple):
    """A window structure.

    Attributes:
        numbers: as listed above.
        queue: the ring.
        slots: of trees, node after node, `size` lines each; of a hash, a line per block.
        nodes: a line per node or block.
    """

    numbers: Int64s
    queue: Int64s
    slots: Int64s
    nodes: Int64s


def nbytes(store: Store) -> int:
    """Bytes of all arrays, free room included."""
    return sum(array.nbytes for array in store)


@lean_kernel_part
def has_nodes(store: Store) -> bool:
    """Whether one more entry finds nodes: a B+tree may split every level, and get another.

    So much is asked of all that have nodes or blocks.
    """
    return bool(store.numbers[FREE_NODES] >= store.numbers[LEVELS] + 2)


@lean_kernel_part
def has_room(store: Store) -> bool:
    """Whether one more entry fits; if not, the store must be `grown` first."""
    numbers = store.numbers
    if numbers[HELD] == len(store.queue):
        return False
    return numbers[KIND] == BUFFER or has_nodes(store)


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
