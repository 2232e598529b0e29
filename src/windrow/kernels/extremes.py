"""Least and greatest values of every version of every group, and middle ones.

Where rows leave in the order in which they came, a row that came later and is not
greater than an earlier one outlives it: the earlier one will never be the least again, and is
forgotten. What stays, per slot, ascends from the oldest on:

    values     5   2   7   3   4  ->           a 3 comes:  the 7 and the 4 go
    kept           2       3   4               oldest = least = the answer
    end            |-----------|---|---> time  what has ended leaves at the front

Each value comes once and leaves once, at one side or the other: a change costs the same however
many rows are alive. For the greatest the order is turned around.

Cells of all slots lie in one matrix, chained both ways; cell 0 is none. `meta` is as in
`ordered_values`.

Where rows leave in any order, and for middle values, all values alive are kept in order
(`ordered_values`), copies counted; a change costs a logarithm of their number. Within a version,
what comes is applied before what goes: at no time is more taken away than there is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel, lean_kernel
from windrow.kernels.ordered_values import (
    COMPARED,
    UNUSED,
    UNUSED_COUNT,
    Meta,
    Nodes,
    Texts,
    add,
    compared,
    copies_in,
    enlarged,
    find_at,
    remove,
    with_room,
)
from windrow.kernels.versions import OPENING, Versions

WORD, ID, END, OLDER, YOUNGER = 0, 1, 2, 3, 4
CELL_PARTS = 5

OLDEST, YOUNGEST = 0, 1
"""Columns of `sides`: the first and the last cell of a slot."""

Cells = NDArray[np.int64]
Sides = NDArray[np.int64]
Whole = int | np.int64


class Coded(NamedTuple):
    """The values of rows: words in the order of the values, ids of texts, False for NULL."""

    words: NDArray[np.int64]
    ids: NDArray[np.int64]
    valid: NDArray[np.bool_]
    texts: Texts


class Ending(NamedTuple):
    """A value, and when its row leaves."""

    word: Whole
    id: Whole
    end: Whole


class Extremes(NamedTuple):
    """Per version the word and id of its least (or greatest) value, and whether it has one."""

    words: NDArray[np.int64]
    ids: NDArray[np.int64]
    valid: NDArray[np.bool_]


@kernel
def slide_extremes(
    versions: Versions,
    values: Coded,
    cells: Cells,
    meta: Meta,
    sides: Sides,
    lifetime: int,
    turn: int,
) -> tuple[Extremes, Cells]:
    """The least value of every version, for `turn` 1, or the greatest, for -1.

    All rows live equally long, so that what leaves follows from the instant alone.
    """
    total = len(versions.slots)
    words, ids = np.zeros(total, np.int64), np.zeros(total, np.int64)
    valid = np.zeros(total, np.bool_)
    for version in range(total):
        slot = versions.slots[version]
        time = versions.times[version]
        for event in range(versions.first_event[version], versions.first_event[version + 1]):
            row = versions.event_rows[event]
            if versions.event_signs[event] > 0 and values.valid[row]:
                cells = with_cells(cells, meta)
                end = time + lifetime
                value = Ending(values.words[row], values.ids[row], end)
                enter(cells, meta, sides, slot, value, turn, values.texts)
        if versions.previous[version] != OPENING:
            expire(cells, meta, sides, slot, time)
        oldest = sides[slot, OLDEST]
        if oldest:
            words[version], ids[version] = cells[oldest, WORD], cells[oldest, ID]
            valid[version] = True
    return Extremes(words, ids, valid), cells


@kernel
def enter_all(
    values: Coded,
    slots: NDArray[np.int64],
    ends: NDArray[np.int64],
    cells: Cells,
    meta: Meta,
    sides: Sides,
    turn: int,
) -> Cells:
    """Takes up rows in the order in which they leave."""
    for row in range(len(slots)):
        if values.valid[row]:
            cells = with_cells(cells, meta)
            value = Ending(values.words[row], values.ids[row], ends[row])
            enter(cells, meta, sides, slots[row], value, turn, values.texts)
    return cells


@kernel
def with_cells(cells: Cells, meta: Meta) -> Cells:
    """The cells, with more of them where none is unused."""
    return cells if meta[UNUSED_COUNT] > 0 else enlarged(cells, meta, YOUNGER, 16)


@lean_kernel
def enter(
    cells: Cells,
    meta: Meta,
    sides: Sides,
    slot: Whole,
    value: Ending,
    turn: Whole,
    texts: Texts,
) -> None:
    """Adds a value that leaves after all others; forgets those that it outdoes."""
    last = sides[slot, YOUNGEST]
    while last:
        meta[COMPARED] += 1
        if turn * compared(value.word, value.id, cells[last, WORD], cells[last, ID], texts) > 0:
            break
        before = cells[last, OLDER]
        _give_up(cells, meta, last)
        last = before
    cell = meta[UNUSED]
    meta[UNUSED] = cells[cell, YOUNGER]
    meta[UNUSED_COUNT] -= 1
    cells[cell, WORD], cells[cell, ID], cells[cell, END] = value
    cells[cell, OLDER], cells[cell, YOUNGER] = last, 0
    if last:
        cells[last, YOUNGER] = cell
    else:
        sides[slot, OLDEST] = cell
    sides[slot, YOUNGEST] = cell


@lean_kernel
def expire(cells: Cells, meta: Meta, sides: Sides, slot: Whole, time: Whole) -> None:
    """Drops what has ended at an instant."""
    first = sides[slot, OLDEST]
    while first and cells[first, END] <= time:
        after = cells[first, YOUNGER]
        _give_up(cells, meta, first)
        first = after
    sides[slot, OLDEST] = first
    if first:
        cells[first, OLDER] = 0
    else:
        sides[slot, YOUNGEST] = 0


@lean_kernel
def _give_up(cells: Cells, meta: Meta, cell: Whole) -> None:
    cells[cell, YOUNGER] = meta[UNUSED]
    meta[UNUSED] = cell
    meta[UNUSED_COUNT] += 1


LEAST, GREATEST, LOWER, UPPER = 0, 1, 2, 3
"""Columns of what is picked: both ends, and the two middle values, the same one of an odd number."""


class Picked(NamedTuple):
    """Per version: words and ids of the values picked, and how many values there are.

    `is_whole` is False where a value was to be taken away that was not there.
    """

    words: NDArray[np.int64]
    ids: NDArray[np.int64]
    counts: NDArray[np.int64]
    is_whole: bool


@kernel
def slide_order(
    versions: Versions,
    values: Coded,
    nodes: Nodes,
    meta: Meta,
    roots: NDArray[np.int64],
    asked: NDArray[np.bool_],
) -> tuple[Picked, Nodes]:
    """What is asked for, by the columns above, of every version."""
    total = len(versions.slots)
    words, ids = np.zeros((total, 4), np.int64), np.zeros((total, 4), np.int64)
    counts = np.zeros(total, np.int64)
    is_whole = True
    for version in range(total):
        slot = versions.slots[version]
        start, stop = versions.first_event[version], versions.first_event[version + 1]
        for event in range(start, stop):
            row = versions.event_rows[event]
            if versions.event_signs[event] > 0 and values.valid[row]:
                nodes = with_room(nodes, meta)
                add(nodes, meta, roots, slot, values.words[row], values.ids[row], values.texts)
        for event in range(start, stop):
            row = versions.event_rows[event]
            if versions.event_signs[event] < 0 and values.valid[row] and is_whole:
                is_whole = remove(
                    nodes, meta, roots, slot, values.words[row], values.ids[row], values.texts
                )
        root = roots[slot]
        if root == 0 or not is_whole:
            continue
        count = copies_in(nodes, root)
        counts[version] = count
        places = (0, count - 1, (count - 1) // 2, count // 2)
        for which in range(4):
            if asked[which]:
                word, id_ = find_at(nodes, root, places[which])
                words[version, which], ids[version, which] = word, id_
    return Picked(words, ids, counts, is_whole), nodes


@kernel
def add_all(
    values: Coded,
    slots: NDArray[np.int64],
    signs: NDArray[np.int8],
    nodes: Nodes,
    meta: Meta,
    roots: NDArray[np.int64],
) -> Nodes:
    """Takes up rows: those that come first, then those that take others back."""
    for sign in (1, -1):
        for row in range(len(slots)):
            if signs[row] != sign or not values.valid[row]:
                continue
            word, id_ = values.words[row], values.ids[row]
            if sign > 0:
                nodes = with_room(nodes, meta)
                add(nodes, meta, roots, slots[row], word, id_, values.texts)
            else:
                remove(nodes, meta, roots, slots[row], word, id_, values.texts)
    return nodes
