"""How many copies of each value each slot holds, so that copies count once.

    events of a slot      +7    +7    -7    +5    -7
    copies of 7            1     2     1            0
    events that count     +7                 +5   -7       the first copy comes, the last one goes

An accumulator that is given these events alone answers for distinct values. The copies are in a
hash table with linear probing, a power of two in size and at most half full; a value whose last
copy goes makes room at once: those behind it move up, so that no mark is left.

    cell   [ slot + 1 | word | copies ]       0: empty
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel, lean_kernel
from windrow.kernels.keys import mixed
from windrow.kernels.versions import Versions

SLOT, WORD, COPIES = 0, 1, 2
CELL_PARTS = 3
LEAST_CELLS = 16

USED, PROBES = 0, 1
"""Entries of `meta`: cells in use, and cells looked at so far."""

Cells = NDArray[np.int64]
Meta = NDArray[np.int64]
Whole = int | np.int64


class DistinctVersions(NamedTuple):
    """The versions with the events that count; False where a value went that was not there."""

    versions: Versions
    is_whole: bool


@kernel
def distinct_versions(
    versions: Versions,
    words: NDArray[np.int64],
    valid: NDArray[np.bool_],
    cells: Cells,
    meta: Meta,
) -> tuple[DistinctVersions, Cells]:
    """The same versions, with those events alone by which a value comes or goes for good.

    Within a version what comes is applied before what goes. NULLs have no events.
    """
    total = len(versions.slots)
    first_event = np.zeros(total + 1, np.int64)
    rows = np.empty(len(versions.event_rows), np.int64)
    signs = np.empty(len(versions.event_rows), np.int8)
    out = 0
    is_whole = True
    for version in range(total):
        slot = versions.slots[version]
        start, stop = versions.first_event[version], versions.first_event[version + 1]
        for sign in (1, -1):
            for event in range(start, stop):
                row = versions.event_rows[event]
                if versions.event_signs[event] != sign or not valid[row]:
                    continue
                cells = with_room(cells, meta)
                copies = count(cells, meta, slot, words[row], sign)
                is_whole = is_whole and copies >= 0
                if copies == (1 if sign > 0 else 0):
                    rows[out], signs[out] = row, sign
                    out += 1
        first_event[version + 1] = out
    kept = Versions(
        versions.slots,
        versions.times,
        versions.previous,
        first_event,
        rows[:out].copy(),
        signs[:out].copy(),
    )
    return DistinctVersions(kept, is_whole), cells


@kernel
def count_all(
    slots: NDArray[np.int64],
    words: NDArray[np.int64],
    valid: NDArray[np.bool_],
    signs: NDArray[np.int8],
    cells: Cells,
    meta: Meta,
) -> Cells:
    """Takes up rows: those that come first, then those that take others back."""
    for sign in (1, -1):
        for row in range(len(slots)):
            if signs[row] == sign and valid[row]:
                cells = with_room(cells, meta)
                count(cells, meta, slots[row], words[row], sign)
    return cells


@kernel
def with_room(cells: Cells, meta: Meta) -> Cells:
    """The cells, at most half of them in use after one more value, an eighth or more if many."""
    size = len(cells)
    wanted = size
    if 2 * (meta[USED] + 1) > size:
        wanted = max(2 * size, LEAST_CELLS)
    elif size > LEAST_CELLS and 16 * (meta[USED] + 1) < size:
        wanted = size // 4
    if wanted == size:
        return cells
    new = np.zeros((wanted, CELL_PARTS), np.int64)
    for cell in range(size):
        if cells[cell, SLOT]:
            place = _first_place(new, cells[cell, SLOT], cells[cell, WORD])
            while new[place, SLOT]:
                place = (place + 1) & (wanted - 1)
            new[place] = cells[cell]
    return new


@lean_kernel
def count(cells: Cells, meta: Meta, slot: Whole, word: Whole, sign: Whole) -> int:
    """Adds a copy of a value, or takes one away; how many there are then, -1 for one too few."""
    last = len(cells) - 1
    place = _first_place(cells, slot + 1, word)
    meta[PROBES] += 1
    while cells[place, SLOT] and (cells[place, SLOT] != slot + 1 or cells[place, WORD] != word):
        place = (place + 1) & last
        meta[PROBES] += 1
    if cells[place, SLOT] == 0:
        if sign < 0:
            return -1
        cells[place, SLOT], cells[place, WORD], cells[place, COPIES] = slot + 1, word, 0
        meta[USED] += 1
    cells[place, COPIES] += sign
    copies: int = cells[place, COPIES]
    if copies == 0:
        meta[USED] -= 1
        _vacate(cells, place)
    return copies


@lean_kernel
def _vacate(cells: Cells, place: Whole) -> None:
    """Empties a cell, and moves up what a search would no longer find behind it.

    first place of x      hole        x
    ----|------------------|----------|---->    x may take the hole: its search passes there
    """
    last = len(cells) - 1
    hole = place
    cells[hole, SLOT] = 0
    place = (place + 1) & last
    while cells[place, SLOT]:
        first = _first_place(cells, cells[place, SLOT], cells[place, WORD])
        if (place - first) & last >= (place - hole) & last:
            for part in range(CELL_PARTS):
                cells[hole, part] = cells[place, part]
            cells[place, SLOT] = 0
            hole = place
        place = (place + 1) & last


@lean_kernel
def _first_place(cells: Cells, key: Whole, word: Whole) -> np.int64:
    """Where the search for a value begins."""
    spread = mixed(np.uint64(word) ^ mixed(np.uint64(key)))
    return np.int64(spread & np.uint64(len(cells) - 1))
