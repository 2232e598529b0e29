"""The slow twin of a window structure: a list in order of arrival, sorted when asked.

Beside it, what must be true of the trees at any moment, read from their arrays in plain Python.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from windrow.kernels.structures import buckets as blocks
from windrow.kernels.structures import store as names
from windrow.kernels.structures.store import NONE, Store


class SortedList:
    """Entries with keys; the oldest goes first, and of equal keys the oldest is found first."""

    def __init__(self) -> None:
        self.arrived: list[tuple[int, int]] = []

    def insert(self, key: int, entry: int) -> None:
        self.arrived.append((key, entry))

    def expire(self) -> int:
        return self.arrived.pop(0)[1]

    def between(self, low: int, high: int) -> list[int]:
        return [entry for key, entry in sorted(self.arrived) if low <= key <= high]


def check(store: Store) -> None:
    """All that holds of a structure, whichever it is."""
    kind, size, held = (int(store.numbers[n]) for n in (names.KIND, names.SIZE, names.HELD))
    if kind == names.BPLUS_TREE:
        check_bplus_tree(store, size, held)
    elif kind == names.T_TREE:
        check_t_tree(store, size, held)
    elif kind == names.HASH:
        check_buckets(store, held)


def check_buckets(store: Store, held: int) -> None:
    """Each bucket has its entries in order of arrival, and holds what is hashed to it."""
    buckets, size = int(store.numbers[names.BUCKETS]), blocks.slots_of(store)
    seen, used = 0, buckets
    for bucket in range(buckets):
        last = int(store.nodes[bucket, blocks.LINK])
        chain = [bucket]
        if last != NONE:
            chain.append(int(store.nodes[last, blocks.LINK]))
            while chain[-1] != last:
                chain.append(int(store.nodes[chain[-1], blocks.LINK]))
        slots = []
        for at, block in enumerate(chain):
            span = int(store.nodes[block, blocks.SPAN])
            first, count = span >> blocks.BITS, span & blocks.LOW
            slots += [(block, (first + n) % size) for n in range(count)]
            # The own block is full while others lie behind it, and so are those between two.
            assert count == size or block == last or at == 1 or len(chain) == 1
            assert at == 0 or count > 0
        used += len(chain) - 1
        keys, entries = (
            zip(*(_slot(store, *at) for at in slots), strict=True) if slots else ((), ())
        )
        assert all(blocks.bucket_of(store, key) == bucket for key in keys)
        assert list(entries) == sorted(entries)  # entries count up with arrival
        seen += len(slots)
    assert seen == held
    _check_free(store, used, blocks.LINK)


def _slot(store: Store, block: int, slot: int) -> tuple[int, int]:
    return int(store.slots[block, 2 * slot]), int(store.slots[block, 2 * slot + 1])


def check_bplus_tree(store: Store, size: int, held: int) -> None:
    """All leaves are equally deep and linked in order; nodes are half full; bounds hold."""
    root, levels = int(store.numbers[names.ROOT]), int(store.numbers[names.LEVELS])
    leaves: list[int] = []
    used = _check_bplus_node(store, root, levels, -math.inf, math.inf, leaves)
    assert store.nodes[root, names.PARENT] == NONE
    assert list(_chain(store, leaves)) == leaves
    keys = [key for leaf in leaves for key, _ in entries_of(store, leaf)]
    assert keys == sorted(keys)
    assert len(keys) == held
    _check_arrival_among_equals(store, leaves)
    _check_free(store, used)
    least = (size + 1) // 2
    if levels > 1:  # the root has two children at least, every other node `least`
        assert held >= 2 * least ** (levels - 1)


def _check_bplus_node(store, node, level, low, high, leaves) -> int:
    size = int(store.numbers[names.SIZE])
    entries = entries_of(store, node)
    is_root = node == store.numbers[names.ROOT]
    assert len(entries) <= size
    assert len(entries) >= (0 if is_root and level == 1 else 2 if is_root else (size + 1) // 2)
    if level == 1:
        leaves.append(node)
        assert all(low <= key <= high for key, _ in entries)
        return 1
    bounds = [low, *(key for key, _ in entries[1:]), high]
    assert all(low <= bound <= high for bound in bounds)
    assert bounds == sorted(bounds)
    used = 1
    for (_, child), lower, upper in zip(entries, bounds[:-1], bounds[1:], strict=True):
        assert store.nodes[child, names.PARENT] == node
        used += _check_bplus_node(store, child, level - 1, lower, upper, leaves)
    return used


def check_t_tree(store: Store, size: int, held: int) -> None:
    """Balanced as an AVL tree; nodes in order; those with two children nearly full."""
    root = int(store.numbers[names.ROOT])
    order: list[int] = []
    height = _check_t_node(store, root, NONE, order)
    if not order:
        assert held == 0
        _check_free(store, 0)
        return
    assert list(_chain(store, order)) == order
    keys = [key for node in order for key, _ in entries_of(store, node)]
    assert keys == sorted(keys)
    assert len(keys) == held
    assert height <= 1.4405 * math.log2(len(order) + 2)  # of AVL trees
    _check_arrival_among_equals(store, order)
    _check_free(store, len(order))


def _check_t_node(store, node, parent, order) -> int:
    if node == NONE:
        return 0
    fields, size = store.nodes[node], int(store.numbers[names.SIZE])
    assert fields[names.PARENT] == parent
    left, right = int(fields[names.LEFT]), int(fields[names.RIGHT])
    has_two = NONE not in {left, right}
    assert max(1, size - 2 if has_two else 1) <= fields[names.COUNT] <= size
    below_left = _check_t_node(store, left, node, order)
    order.append(node)
    below_right = _check_t_node(store, right, node, order)
    assert abs(below_left - below_right) <= 1
    assert fields[names.HEIGHT] == max(below_left, below_right) + 1
    return int(fields[names.HEIGHT])


def entries_of(store: Store, node: int) -> list[tuple[int, int]]:
    """The keys and entries of a tree's node."""
    start = node * int(store.numbers[names.SIZE])
    stop = start + int(store.nodes[node, names.COUNT])
    return [(key, entry) for key, entry in store.slots[start:stop].tolist()]


def _chain(store: Store, order: list[int]) -> Iterator[int]:
    """The nodes as they are linked; each must know the one before it."""
    before, node = NONE, order[0]
    while node != NONE:
        assert store.nodes[node, names.PREVIOUS] == before
        yield node
        before, node = node, int(store.nodes[node, names.NEXT])


def _check_arrival_among_equals(store: Store, order: list[int]) -> None:
    """Entries count up with arrival, so that those of one key must."""
    entries = [entry for node in order for entry in entries_of(store, node)]
    assert entries == sorted(entries)


def _check_free(store: Store, used: int, link: int = names.NEXT) -> None:
    """Every node is in use or in the chain of free ones."""
    free, node = 0, int(store.numbers[names.FREE])
    while node != NONE:
        free += 1
        node = int(store.nodes[node, link])
    assert free == store.numbers[names.FREE_NODES]
    assert free + used == len(store.nodes)
