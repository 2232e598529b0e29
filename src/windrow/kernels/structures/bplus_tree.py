r"""A B+tree: entries in leaves, which are linked in the order of keys.

                 [ . 20 . 47 . ]                    inner node: children, each but the first with
                 /      |      \                    the least key that it may hold
    [ 3 7 11 ] <-> [ 20 20 38 ] <-> [ 47 60 ]       leaves

A node other than the root is at least half full: a full one that gets one more is split; one that
falls below takes an entry of a neighbor, or is merged with it. A child's bound is kept in the
parent's slot, the first child's being unused.

Equal keys may lie in several leaves. The newest goes behind all of them: a descent by the last
child whose bound is at or below the key ends there. The first of them is found by the last child
whose bound is below the key; it may be the first entry of the leaf after that.
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel, lean_kernel_part
from windrow.kernels.structures.store import (
    COUNT,
    ENTRY,
    KEY,
    LEVELS,
    NEXT,
    NONE,
    PARENT,
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
    thread,
    unthread,
)


@lean_kernel_part
def bplus_find(store: Store, key: int) -> int:
    """The first slot whose key is at or above a key, or NONE."""
    nodes, slots, size = store.nodes, store.slots, store.numbers[SIZE]
    node = store.numbers[ROOT]
    for _ in range(store.numbers[LEVELS] - 1):
        node = slots[node * size + place_from(store, node, 1, key) - 1, ENTRY]
    at = place_from(store, node, 0, key)
    if at < nodes[node, COUNT]:
        return int(node * size + at)
    following = nodes[node, NEXT]
    return NONE if following == NONE else int(following * size)


@lean_kernel
def bplus_insert(store: Store, key: int, entry: int) -> None:
    """Adds an entry behind all with its key."""
    nodes, slots, size = store.nodes, store.slots, store.numbers[SIZE]
    node = store.numbers[ROOT]
    for _ in range(store.numbers[LEVELS] - 1):
        node = slots[node * size + place_beyond(store, node, 1, key) - 1, ENTRY]
    at, level = place_beyond(store, node, 0, key), 0
    while nodes[node, COUNT] == size:
        right = _split(store, node, at, key, entry, level)
        if nodes[node, PARENT] == NONE:
            _grow(store, node, right)
            return
        # The parent gets the right part as one more child.
        at = _place_in_parent(store, node) + 1
        key, entry, node, level = slots[right * size, KEY], right, nodes[node, PARENT], level + 1
    put(store, node, at, key, entry)
    if level > 0:
        nodes[entry, PARENT] = node


@lean_kernel
def bplus_remove(store: Store, slot: int) -> None:
    """Takes an entry out."""
    nodes, slots, size = store.nodes, store.slots, store.numbers[SIZE]
    node, level = slot // size, 0
    cut(store, node, slot - node * size, 1)
    while nodes[node, PARENT] != NONE and nodes[node, COUNT] < (size + 1) // 2:
        parent, place = nodes[node, PARENT], _place_in_parent(store, node)
        if _took_from_neighbor(store, node, place, level):
            return
        right_place = max(place, 1)
        _merge(store, parent, right_place, level)
        node, level = parent, level + 1
    if level > 0 and nodes[node, PARENT] == NONE and nodes[node, COUNT] == 1:
        child = slots[node * size, ENTRY]
        nodes[child, PARENT] = NONE
        store.numbers[ROOT] = child
        store.numbers[LEVELS] -= 1
        give_up(store, node)


@lean_kernel
def _split(store: Store, node: int, at: int, key: int, entry: int, level: int) -> int:
    """Splits a full node that gets one more entry; gives the right part."""
    nodes, slots, size = store.nodes, store.slots, store.numbers[SIZE]
    right = take_node(store)
    nodes[right, PARENT] = nodes[node, PARENT]
    kept = (size + 1) // 2
    if at < kept:
        move_to_end(store, node, kept - 1, size - kept + 1, right)
        put(store, node, at, key, entry)
    else:
        move_to_end(store, node, kept, size - kept, right)
        put(store, right, at - kept, key, entry)
    if level == 0:
        thread(store, node, right, nodes[node, NEXT])
        return right
    if at < kept:
        nodes[entry, PARENT] = node
    for slot in range(right * size, right * size + nodes[right, COUNT]):
        nodes[slots[slot, ENTRY], PARENT] = right
    return right


@lean_kernel
def _grow(store: Store, left: int, right: int) -> None:
    """Puts a new root above the two parts of the old one."""
    nodes, slots, size = store.nodes, store.slots, store.numbers[SIZE]
    root = take_node(store)
    put(store, root, 0, slots[left * size, KEY], left)
    put(store, root, 1, slots[right * size, KEY], right)
    nodes[left, PARENT] = root
    nodes[right, PARENT] = root
    store.numbers[ROOT] = root
    store.numbers[LEVELS] += 1


@lean_kernel_part
def _place_in_parent(store: Store, node: int) -> int:
    """Which child of its parent a node is. Bounds may be equal, so that they do not say."""
    at = store.nodes[node, PARENT] * store.numbers[SIZE]
    place = 0
    while store.slots[at + place, ENTRY] != node:
        place += 1
    return place


@lean_kernel_part
def _took_from_neighbor(store: Store, node: int, place: int, level: int) -> bool:
    """Whether a neighbor had an entry to spare, which the node now has."""
    nodes, slots, size = store.nodes, store.slots, store.numbers[SIZE]
    parent, least = nodes[node, PARENT], (size + 1) // 2
    bound = parent * size + place
    if place > 0:
        left = slots[bound - 1, ENTRY]
        if nodes[left, COUNT] > least:
            slots[node * size, KEY] = _first_key(store, node, bound, level)
            move_to_front(store, left, 1, node)
            slots[bound, KEY] = slots[node * size, KEY]
            if level > 0:
                nodes[slots[node * size, ENTRY], PARENT] = node
            return True
    if place + 1 < nodes[parent, COUNT]:
        right = slots[bound + 1, ENTRY]
        if nodes[right, COUNT] > least:
            slots[right * size, KEY] = _first_key(store, right, bound + 1, level)
            move_to_end(store, right, 0, 1, node)
            slots[bound + 1, KEY] = slots[right * size, KEY]
            if level > 0:
                nodes[slots[node * size + nodes[node, COUNT] - 1, ENTRY], PARENT] = node
            return True
    return False


@lean_kernel_part
def _merge(store: Store, parent: int, place: int, level: int) -> None:
    """Moves all that the child at a place has into the child before it."""
    nodes, slots, size = store.nodes, store.slots, store.numbers[SIZE]
    bound = parent * size + place
    left, right = slots[bound - 1, ENTRY], slots[bound, ENTRY]
    slots[right * size, KEY] = _first_key(store, right, bound, level)
    if level > 0:
        for slot in range(right * size, right * size + nodes[right, COUNT]):
            nodes[slots[slot, ENTRY], PARENT] = left
    else:
        unthread(store, right)
    move_to_end(store, right, 0, nodes[right, COUNT], left)
    give_up(store, right)
    cut(store, parent, place, 1)


@lean_kernel_part
def _first_key(store: Store, node: int, bound: int, level: int) -> int:
    """The key that a node's first slot stands for: of an inner node, its own bound."""
    if level > 0:
        return int(store.slots[bound, KEY])
    return int(store.slots[node * store.numbers[SIZE], KEY])
