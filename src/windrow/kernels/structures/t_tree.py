r"""A T-tree: a balanced binary tree whose nodes hold many entries, and so have bounds.

                    [ 31 .. 45 ]                 a key below a node's least entry is to the left,
                   /            \                one above its greatest to the right, and between
          [ 12 .. 29 ]        [ 47 .. 60 ]       them in the node itself
           /        \
    [ 3 .. 9 ]   [ 30 30 ]

Nodes have a least and a most of entries: one with two children at least `size - 2`, others one.

insert      into the node that bounds the key. If that is full its least entry makes room, and goes
            behind the greatest of its left subtree, the node before it in order. Where no node
            bounds the key, into the last node of the search, or a new leaf below it.
remove      a node with two children that falls below its least takes the greatest entry before
            it. A leaf that is empty goes; one that fits into its parent, the only child, joins it.
balance     as in an AVL tree (`t_tree_balance.py`).

Equal keys may lie in several nodes, one after the other; the newest goes behind all of them.
"""

from __future__ import annotations

from windrow.kernels._jit import lean_kernel, lean_kernel_part
from windrow.kernels.structures.store import (
    COMPARED,
    COUNT,
    ENTRY,
    KEY,
    LEFT,
    NONE,
    PARENT,
    PREVIOUS,
    RIGHT,
    ROOT,
    SIZE,
    Store,
    take_node,
)
from windrow.kernels.structures.t_tree_balance import (
    detach,
    fits_into_one,
    least_inside,
    refill,
    retrace,
)
from windrow.kernels.structures.tree_nodes import (
    cut,
    place_beyond,
    place_from,
    put,
    put_for_first,
    thread_after,
    thread_before,
)


@lean_kernel_part
def t_tree_find(store: Store, key: int) -> int:
    """The first slot whose key is at or above a key, or NONE."""
    nodes, slots, size = store.nodes, store.slots, store.numbers[SIZE]
    node, found, steps = store.numbers[ROOT], NONE, 0
    while node != NONE:
        base = node * size
        steps += 1
        if key <= slots[base, KEY]:
            found, node = base, nodes[node, LEFT]
            continue
        steps += 1
        if key > slots[base + nodes[node, COUNT] - 1, KEY]:
            node = nodes[node, RIGHT]
            continue
        found = base + place_from(store, node, 1, key)
        break
    store.numbers[COMPARED] += steps
    return found


@lean_kernel
def t_tree_insert(store: Store, key: int, entry: int) -> None:
    """Adds an entry behind all with its key."""
    nodes, slots, size = store.nodes, store.slots, store.numbers[SIZE]
    if store.numbers[ROOT] == NONE:
        root = take_node(store)
        slots[root * size, KEY], slots[root * size, ENTRY] = key, entry
        nodes[root, COUNT] = 1
        store.numbers[ROOT] = root
        return
    node, steps = store.numbers[ROOT], 0
    while True:
        base, count = node * size, nodes[node, COUNT]
        steps += 1
        if key < slots[base, KEY]:
            side, at = LEFT, 0
        elif key >= slots[base + count - 1, KEY]:
            steps += 1
            side, at = RIGHT, count
        else:
            steps += 1
            side, at = NONE, place_beyond(store, node, 0, key)
            break
        if nodes[node, side] == NONE:
            break
        node = nodes[node, side]
    store.numbers[COMPARED] += steps
    if count < size:
        put(store, node, at, key, entry)
    elif side != NONE:
        _add_leaf(store, node, side, key, entry)
    else:
        least, oldest = slots[base, KEY], slots[base, ENTRY]
        put_for_first(store, node, at, key, entry)
        _put_before(store, node, least, oldest)


@lean_kernel
def t_tree_remove(store: Store, slot: int) -> None:
    """Takes an entry out."""
    nodes, size = store.nodes, store.numbers[SIZE]
    node = slot // size
    cut(store, node, slot - node * size, 1)
    left, right, parent = nodes[node, LEFT], nodes[node, RIGHT], nodes[node, PARENT]
    if min(left, right) != NONE:
        if nodes[node, COUNT] < least_inside(store):
            changed = refill(store, node)
            if changed != NONE:
                retrace(store, changed)
    elif nodes[node, COUNT] == 0:
        detach(store, node)
        retrace(store, parent)
    elif fits_into_one(store, node):
        retrace(store, node)
    elif parent != NONE and fits_into_one(store, parent):
        retrace(store, parent)


@lean_kernel
def _put_before(store: Store, node: int, key: int, entry: int) -> None:
    """Adds an entry at the end of what a node's left subtree holds."""
    nodes = store.nodes
    if nodes[node, LEFT] == NONE:
        _add_leaf(store, node, LEFT, key, entry)
        return
    # The greatest of the left subtree is the node before in order, and has no right child.
    before = nodes[node, PREVIOUS]
    if nodes[before, COUNT] < store.numbers[SIZE]:
        put(store, before, nodes[before, COUNT], key, entry)
    else:
        _add_leaf(store, before, RIGHT, key, entry)


@lean_kernel
def _add_leaf(store: Store, parent: int, side: int, key: int, entry: int) -> None:
    """Hangs a new leaf with one entry below a node."""
    nodes = store.nodes
    leaf = take_node(store)
    put(store, leaf, 0, key, entry)
    nodes[leaf, PARENT] = parent
    nodes[parent, side] = leaf
    if side == LEFT:
        thread_before(store, parent, leaf)
    else:
        thread_after(store, parent, leaf)
    retrace(store, parent)
