"""The current best pairs O of the bestmatch paper, and the comparison of two pages that updates them.

O is kept by tuple: those that a judged tuple is part of, none dominated by another. Tuples alive are
numbered as they came, and lie in a ring; what is known of one is at its number modulo the ring:

    ring     [ y1, head | y1, head | gone | y1, head | .. ]      first .. stop are the numbers alive
                   |
    pairs         mate, distances -> mate, distances -> none     room is taken from a list of free ones

Two pages are compared cell by cell. Within a cell rows are in order of y1, so that a search finds
where the window begins, where the new part begins and where the window ends (section 3.3.2):

    y1 in a cell      expired |  old part  |   new part   | ahead of the window
                            lower      above `old`     above `upper`

Compared are old x new, new x old and new x new; old x old were, when the newer came.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.kernels.epsilon_grid import (
    CELL_TESTS,
    DOMINANCE_TESTS,
    PAIR_TESTS,
    Int64s,
    is_out_of_reach,
)
from windrow.kernels.jit import kernel

GONE = 2**63 - 1
"""The y1 of a number in the ring that is not, or no longer, alive."""

FREE, ROOM, FIRST, STOP = range(4)
"""In `state`: the first free pair, how many are free, the numbers that the ring holds."""


class Best(NamedTuple):
    """Tuples alive and their best pairs; see above."""

    y1: Int64s
    head: Int64s
    following: Int64s
    mate: Int64s
    distances: Int64s  # a line per pair, a column per dimension
    state: Int64s


class Side(NamedTuple):
    """A page to be compared: the place of its first row, of the row after its last, and its cells."""

    start: int
    stop: int
    cells: Int64s


class Reach(NamedTuple):
    """The largest distance in each dimension, and the widths of the cells that rows are kept by."""

    eps: Int64s
    widths: Int64s


class Bounds(NamedTuple):
    """The window in y1, both ends included; rows above `old` are new in it."""

    lower: int
    old: int
    upper: int


@kernel
def compare_pages(
    rows: Int64s,
    pages: tuple[Side, Side],
    bounds: Bounds,
    reach: Reach,
    best: tuple[Best, Best],
    judged: tuple[bool, bool],
    work: Int64s,
) -> None:
    """Updates the best pairs with those of two pages that are new."""
    left, right = pages
    eps, widths = reach
    apart = np.empty(len(eps), np.int64)
    left_parts = _parts(rows, left, bounds)
    right_parts = _parts(rows, right, bounds)
    for i in range(len(left.cells)):
        start, new, stop = left_parts[i, 0], left_parts[i, 1], left_parts[i, 2]
        if start == stop:
            continue
        a = left.start + left.cells[i]
        for j in range(len(right.cells)):
            if new == stop and right_parts[j, 1] == right_parts[j, 2]:
                continue  # nothing is new in either
            b = right.start + right.cells[j]
            work[CELL_TESTS] += 1
            if is_out_of_reach(rows, b, rows, a, widths) or is_out_of_reach(
                rows, a, rows, b, widths
            ):
                continue
            for one in range(start, stop):
                mates = right_parts[j, 1] if one < new else right_parts[j, 0]
                for other in range(mates, right_parts[j, 2]):
                    work[PAIR_TESTS] += 1
                    if _is_candidate(rows, one, other, eps, apart):
                        last = rows.shape[1] - 1
                        if judged[0]:
                            _judge(best[0], rows[one, last], rows[other, last], apart, work)
                        if judged[1]:
                            _judge(best[1], rows[other, last], rows[one, last], apart, work)


@kernel
def _parts(rows: Int64s, page: Side, bounds: Bounds) -> Int64s:
    """Where the window, its new part, and what is ahead of it begin in each cell of a page."""
    count = len(page.cells)
    parts = np.empty((count, 3), np.int64)
    for cell in range(count):
        start = page.start + page.cells[cell]
        stop = page.start + page.cells[cell + 1] if cell + 1 < count else page.stop
        parts[cell, 0] = _first_above(rows, start, stop, bounds.lower - 1)
        parts[cell, 1] = _first_above(rows, parts[cell, 0], stop, bounds.old)
        parts[cell, 2] = _first_above(rows, parts[cell, 1], stop, bounds.upper)
    return parts


@kernel
def _first_above(rows: Int64s, start: int, stop: int, bound: int) -> int:
    while start < stop:
        middle = (start + stop) // 2
        if rows[middle, 0] <= bound:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def _is_candidate(rows: Int64s, one: int, other: int, eps: Int64s, apart: Int64s) -> bool:
    """Whether two rows are within eps in every dimension; their distances are written."""
    for k in range(len(eps)):
        apart[k] = abs(rows[one, k] - rows[other, k])
        if apart[k] > eps[k]:
            return False
    return True


@kernel
def _judge(best: Best, owner: int, mate: int, apart: Int64s, work: Int64s) -> None:
    """Takes a pair up among those of a tuple, unless dominated; those that it dominates go."""
    slot = owner & (len(best.head) - 1)
    before, at = -1, best.head[slot]
    while at >= 0:
        work[DOMINANCE_TESTS] += 1
        is_better, is_worse = False, False  # the pair that is there, than the new one
        for k in range(len(apart)):
            if best.distances[at, k] < apart[k]:
                is_better = True
            elif best.distances[at, k] > apart[k]:
                is_worse = True
        if is_better and not is_worse:
            return
        after = best.following[at]
        if is_worse and not is_better:
            if before < 0:
                best.head[slot] = after
            else:
                best.following[before] = after
            _free(best, at)
        else:
            before = at
        at = after
    pair = best.state[FREE]
    best.state[FREE] = best.following[pair]
    best.state[ROOM] -= 1
    best.mate[pair] = mate
    for k in range(len(apart)):
        best.distances[pair, k] = apart[k]
    best.following[pair] = best.head[slot]
    best.head[slot] = pair


@kernel
def _free(best: Best, pair: int) -> None:
    best.following[pair] = best.state[FREE]
    best.state[FREE] = pair
    best.state[ROOM] += 1


@kernel
def take_finished(best: Best, below: int) -> Int64s:
    """Forgets the tuples whose y1 is below a bound; gives their pairs (tuple, mate)."""
    mask = len(best.head) - 1
    count = 0
    for number in range(best.state[FIRST], best.state[STOP]):
        if best.y1[number & mask] < below:
            at = best.head[number & mask]
            while at >= 0:
                count += 1
                at = best.following[at]
    found = np.empty((count, 2), np.int64)
    count = 0
    for number in range(best.state[FIRST], best.state[STOP]):
        slot = number & mask
        if best.y1[slot] < below:
            at = best.head[slot]
            while at >= 0:
                found[count, 0] = number
                found[count, 1] = best.mate[at]
                count += 1
                after = best.following[at]
                _free(best, at)
                at = after
            best.head[slot] = -1
            best.y1[slot] = GONE
    while best.state[FIRST] < best.state[STOP] and best.y1[best.state[FIRST] & mask] == GONE:
        best.state[FIRST] += 1
    return found


@kernel
def least_above(best: Best, bound: int) -> int:
    """The least y1 above a bound among the tuples alive; GONE if there is none."""
    mask = len(best.head) - 1
    least = GONE
    for number in range(best.state[FIRST], best.state[STOP]):
        y1 = best.y1[number & mask]
        if bound < y1 < least:
            least = y1
    return least


@kernel
def cell_starts(rows: Int64s, start: int, stop: int, widths: Int64s) -> Int64s:
    """Where in the page at [start, stop) each cell starts."""
    starts = np.empty(stop - start, np.int64)
    count = 0
    for at in range(start, stop):
        is_start = at == start
        for k in range(len(widths)):
            if rows[at, k + 1] // widths[k] != rows[at - 1, k + 1] // widths[k]:
                is_start = True
        if is_start:
            starts[count] = at - start
            count += 1
    return starts[:count]
