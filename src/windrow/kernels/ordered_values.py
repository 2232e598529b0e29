"""Ordered bags of values, one per slot: a counted B-tree, all trees in one matrix of nodes.

A value is a word and an id: words are in the order of the values, and where two values share a word
(texts with eight equal bytes before) their ids lead to the texts themselves. A node is a row:

    [ n | level | words ......... | ids ........... | sizes ......... | children ..... ]
                  MOST of each

    level 0     entry i: a value, `sizes[i]` copies of it
    above       entry i: a child, `sizes[i]` copies of values below it; its word and id are not
                above any value in the child, and above all values of the child before

Everything happens on the way down from the root: a full child is split before a value is added
below it, a child with LEAST entries or fewer takes some from a neighbor, or all of them, before a
value is removed below it. So every node but a root has from LEAST to MOST entries, a tree of n
values has a height of log(n) / log(LEAST) at most, and no way back up is needed.

Node 0 is none: `roots[slot]` is 0 where a slot holds nothing. `meta` says which nodes are unused (a
chain through their first child), how many there are, and how many entries were compared so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel, lean_kernel

MOST, LEAST, MERGED = 32, 8, 24
"""Entries of a node: the most, the fewest, and up to how many two neighbors become one."""

N, LEVEL = 0, 1
WORDS = 2
IDS = WORDS + MOST
SIZES = IDS + MOST
CHILDREN = SIZES + MOST
NODE_CELLS = CHILDREN + MOST
_PARTS = (WORDS, IDS, SIZES, CHILDREN)

UNUSED, UNUSED_COUNT, COMPARED = 0, 1, 2
"""Entries of `meta`."""

TALLEST = 24
"""No tree is as tall: one value added never takes more new nodes."""

Nodes = NDArray[np.int64]
Meta = NDArray[np.int64]
Whole = int | np.int64


class Texts(NamedTuple):
    """The bytes of the texts, by id: data[starts[id]:stops[id]]; empty where words say all."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


@lean_kernel
def compared(word: Whole, id_: Whole, other: Whole, other_id: Whole, texts: Texts) -> int:
    """-1, 0 or 1: a value against another one."""
    if word != other:
        return -1 if word < other else 1
    if id_ == other_id:
        return 0
    mine, its = texts.starts[id_], texts.starts[other_id]
    my_stop, its_stop = texts.stops[id_], texts.stops[other_id]
    while mine < my_stop and its < its_stop:
        if texts.data[mine] != texts.data[its]:
            return -1 if texts.data[mine] < texts.data[its] else 1
        mine += 1
        its += 1
    return (1 if mine < my_stop else 0) - (1 if its < its_stop else 0)


@kernel
def enlarged(cells: Nodes, meta: Meta, following: int, more: int) -> Nodes:
    """Twice as many cells and some more; `following` names the next of those that are unused."""
    before = max(len(cells), 1)
    larger = np.zeros((2 * before + more, cells.shape[1]), np.int64)
    larger[: len(cells)] = cells
    for cell in range(before, len(larger)):
        larger[cell, following] = meta[UNUSED]
        meta[UNUSED] = cell
    meta[UNUSED_COUNT] += len(larger) - before
    return larger


@kernel
def with_room(nodes: Nodes, meta: Meta) -> Nodes:
    """The nodes, with more of them where one more value might not find enough unused ones."""
    is_enough = meta[UNUSED_COUNT] > TALLEST
    return nodes if is_enough else enlarged(nodes, meta, CHILDREN, 2 * TALLEST)


