"""Windows of a query in pages: how memory is divided, what is in which page, what is forgotten."""

from __future__ import annotations

import tracemalloc
from random import Random

import numpy as np
import pytest
from cases.match_runs import MatchRun
from twins.bestmatch import Rules

from windrow.operators.bestmatch.match_index import MatchIndexer
from windrow.operators.bestmatch.pages.lines import LineCoder
from windrow.operators.bestmatch.pages.page_file import PageCounts
from windrow.operators.bestmatch.pages.paged_windows import PagedWindows, PageSizes

LEFT, RIGHT = 0, 1
TIME, CELL, NAME = 0, 1, -1


def windows(rows, *, by_cell=False, sizes=PageSizes(4, 9, 1_000)):  # noqa: B008
    """Windows for a join in one dimension with a limit of 10, and the rows of either stream."""
    either = tuple({"id": i, "t": t, "y": (y,), "k": ()} for i, (t, y) in enumerate(rows))
    rules = Rules((10,), (), 50, 50, kind="full outer")
    case = MatchRun(("bigint",), ("mindist",), (), rules, either, either, ())
    coder = LineCoder(MatchIndexer(case.node(), LEFT))
    return PagedWindows(coder, sizes, PageCounts(), by_cell=by_cell), case


def add(paged, case, places, port=RIGHT):
    paged.add(port, case.batch("lr"[port], tuple(places)), np.array(places))


def read(paged, pages):
    """The lines of some pages."""
    frame = paged.frames.take()
    start = paged.frames.place(frame)
    found = []
    for page in pages:
        paged.file.read(page, start)
        found += paged.frames.rows[start : start + page.count].tolist()
    paged.frames.give_back([frame])
    return found


def order(line):
    return line[CELL], line[TIME], line[NAME]


def drawn(seed, count=150):
    random = Random(seed)
    return sorted((random.randrange(300), random.randrange(100)) for _ in range(count))


@pytest.mark.law
@pytest.mark.parametrize("seed", range(5))
def test_every_run_is_in_grid_order_and_no_line_is_lost(seed):
    rows = drawn(seed)
    if seed % 2:  # by slabs of 100, in them by cells: some runs go on where the last one ended
        rows.sort(key=lambda row: (row[0] // 100, row[1] // 10, row[0]))
    paged, case = windows(rows)
    for start in range(0, len(rows), 7):
        add(paged, case, range(start, min(start + 7, len(rows))))
    paged.sides[RIGHT].store()
    runs = [read(paged, run) for run in paged.sides[RIGHT].window._runs]
    for run in runs:
        assert [order(line)[:2] for line in run] == sorted(order(line)[:2] for line in run)
    assert sorted(line[NAME] for run in runs for line in run) == list(range(len(rows)))
    assert (len(runs) <= 4) or seed % 2 == 0


@pytest.mark.law
@pytest.mark.parametrize("seed", range(3))
def test_by_cell_a_page_has_one_cell_by_time_and_only_last_pages_have_room(seed):
    rows = drawn(seed)
    paged, case = windows(rows, by_cell=True)
    for start in range(0, len(rows), 7):
        add(paged, case, range(start, min(start + 7, len(rows))))
    paged.sides[RIGHT].store()
    lists = paged.sides[RIGHT].window._lists.values()
    assert len(lists) == len({y // 10 for _, y in rows})
    names = []
    for own in lists:
        assert [page.count for page in own[:-1]] == [4] * (len(own) - 1)
        for page in own:
            lines = read(paged, [page])
            assert len({line[CELL] for line in lines}) == 1
            assert lines == sorted(lines, key=order)
            assert (page.oldest, page.newest) == (lines[0][TIME], lines[-1][TIME])
            names += [line[NAME] for line in lines]
    assert sorted(names) == list(range(len(rows)))


def test_lines_go_once_nothing_meets_them_from_frames_and_from_disk():
    paged, case = windows([(5, 0), (6, 0), (7, 50)])
    side = paged.sides[RIGHT]
    add(paged, case, [0, 1])
    side.store()
    add(paged, case, [2])
    for lower, pages, frames in [(6, 1, 1), (7, 0, 1), (8, 0, 0)]:
        paged.settle(RIGHT, lower)
        assert (paged.pages, side.filled) == (pages, frames)
    assert paged.frames.free == paged.sizes.buffers


def test_frames_follow_what_arrives():
    """Of 9 frames 3 are to be filled: the stream that has filled more goes to disk."""
    rows = [(t, 0) for t in range(40)]
    paged, case = windows(rows)
    filled = []
    for port, places in [(LEFT, range(4)), (RIGHT, range(8)), (LEFT, range(4, 8)), (RIGHT, [8])]:
        add(paged, case, places, port)
        filled.append([side.filled for side in paged.sides])
    assert filled == [[1, 0], [1, 2], [2, 0], [2, 1]]
    assert (paged.pages, paged.counts.writes) == (2, 2)


def test_lines_in_grid_order_are_neither_sorted_nor_merged():
    paged, case = windows([(t, 10 * (t % 100) // 25 * 25) for t in range(200)])
    add(paged, case, sorted(range(200), key=lambda t: (t // 100, t % 100 // 25, t)))
    paged.sides[RIGHT].store()
    assert paged.counts.sorted_rows == paged.counts.reads_to_store == 0
    assert paged.counts.writes == paged.pages
    assert len(paged.sides[RIGHT].window._runs) == 2


def test_memory_is_divided_into_pages_by_what_there_is():
    assert PageSizes.of(11, 9) is None
    assert PageSizes.of(12, 9) == PageSizes(2, 6, 9)
    assert PageSizes.of(1_600, 9) == PageSizes(100, 16, 9)
    assert PageSizes.of(1_600, 9, are_large=True) == PageSizes(266, 6, 9)
    assert PageSizes.of(409_600, 9) == PageSizes(4_096, 100, 9)


@pytest.mark.law
@pytest.mark.parametrize("by_cell", [False, True])
def test_a_page_takes_no_more_memory_than_it_is_counted_with(by_cell):
    rows = [(10**12 + t, 10 * t) for t in range(1_000)]
    paged, case = windows(rows, by_cell=by_cell, sizes=PageSizes(2, 12, 1_000))
    add(paged, case, range(8))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        add(paged, case, range(8, 1_000))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert paged.pages > 450
    assert after - before < paged.pages * PagedWindows.edge_bytes(paged.coder, by_cell=by_cell)
