"""The epsilon grid order (bestmatch paper, section 3.3.1): sorting, merging, and pages that can meet.

A cell is as wide as eps in each of its dimensions, so that r - eps and r + eps lie one cell down and
one cell up, exactly. Rows compare by their cells, dimension by dimension; within a cell by y1:

    rows    [ cell (0, 3): y1 ascending | cell (0, 7): y1 ascending | cell (2, 1): .. ]

As printed, `<` is reversed; here the lower cell comes first. The first dimension has no cells: a
window is eps high in y1, so that every row of it is within reach in y1, and an order that began
with the cells of y1 would rule out nothing among the rows of one such cell.

    cells of S    ... | c - 1 |   c   | c + 1 | ...        r in c: candidates are in the interval
                      |<----- candidates ---->|            [r - eps, r + eps] of the order
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel

Int64s = NDArray[np.int64]

SORT_TESTS, CELL_TESTS, PAIR_TESTS, DOMINANCE_TESTS = range(4)
"""What is counted: rows compared to order them; cells, and pairs of rows, tested for being within
reach; pairs compared with pairs."""

KINDS_OF_WORK = 4


class Edges(NamedTuple):
    """What is kept in memory of every page: its first and last row, and its largest y1."""

    first: Int64s
    last: Int64s
    newest: Int64s


@kernel
def is_before(rows: Int64s, one: int, other: int, widths: Int64s) -> bool:
    """Whether a row comes before another: by cells, then y1, then number.

    `widths` are those of the second dimension's cells, the third's, and so on; none: no cells.
    """
    for k in range(len(widths)):
        cell = rows[one, k + 1] // widths[k]
        other_cell = rows[other, k + 1] // widths[k]
        if cell != other_cell:
            return bool(cell < other_cell)
    if rows[one, 0] != rows[other, 0]:
        return bool(rows[one, 0] < rows[other, 0])
    last = rows.shape[1] - 1
    return bool(rows[one, last] < rows[other, last])


@kernel
def merge_pages(
    rows: Int64s,
    heads: Int64s,
    stops: Int64s,
    out: Int64s,
    widths: Int64s,
    lower: int,
    work: Int64s,
) -> None:
    """Merges pages until the page at `out` [place, stop) is full, or one of them is used up.

    The page of run i is at [heads[i], stops[i]). Rows whose y1 is below `lower` are left out.
    """
    while out[0] < out[1]:
        least = -1
        for run in range(len(heads)):
            while heads[run] < stops[run] and rows[heads[run], 0] < lower:
                heads[run] += 1
            if heads[run] == stops[run]:
                return
            if least < 0:
                least = run
            else:
                work[SORT_TESTS] += 1
                if is_before(rows, heads[run], heads[least], widths):
                    least = run
        for k in range(rows.shape[1]):
            rows[out[0], k] = rows[heads[least], k]
        heads[least] += 1
        out[0] += 1


@kernel
def reached_cells(asking: Int64s, cells: Int64s) -> tuple[Int64s, Int64s]:
    """Per row that asks, the first and the last of a page's cells in [row - eps, row + eps].

    Both are given by their cells, a line each, those of the page in grid order and each once. They
    are counted from 1 on; where the last is below the first, there is none.

        cells of the page      (0, 3)  (0, 7)  (1, 0)  (2, 9)  (4, 1)
        asking from (1, 5)     -----------------------------               (0, 4) to (2, 6)
    """
    first = np.empty(len(asking), np.int64)
    last = np.empty(len(asking), np.int64)
    for row in range(len(asking)):
        is_same = row > 0
        for k in range(asking.shape[1]):
            if is_same and asking[row, k] != asking[row - 1, k]:
                is_same = False
        if is_same:
            first[row], last[row] = first[row - 1], last[row - 1]
        else:
            first[row] = 1 + _cells_before(cells, asking, row, -1)
            last[row] = _cells_before(cells, asking, row, 1)
    return first, last


@kernel
def _cells_before(cells: Int64s, asking: Int64s, row: int, step: int) -> int:
    """How many cells come before row - eps (step -1), or up to row + eps (step 1)."""
    start, stop = 0, len(cells)
    while start < stop:
        middle = (start + stop) // 2
        is_before = step > 0  # where both are the same cell
        for k in range(cells.shape[1]):
            bound = asking[row, k] + step
            if cells[middle, k] != bound:
                is_before = cells[middle, k] < bound
                break
        if is_before:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def meeting_pages(left: Edges, right: Edges, widths: Int64s, old: int) -> Int64s:
    """The pairs of pages that must be compared, by left page and then by right page.

    Neither may lie beyond the reach of the other in grid order, and one must have a row above
    `old`: pairs of rows that were both in the windows before have been compared.
    """
    found = np.empty((len(left.newest) * len(right.newest), 2), np.int64)
    count = 0
    for i in range(len(left.newest)):
        for j in range(len(right.newest)):
            if left.newest[i] <= old and right.newest[j] <= old:
                continue
            if is_out_of_reach(right.last, j, left.first, i, widths):
                continue
            if is_out_of_reach(left.last, i, right.first, j, widths):
                continue
            found[count, 0] = i
            found[count, 1] = j
            count += 1
    return found[:count]


@kernel
def is_out_of_reach(lower: Int64s, at: int, upper: Int64s, other: int, widths: Int64s) -> bool:
    """Whether lower[at] comes before upper[other] - eps in grid order: never candidates."""
    for k in range(len(widths)):
        cell = lower[at, k + 1] // widths[k]
        reached = upper[other, k + 1] // widths[k] - 1
        if cell != reached:
            return bool(cell < reached)
    return False