@lean_kernel
def add(
    nodes: Nodes,
    meta: Meta,
    roots: NDArray[np.int64],
    slot: Whole,
    word: Whole,
    id_: Whole,
    texts: Texts,
) -> None:
    """Adds one copy of a value to a slot's bag; there must be room."""
    node = roots[slot]
    if node == 0:
        node = roots[slot] = _taken(nodes, meta, 0)
    elif nodes[node, N] == MOST:
        root = _taken(nodes, meta, nodes[node, LEVEL] + 1)
        nodes[root, N] = 1
        nodes[root, WORDS], nodes[root, IDS] = nodes[node, WORDS], nodes[node, IDS]
        nodes[root, SIZES], nodes[root, CHILDREN] = copies_in(nodes, node), node
        _split(nodes, meta, root, 0)
        node = roots[slot] = root
    while nodes[node, LEVEL] > 0:
        at = max(_place(nodes, meta, node, word, id_, texts), 0)
        if nodes[nodes[node, CHILDREN + at], N] == MOST:
            _split(nodes, meta, node, at)
            at = max(_place(nodes, meta, node, word, id_, texts), 0)
        if at == 0 and _against(nodes, node, 0, word, id_, texts) < 0:
            nodes[node, WORDS], nodes[node, IDS] = word, id_
        nodes[node, SIZES + at] += 1
        node = nodes[node, CHILDREN + at]
    at = _place(nodes, meta, node, word, id_, texts)
    if at >= 0 and _against(nodes, node, at, word, id_, texts) == 0:
        nodes[node, SIZES + at] += 1
        return
    _open(nodes, node, at + 1, 1)
    nodes[node, WORDS + at + 1], nodes[node, IDS + at + 1] = word, id_
    nodes[node, SIZES + at + 1] = 1


@lean_kernel
def remove(
    nodes: Nodes,
    meta: Meta,
    roots: NDArray[np.int64],
    slot: Whole,
    word: Whole,
    id_: Whole,
    texts: Texts,
) -> bool:
    """Removes one copy of a value; False where there is none, and then the bag is no longer whole."""
    node = roots[slot]
    if node == 0:
        return False
    while nodes[node, LEVEL] > 0:
        at = max(_place(nodes, meta, node, word, id_, texts), 0)
        if nodes[nodes[node, CHILDREN + at], N] <= LEAST:
            _even_out(nodes, meta, node, at if at + 1 < nodes[node, N] else at - 1)
            at = max(_place(nodes, meta, node, word, id_, texts), 0)
        child = nodes[node, CHILDREN + at]
        nodes[node, SIZES + at] -= 1
        if nodes[node, N] == 1:  # a root whose last two children became one
            roots[slot] = child
            _given(nodes, meta, node)
        node = child
    at = _place(nodes, meta, node, word, id_, texts)
    if at < 0 or _against(nodes, node, at, word, id_, texts) != 0:
        return False
    nodes[node, SIZES + at] -= 1
    if nodes[node, SIZES + at] == 0:
        _close(nodes, node, at, 1)
    if nodes[node, N] == 0:
        roots[slot] = 0
        _given(nodes, meta, node)
    return True


@lean_kernel
def copies_in(nodes: Nodes, node: Whole) -> int:
    """How many copies of values there are in a node and below it; none in node 0."""
    total = 0
    for i in range(nodes[node, N] if node else 0):
        total += nodes[node, SIZES + i]
    return total


@lean_kernel
def find_at(nodes: Nodes, root: Whole, place: Whole) -> tuple[int, int]:
    """Word and id of the value at a place in the order, copies counted, from 0 on."""
    node = root
    while True:
        at = 0
        while place >= nodes[node, SIZES + at]:
            place -= nodes[node, SIZES + at]
            at += 1
        if nodes[node, LEVEL] == 0:
            return nodes[node, WORDS + at], nodes[node, IDS + at]
        node = nodes[node, CHILDREN + at]


@lean_kernel
def _against(nodes: Nodes, node: Whole, at: Whole, word: Whole, id_: Whole, texts: Texts) -> int:
    """A value compared with an entry; ids are not fetched where words say all."""
    other = nodes[node, WORDS + at]
    if word != other:
        return -1 if word < other else 1
    return compared(word, id_, other, nodes[node, IDS + at], texts)


@lean_kernel
def _place(nodes: Nodes, meta: Meta, node: Whole, word: Whole, id_: Whole, texts: Texts) -> int:
    """The last entry that is not above a value; -1 where all are."""
    low, high = 0, nodes[node, N]
    while low < high:
        middle = (low + high) >> 1
        meta[COMPARED] += 1
        if _against(nodes, node, middle, word, id_, texts) < 0:
            high = middle
        else:
            low = middle + 1
    return low - 1


