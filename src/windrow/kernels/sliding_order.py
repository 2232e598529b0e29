"""Least, greatest and middle values of every version of every group, whatever leaves when.

All values alive are kept in order (`ordered_values`), copies counted; a change costs a logarithm of
their number. Within a version, what comes is applied before what goes: at no time is more taken
away than there is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.extremes import Coded
from windrow.kernels.jit import kernel
from windrow.kernels.ordered_values import (
    Meta,
    Nodes,
    add,
    copies_in,
    find_at,
    remove,
    with_room,
)
from windrow.kernels.versions import Versions

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
