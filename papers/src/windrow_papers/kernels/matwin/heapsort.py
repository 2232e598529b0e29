"""Sorting in the grid order where there is no room for a second copy: a heap in place."""

from __future__ import annotations

from windrow.kernels.epsilon_grid import SORT_TESTS, Int64s, is_before
from windrow.kernels.jit import kernel


@kernel
def sort_places(rows: Int64s, places: Int64s, widths: Int64s, work: Int64s) -> None:
    """Puts places of rows into grid order, without room for a second copy (heapsort)."""
    count = len(places)
    for start in range(count // 2 - 1, -1, -1):
        _sift(rows, places, start, count, widths, work)
    for stop in range(count - 1, 0, -1):
        places[0], places[stop] = places[stop], places[0]
        _sift(rows, places, 0, stop, widths, work)


@kernel
def _sift(
    rows: Int64s, places: Int64s, start: int, stop: int, widths: Int64s, work: Int64s
) -> None:
    parent = start
    while 2 * parent + 1 < stop:
        child = 2 * parent + 1
        work[SORT_TESTS] += 2
        if child + 1 < stop and is_before(rows, places[child], places[child + 1], widths):
            child += 1
        if not is_before(rows, places[parent], places[child], widths):
            return
        places[parent], places[child] = places[child], places[parent]
        parent = child