@lean_kernel
def _split(nodes: Nodes, meta: Meta, parent: Whole, at: Whole) -> None:
    """Moves the upper half of a full child into a new one right after it."""
    child = nodes[parent, CHILDREN + at]
    new = _taken(nodes, meta, nodes[child, LEVEL])
    _open(nodes, parent, at + 1, 1)
    nodes[parent, CHILDREN + at + 1] = new
    nodes[parent, SIZES + at + 1] = 0
    _move_up(nodes, parent, at, MOST // 2)


@lean_kernel
def _even_out(nodes: Nodes, meta: Meta, parent: Whole, left: Whole) -> None:
    """Makes one of two neighboring children where few are in them, else fills both alike."""
    first, second = nodes[parent, CHILDREN + left], nodes[parent, CHILDREN + left + 1]
    total = nodes[first, N] + nodes[second, N]
    if total <= MERGED:
        _move_down(nodes, parent, left, nodes[second, N])
        _close(nodes, parent, left + 1, 1)
        _given(nodes, meta, second)
    elif nodes[first, N] > nodes[second, N]:
        _move_up(nodes, parent, left, nodes[first, N] - total // 2)
    else:
        _move_down(nodes, parent, left, nodes[second, N] - total // 2)


@lean_kernel
def _move_up(nodes: Nodes, parent: Whole, left: Whole, count: Whole) -> None:
    """Moves the last entries of a child to the beginning of the next one."""
    first, second = nodes[parent, CHILDREN + left], nodes[parent, CHILDREN + left + 1]
    _open(nodes, second, 0, count)
    nodes[first, N] -= count
    moved = _copy(nodes, first, nodes[first, N], second, 0, count)
    nodes[parent, SIZES + left] -= moved
    nodes[parent, SIZES + left + 1] += moved
    nodes[parent, WORDS + left + 1] = nodes[second, WORDS]
    nodes[parent, IDS + left + 1] = nodes[second, IDS]


@lean_kernel
def _move_down(nodes: Nodes, parent: Whole, left: Whole, count: Whole) -> None:
    """Moves the first entries of a child to the end of the one before."""
    first, second = nodes[parent, CHILDREN + left], nodes[parent, CHILDREN + left + 1]
    moved = _copy(nodes, second, 0, first, nodes[first, N], count)
    nodes[first, N] += count
    _close(nodes, second, 0, count)
    nodes[parent, SIZES + left] += moved
    nodes[parent, SIZES + left + 1] -= moved
    if nodes[second, N] > 0:
        nodes[parent, WORDS + left + 1] = nodes[second, WORDS]
        nodes[parent, IDS + left + 1] = nodes[second, IDS]


@lean_kernel
def _copy(nodes: Nodes, node: Whole, start: Whole, other: Whole, at: Whole, count: Whole) -> int:
    """Copies entries of a node to places of another one; gives how many copies of values."""
    moved = 0
    for i in range(count):
        for part in _PARTS:
            nodes[other, part + at + i] = nodes[node, part + start + i]
        moved += nodes[node, SIZES + start + i]
    return moved


@lean_kernel
def _open(nodes: Nodes, node: Whole, at: Whole, count: Whole) -> None:
    """Makes room for entries at a place."""
    for i in range(nodes[node, N] - 1, at - 1, -1):
        for part in _PARTS:
            nodes[node, part + i + count] = nodes[node, part + i]
    nodes[node, N] += count


@lean_kernel
def _close(nodes: Nodes, node: Whole, at: Whole, count: Whole) -> None:
    """Takes entries out."""
    nodes[node, N] -= count
    for i in range(at, nodes[node, N]):
        for part in _PARTS:
            nodes[node, part + i] = nodes[node, part + i + count]


@lean_kernel
def _taken(nodes: Nodes, meta: Meta, level: Whole) -> int:
    """An unused node, now an empty one of this level."""
    node: int = meta[UNUSED]
    meta[UNUSED] = nodes[node, CHILDREN]
    meta[UNUSED_COUNT] -= 1
    nodes[node, N], nodes[node, LEVEL] = 0, level
    return node


@lean_kernel
def _given(nodes: Nodes, meta: Meta, node: Whole) -> None:
    """Gives a node up."""
    nodes[node, CHILDREN] = meta[UNUSED]
    meta[UNUSED] = node
    meta[UNUSED_COUNT] += 1
