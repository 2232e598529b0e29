"""MatWin (bestmatch paper, algorithms 2 and 3): windows shifted together over two streams.

Both windows cover the same interval of y1, which is as high as eps, and moves up in steps:

    y1                                    next left tuple r
    |   |<------ eps = window ------->|      |
    +---lower-----------old-----------upper--+---->
        ^                |<-- new --->|
        oldest left tuple r'

    the window moves until it begins at r', or ends at r, whichever is less far

so that every pair of tuples within eps of each other is in the windows together at some step. A step

    1  reads both streams until all up to `upper` are there, and puts them into pages,
    2  compares what is new with all that it can meet, page by page,
    3  moves the window, and gives the pairs of tuples that have left it: they are final.

A tuple that is read before the window reaches it (fuzzy ordered streams, and the one behind the
window in sorted ones) is in the pages, and is passed over until then.

Beside m pages memory has: the edges of the pages, y1 of every tuple in the window, and the current
best pairs. As printed, a step has a pass over the pages for each of two kinds of new pairs; here
one pass compares both, and no pair of pages is read that has no new tuple.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from windrow.kernels.epsilon_grid import Int64s, meeting_pages
from windrow.operators.bestmatch.pages.page_file import LEAST, Frames, PageFile, edges
from windrow.operators.bestmatch.pages.page_search import GALLOP, Column, VisitOrder
from windrow_papers.kernels.matwin.best import GONE, Bounds, Reach, Side, compare_pages
from windrow_papers.kernels.matwin.heapsort import sort_places
from windrow_papers.operators.matwin.best_pairs import BestPairs, GivenPairs
from windrow_papers.operators.matwin.listed import ListedWindow
from windrow_papers.operators.matwin.pages import (
    CHEAPER,
    SCHEDULERS,
    CelledPageFile,
    MatWinCounts,
    StandardWindow,
)
from windrow_papers.operators.matwin.source import GRID_ORDER, PageSource

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from windrow.operators.bestmatch.pages.page_file import Page

STANDARD, GRID = "standard", "grid"
JUDGED = {
    "left outer": (True, False),
    "right outer": (False, True),
    "full outer": (True, True),
}
LEAST_BUFFERS = 4
"""Two for each stream while windows are read: one to read into, one to write from."""

LEAST_PAGE_ROWS = 2
"""A page of fewer cannot be cut into halves."""


@dataclass(frozen=True)
class Setting:
    """How the windows are kept.

    Attributes:
        page_rows: tuples of a page.
        buffers: pages that memory has room for.
        materialization: "standard" or "grid".
        is_grid_ordered: whether rows are kept in grid order; if not, in order of y1.
        mode: of the schedule: "gallop", "crabstep", or the cheaper of both at each step.
        kind: which outer join.
    """

    page_rows: int = 32
    buffers: int = 16
    materialization: str = STANDARD
    is_grid_ordered: bool = True
    mode: str = CHEAPER
    kind: str = "left outer"


class _Stream:
    """One stream: its source, its window, the tuples just read, and the best pairs of its tuples."""

    def __init__(
        self, source: PageSource, file: PageFile, setting: Setting, dimensions: int
    ) -> None:
        self.source = source
        self.alive = BestPairs(dimensions)
        self._file = file
        # In order already, if its source is in the order that its pages are to be in.
        self._is_in_order = setting.is_grid_ordered and source.promise.kind == GRID_ORDER
        self.window: StandardWindow | ListedWindow
        if setting.materialization == GRID:
            self.window = ListedWindow(file)
        elif self._is_in_order:
            self.window = ListedWindow(file, slab=source.promise.amount)
        else:
            self.window = StandardWindow(file)
        self._frames: list[int] = []
        self._places: list[int] = []

    def read(self, lower: int, share: int) -> None:
        """Reads a tuple; what was read before is stored when the frames for it are full.

        Args:
            lower: a tuple with a y1 below is of no use.
            share: the frames that this stream may use, one of them to store from.
        """
        frames = self._file.frames
        if len(self._places) == len(self._frames) * frames.page_rows:
            if len(self._frames) >= share - 1:
                self.store()
            self._frames.append(frames.take())
        frame = self._frames[len(self._places) // frames.page_rows]
        place = frames.place(frame) + len(self._places) % frames.page_rows
        number = self.source.taken
        y1 = self.source.read_into(frames.rows[place])
        if y1 is None or y1 < lower:
            self.alive.enter(number, GONE)
            return
        self.alive.enter(number, y1)
        self._places.append(place)

    def store(self) -> None:
        """Puts what was read into pages, in their order."""
        if self._places:
            places = np.array(self._places)
            if not self._is_in_order:
                sort_places(
                    self._file.frames.rows, places, self._file.widths, self._file.counts.work
                )
            self.window.store(places)
        self._file.frames.give_back(self._frames)
        self._frames, self._places = [], []


class MatWin:
    """A constrained outer bestmatch join of two streams; least distance in every dimension.

    Args:
        left: the left stream.
        right: the right one.
        eps: the largest distance in each dimension; the first is that of y1, above 0.
        setting: how windows are kept.
        folder: where pages are; None: where temporary files go.
    """

    def __init__(
        self,
        left: PageSource,
        right: PageSource,
        eps: Sequence[int],
        setting: Setting,
        folder: Path | None = None,
    ) -> None:
        assert setting.buffers >= LEAST_BUFFERS, "too few buffers to read two streams"
        assert setting.page_rows >= LEAST_PAGE_ROWS, "too few rows of a page to divide it"
        self.counts = MatWinCounts()
        self._setting = setting
        self._eps = np.array(eps, np.int64)
        widths = np.maximum(self._eps[1:], 1) if setting.is_grid_ordered else self._eps[:0]
        self._frames = Frames(setting.buffers, setting.page_rows, len(eps) + 1)
        self._file = CelledPageFile(self._frames, widths, self.counts, folder)
        self._sides = tuple(
            _Stream(source, self._file, setting, len(eps)) for source in (left, right)
        )
        self._reach = Reach(self._eps, widths)
        self._judged = JUDGED[setting.kind]
        self._given = GivenPairs()

    def run(self) -> Iterator[Int64s]:
        """The best pairs as they become final: after each step an array of (left, right) numbers."""
        try:
            yield from self._steps()
        finally:
            self._file.close()

    def _steps(self) -> Iterator[Int64s]:
        alive, eps = self._sides[0].alive, int(self._eps[0])
        self._fill(Bounds(LEAST, LEAST, LEAST))
        oldest = alive.least_above(LEAST)
        bounds = Bounds(oldest - eps, oldest - eps - 1, oldest)
        while oldest != GONE:
            self._fill(bounds)
            for side in self._sides:
                side.window.settle(bounds.lower)
            self._update(bounds)
            oldest = alive.least_above(bounds.lower)
            lower = min(oldest, alive.least_above(bounds.upper) - eps)
            # Where no left tuple stays, all that will be in the windows is new to each other.
            old = bounds.upper if oldest <= bounds.upper else lower - 1
            bounds = Bounds(lower, old, lower + eps)
            yield self._finished(lower if oldest != GONE else GONE)
        yield self._finished(GONE)

    def _fill(self, bounds: Bounds) -> None:
        """Reads both streams, in turn, until the windows are complete (algorithm 3).

        Frames are divided evenly, until one stream's window is complete: then it has them all.
        """
        unfilled = list(self._sides)
        share = self._setting.buffers // 2
        while unfilled:
            for side in list(unfilled):
                if self._is_filled(side, bounds):
                    side.store()
                    unfilled.remove(side)
                    share = self._setting.buffers
                else:
                    side.read(bounds.lower, share)

    def _is_filled(self, side: _Stream, bounds: Bounds) -> bool:
        """Whether all up to the bound are read, and of the left stream which tuple comes next."""
        if side is self._sides[0]:
            return side.alive.least_above(bounds.upper) <= side.source.assured
        return bounds.upper < side.source.assured

    def _update(self, bounds: Bounds) -> None:
        """Compares what is new in the windows with all that it can meet."""
        pages = [side.window.pages for side in self._sides]
        columns = self._columns(pages, bounds)
        schedule = SCHEDULERS[self._setting.mode](columns, self._setting.buffers - 1)
        self.counts.foreseen += schedule.reads
        if schedule.mode == GALLOP:
            self.counts.gallops += 1
        else:
            self.counts.crabsteps += 1
        self._compare(schedule, pages, bounds)

    def _columns(self, pages: Sequence[Sequence[Page]], bounds: Bounds) -> list[Column]:
        width = len(self._eps) + 1
        left, right = (edges(own, width) for own in pages)
        columns: dict[int, list[int]] = {}
        for one, other in meeting_pages(left, right, self._file.widths, bounds.old).tolist():
            columns.setdefault(one, []).append(other)
        return list(columns.items())

    def _compare(
        self, schedule: VisitOrder, pages: Sequence[Sequence[Page]], bounds: Bounds
    ) -> None:
        """Runs a schedule: reads its pages into frames, and compares them two by two."""
        mine = [self._frames.take() for _ in range(schedule.buffers)]
        places = [self._frames.place(frame) for frame in mine]
        most = self._setting.page_rows**2
        judged = [
            side.alive
            for side, is_judged in zip(self._sides, self._judged, strict=True)
            if is_judged
        ]
        for visit in schedule.visits:
            left = self._read(pages[0][visit.left], places[0])
            for number, buffer, is_read in visit.pairs:
                page = pages[1][number]
                start = places[buffer + 1]
                if is_read:
                    right = self._read(page, start)
                else:
                    right = Side(start, start + page.count, self._file.cells_of(page))
                for alive in judged:
                    alive.have_room(most)
                best = (self._sides[0].alive.best, self._sides[1].alive.best)
                compare_pages(
                    self._frames.rows, (left, right), bounds, self._reach, best, self._judged,
                    self.counts.work,
                )  # fmt: skip
        self._frames.give_back(mine)

    def _read(self, page: Page, place: int) -> Side:
        self.counts.reads_to_join += 1
        return Side(place, self._file.read(page, place), self._file.cells_of(page))

    def _finished(self, below: int) -> Int64s:
        """The pairs of the tuples that the window has passed, each (left, right), each once."""
        parts = []
        for number, (side, is_judged) in enumerate(zip(self._sides, self._judged, strict=True)):
            found = side.alive.finish(below)
            if is_judged:
                if all(self._judged):
                    found = self._given.new_of(number, found, self._sides[1 - number].alive)
                parts.append(found if number == 0 else found[:, ::-1])
        return np.concatenate(parts)
