"""What the two trees do with nodes: search one, make and close gaps, keep the order of nodes.

slots of a node    [ k0 k1 k2 k3 | free ]      ascending; of equal keys the older first
order of nodes     node <-> node <-> node      a range of keys is read along it
"""

from __future__ import annotations

from windrow.kernels.bew_period import MOST
from windrow.kernels.jit import lean_kernel, lean_kernel_part
from windrow.kernels.structures.store import (
    COMPARED,
    COUNT,
    ENTRY,
    KEY,
    MOVED,
    NEXT,
    NONE,
    PREVIOUS,
    SIZE,
    TOUCHED,
    Store,
)


@lean_kernel_part
def place_from(store: Store, node: int, start: int, key: int) -> int:
    """The first place in a node, from `start` on, whose key is at or above a key."""
    slots, numbers = store.slots, store.numbers
    base = node * numbers[SIZE]
    stop = store.nodes[node, COUNT]
    steps = 0
    while start < stop:
        middle = (start + stop) >> 1
        steps += 1
        if slots[base + middle, KEY] < key:
            start = middle + 1
        else:
            stop = middle
    numbers[COMPARED] += steps
    return start


@lean_kernel_part
def place_beyond(store: Store, node: int, start: int, key: int) -> int:
    """The first place in a node, from `start` on, whose key is above a key."""
    if key == MOST:
        return int(store.nodes[node, COUNT])
    return place_from(store, node, start, key + 1)


@lean_kernel_part
def put(store: Store, node: int, at: int, key: int, entry: int) -> None:
    """Adds an entry at a place of a node that has room; those behind it move up."""
    slots, numbers = store.slots, store.numbers
    base = node * numbers[SIZE]
    count = store.nodes[node, COUNT]
    for slot in range(base + count, base + at, -1):
        slots[slot, KEY] = slots[slot - 1, KEY]
        slots[slot, ENTRY] = slots[slot - 1, ENTRY]
    slots[base + at, KEY] = key
    slots[base + at, ENTRY] = entry
    store.nodes[node, COUNT] = count + 1
    numbers[MOVED] += count - at + 1


@lean_kernel_part
def put_for_first(store: Store, node: int, at: int, key: int, entry: int) -> None:
    """Adds an entry before a place of a node, whose first entry goes: those between move down."""
    slots, numbers = store.slots, store.numbers
    base = node * numbers[SIZE]
    for slot in range(base, base + at - 1):
        slots[slot, KEY] = slots[slot + 1, KEY]
        slots[slot, ENTRY] = slots[slot + 1, ENTRY]
    slots[base + at - 1, KEY] = key
    slots[base + at - 1, ENTRY] = entry
    numbers[MOVED] += at


@lean_kernel_part
def cut(store: Store, node: int, at: int, length: int) -> None:
    """Takes entries out of a node, from a place on; those behind them move down."""
    slots, numbers = store.slots, store.numbers
    base = node * numbers[SIZE]
    count = store.nodes[node, COUNT]
    for slot in range(base + at, base + count - length):
        slots[slot, KEY] = slots[slot + length, KEY]
        slots[slot, ENTRY] = slots[slot + length, ENTRY]
    store.nodes[node, COUNT] = count - length
    numbers[MOVED] += count - length - at


@lean_kernel
def move_to_end(store: Store, source: int, at: int, length: int, target: int) -> None:
    """Moves entries of a node, from a place on, behind those of another."""
    slots, nodes = store.slots, store.nodes
    start = source * store.numbers[SIZE] + at
    stop = target * store.numbers[SIZE] + nodes[target, COUNT]
    for n in range(length):
        slots[stop + n, KEY] = slots[start + n, KEY]
        slots[stop + n, ENTRY] = slots[start + n, ENTRY]
    nodes[target, COUNT] += length
    store.numbers[MOVED] += length
    cut(store, source, at, length)


@lean_kernel
def move_to_front(store: Store, source: int, length: int, target: int) -> None:
    """Moves the last entries of a node before those of another."""
    slots, nodes, size = store.slots, store.nodes, store.numbers[SIZE]
    base, count = target * size, nodes[target, COUNT]
    for slot in range(base + count - 1, base - 1, -1):
        slots[slot + length, KEY] = slots[slot, KEY]
        slots[slot + length, ENTRY] = slots[slot, ENTRY]
    start = source * size + nodes[source, COUNT] - length
    for n in range(length):
        slots[base + n, KEY] = slots[start + n, KEY]
        slots[base + n, ENTRY] = slots[start + n, ENTRY]
    nodes[source, COUNT] -= length
    nodes[target, COUNT] += length
    store.numbers[MOVED] += count + length


@lean_kernel
def thread(store: Store, before: int, new: int, after: int) -> None:
    """Puts a new node between two that are neighbors in the order; one of them may be NONE."""
    nodes = store.nodes
    nodes[new, PREVIOUS], nodes[new, NEXT] = before, after
    if before != NONE:
        nodes[before, NEXT] = new
    if after != NONE:
        nodes[after, PREVIOUS] = new


@lean_kernel
def unthread(store: Store, node: int) -> None:
    """Takes a node out of the order."""
    nodes = store.nodes
    before, following = nodes[node, PREVIOUS], nodes[node, NEXT]
    if before != NONE:
        nodes[before, NEXT] = following
    if following != NONE:
        nodes[following, PREVIOUS] = before


@lean_kernel_part
def up_to(store: Store, slot: int, high: int) -> int:
    """The slot, if there is one and its key is within a range that ends at `high`; or NONE."""
    if slot == NONE or store.slots[slot, KEY] > high:
        return NONE
    store.numbers[TOUCHED] += 1
    return slot


@lean_kernel_part
def slot_after(store: Store, slot: int) -> int:
    """The next slot in the order of keys, or NONE."""
    nodes, size = store.nodes, store.numbers[SIZE]
    node = slot // size
    if slot + 1 < node * size + nodes[node, COUNT]:
        return slot + 1
    following = nodes[node, NEXT]
    return NONE if following == NONE else following * size
