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
balance     as in an AVL tree.

Equal keys may lie in several nodes, one after the other; the newest goes behind all of them.

How a T-tree stays balanced: heights, rotations, and nodes that are too empty.

After a leaf came or went, the nodes above it are gone through from the bottom up. The heights of
the two subtrees of a node differ by at most one; where they differ by two, a rotation mends it:

        c                b                       c              b
       / \              / \                     / \            / \
      b   .    ->      a   c                   a   .   ->     a   c
     / \                  / \                   \
    a   .                .   .                   b

On the right the new leaf b, of one entry perhaps, comes to stand between two others. A node with
two children must be nearly full (that is what makes a T-tree small), so it takes entries of its
neighbors in order, which have one child at most.
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel, lean_kernel_part
from windrow.kernels.structures.store import (
    COMPARED,
    COUNT,
    ENTRY,
    HEIGHT,
    KEY,
    LEFT,
    NEXT,
    NONE,
    PARENT,
    PREVIOUS,
    RIGHT,
    ROOT,
    SIZE,
    Store,
    give_up,
    take_node,
)
from windrow.kernels.structures.tree_nodes import (
    cut,
    move_to_end,
    move_to_front,
    place_beyond,
    place_from,
    put,
    put_for_first,
    thread,
    unthread,
)

SPARE = 2
"""How many entries short of full a node with two children may be."""


@lean_kernel_part
def least_inside(store: Store) -> int:
    """The least entries of a node with two children."""
    return max(1, int(store.numbers[SIZE]) - SPARE)


@lean_kernel
def retrace(store: Store, node: int) -> None:
    """Mends a node and all above it."""
    nodes = store.nodes
    while node != NONE:
        if fits_into_one(store, node):
            _join_child(store, node)
        left, right = _height(store, nodes[node, LEFT]), _height(store, nodes[node, RIGHT])
        nodes[node, HEIGHT] = max(left, right) + 1
        if left > right + 1:
            node = _lift(store, node, LEFT)
        elif right > left + 1:
            node = _lift(store, node, RIGHT)
        has_two = nodes[node, LEFT] != NONE and nodes[node, RIGHT] != NONE
        if has_two and nodes[node, COUNT] < least_inside(store):
            changed = refill(store, node)
            if changed != NONE:
                node = changed  # a node is gone: once more from where it was
                continue
        node = nodes[node, PARENT]


@lean_kernel_part
def fits_into_one(store: Store, node: int) -> bool:
    """Whether a node and its only child, a leaf, have entries for one node."""
    nodes = store.nodes
    left, right = nodes[node, LEFT], nodes[node, RIGHT]
    if (left == NONE) == (right == NONE):
        return False
    child = right if left == NONE else left
    if nodes[child, LEFT] != NONE or nodes[child, RIGHT] != NONE:
        return False
    return bool(nodes[node, COUNT] + nodes[child, COUNT] <= store.numbers[SIZE])


@lean_kernel
def refill(store: Store, node: int) -> int:
    """Fills a node with two children from its neighbors in order.

    Both keep an entry if they can. If not the one before goes, and the node where it hung is given
    back, to be retraced; otherwise NONE.
    """
    nodes = store.nodes
    before, after = nodes[node, PREVIOUS], nodes[node, NEXT]
    wanted = least_inside(store) - nodes[node, COUNT]
    spared = min(wanted, nodes[before, COUNT] - 1)
    if spared > 0:
        move_to_front(store, before, spared, node)
        wanted -= spared
    spared = min(wanted, nodes[after, COUNT] - 1)
    if spared > 0:
        move_to_end(store, after, 0, spared, node)
        wanted -= spared
    if wanted <= 0:
        return NONE
    move_to_front(store, before, 1, node)
    parent = nodes[before, PARENT]
    detach(store, before)
    return int(parent)


@lean_kernel
def detach(store: Store, node: int) -> None:
    """Takes a node with one child at most out of the tree; the child comes in its place."""
    nodes = store.nodes
    child = nodes[node, RIGHT] if nodes[node, LEFT] == NONE else nodes[node, LEFT]
    _replace(store, node, child)
    unthread(store, node)
    give_up(store, node)


@lean_kernel_part
def _join_child(store: Store, node: int) -> None:
    """Moves the entries of a node's only child, a leaf, into the node."""
    nodes = store.nodes
    if nodes[node, LEFT] == NONE:
        child = nodes[node, RIGHT]
        nodes[node, RIGHT] = NONE
        move_to_end(store, child, 0, nodes[child, COUNT], node)
    else:
        child = nodes[node, LEFT]
        nodes[node, LEFT] = NONE
        move_to_front(store, child, nodes[child, COUNT], node)
    unthread(store, child)
    give_up(store, child)


@lean_kernel_part
def _lift(store: Store, node: int, side: int) -> int:
    """Rotates a node whose subtree on one side is too high; gives the node that comes in its place."""
    nodes, other = store.nodes, LEFT + RIGHT - side
    child = nodes[node, side]
    if _height(store, nodes[child, side]) < _height(store, nodes[child, other]):
        _rotate(store, child, other)
    return _rotate(store, node, side)


@lean_kernel
def _rotate(store: Store, node: int, side: int) -> int:
    """Lifts a node's child on one side into its place; gives the child."""
    nodes = store.nodes
    other = LEFT + RIGHT - side
    child = nodes[node, side]
    middle = nodes[child, other]
    _replace(store, node, child)
    nodes[child, other] = node
    nodes[node, PARENT] = child
    nodes[node, side] = middle
    if middle != NONE:
        nodes[middle, PARENT] = node
    for changed in (node, child):
        left, right = nodes[changed, LEFT], nodes[changed, RIGHT]
        nodes[changed, HEIGHT] = max(_height(store, left), _height(store, right)) + 1
    return int(child)


@lean_kernel_part
def _replace(store: Store, node: int, new: int) -> None:
    """Hangs another node, or NONE, where a node hung."""
    nodes = store.nodes
    parent = nodes[node, PARENT]
    if new != NONE:
        nodes[new, PARENT] = parent
    if parent == NONE:
        store.numbers[ROOT] = new
    elif nodes[parent, LEFT] == node:
        nodes[parent, LEFT] = new
    else:
        nodes[parent, RIGHT] = new


@lean_kernel_part
def _height(store: Store, node: int) -> int:
    return 0 if node == NONE else int(store.nodes[node, HEIGHT])


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
        thread(store, nodes[parent, PREVIOUS], leaf, parent)
    else:
        thread(store, parent, leaf, nodes[parent, NEXT])
    retrace(store, parent)
