"""Finds the best pairs of final rows in the pages of the other window, reading as few as it can.

**The search** takes four steps:

1. The rows asked for are put into grid order, in pages of their own: in frames if a third of these
   holds them, else sorted in runs, merged, and kept on disk until they are judged.
2. From the edges of pages: which page of them meets which of the window, in grid order and in time.
3. Gallop and crabstep are counted, the cheaper is run (`cheaper`). Lines of the window that are
   still in frames are compared without a read.
4. Two pages are compared cell by cell: the cells that a row reaches are one interval of those in
   the page, and within a cell a search in time finds the lines of the row's window. What a row
   finds in a page is its skyline there; the skyline of all pages is that of these skylines.

**The order of reads** brings all pairs of pages that can meet into memory together. One buffer is
for a left page, m - 1 are for right pages (bestmatch paper, section 3.3.2).

gallop     left page by left page, each with all right pages that it meets; the right page that was
           used longest ago makes room. Reads every page once, as long as what a left page meets fits
           into the buffers; else each left page reads all of them anew.
crabstep   as gallop, until a left page meets more right pages than there are buffers. Then those in
           memory are pinned, the later left pages come by one after the other and are compared with
           them, all buffers are freed, and it goes on with the left page where it stopped:

               right    1 2 3 | 4 5            left 2 stops before right 4; left 3, 4, 5 come by for
           left 2       x x x | . .            the pinned 1, 2, 3; then it goes on at (2, 4)
           left 3       x x x | . .
           left 4       . x x | . .

Either is counted without reading anything, from the pairs of pages alone.
Crabstep can be the dearer one: where left 1 meets right 1 to 4 and left 2 meets 3 and 4, with four
buffers, gallop reads 6 pages and crabstep 8.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from windrow.kernels.bestmatch import Index, Measures, Probes, best_of_runs, best_pairs
from windrow.kernels.epsilon_grid import Edges, Int64s, meeting_pages, reached_cells
from windrow.operators.bestmatch.pages.page_file import (
    LEAST,
    Page,
    edges,
    gather,
    merged_runs,
    written_run,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from windrow.operators.bestmatch.match_index import MatchIndexer
    from windrow.operators.bestmatch.pages.paged_windows import PagedSide, PagedWindows
    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.engine.base import Counters


GALLOP, CRABSTEP = "gallop", "crabstep"

Column = tuple[int, list[int]]
"""A left page and the right pages that it must be compared with."""


@dataclass(frozen=True)
class Visit:
    """A left page in memory.

    Attributes:
        left: the left page, read for this visit.
        pairs: the right pages it is compared with, in this order: the page, its buffer, and whether
            it is read for it.
    """

    left: int
    pairs: list[tuple[int, int, bool]] = field(default_factory=list)


@dataclass(frozen=True)
class VisitOrder:
    """Visits in their order."""

    mode: str
    visits: list[Visit]

    @property
    def reads(self) -> int:
        """The pages that it reads."""
        return len(self.visits) + self.right_reads

    @property
    def right_reads(self) -> int:
        """The right pages among them: all, where the left ones are in memory."""
        return sum(is_read for visit in self.visits for _, _, is_read in visit.pairs)

    @property
    def buffers(self) -> int:
        """The buffers that it uses, that for left pages included."""
        used = [buffer for visit in self.visits for _, buffer, _ in visit.pairs]
        return max(used) + 2 if used else 0


class _Buffers:
    """The right pages in memory, that used longest ago first."""

    def __init__(self, size: int) -> None:
        self.held: OrderedDict[int, int] = OrderedDict()
        self._free = list(range(size))[::-1]

    def compare(self, visit: Visit, right: int) -> None:
        """Notes a comparison; the right page is read unless it is there."""
        is_read = right not in self.held
        if is_read:
            self.held[right] = self._free.pop() if self._free else self._of_oldest(())
        self.held.move_to_end(right)
        visit.pairs.append((right, self.held[right], is_read))

    def has_room(self, right: int, interval: Collection[int]) -> bool:
        """Whether a page is there, or can be without any of an interval being given up."""
        if right in self.held or self._free:
            return True
        if all(held in interval for held in self.held):
            return False
        self._free.append(self._of_oldest(interval))
        return True

    def _of_oldest(self, interval: Collection[int]) -> int:
        oldest = next(page for page in self.held if page not in interval)
        return self.held.pop(oldest)


def gallop(columns: Sequence[Column], buffers: int) -> VisitOrder:
    """The schedule in gallop mode; `buffers` counts those for right pages."""
    held = _Buffers(buffers)
    visits = []
    for left, rights in columns:
        visit = Visit(left)
        for right in rights:
            held.compare(visit, right)
        visits.append(visit)
    return VisitOrder(GALLOP, visits)


def crabstep(columns: Sequence[Column], buffers: int) -> VisitOrder:
    """The schedule in crabstep mode; `buffers` counts those for right pages."""
    waiting = [(left, list(rights)) for left, rights in columns]
    visits: list[Visit] = []
    while waiting:
        held = _Buffers(buffers)
        stopped = _gallop_until_full(waiting, held, visits)
        if stopped is None:
            break
        for left, rights in waiting[stopped + 1 :]:
            if any(right in held.held for right in rights):
                visit = Visit(left)
                _compare_held(visit, rights, held)
                visits.append(visit)
        waiting = [column for column in waiting[stopped:] if column[1]]
    return VisitOrder(CRABSTEP, visits)


def _gallop_until_full(
    waiting: Sequence[Column], held: _Buffers, visits: list[Visit]
) -> int | None:
    """Gallops; where some left page has not enough buffers, gives its place in what waits."""
    for place, (left, rights) in enumerate(waiting):
        visit = Visit(left)
        visits.append(visit)
        interval = set(rights)
        for done, right in enumerate(rights):
            if not held.has_room(right, interval):
                del rights[:done]
                _compare_held(visit, rights, held)
                return place
            held.compare(visit, right)
        rights.clear()
    return None


def _compare_held(visit: Visit, rights: list[int], held: _Buffers) -> None:
    """Compares a left page with those of its right pages that are in memory."""
    here = [right for right in rights if right in held.held]
    for right in here:
        held.compare(visit, right)
    rights[:] = [right for right in rights if right not in held.held]


def cheaper(columns: Sequence[Column], buffers: int, *, are_left_held: bool = False) -> VisitOrder:
    """The schedule that reads fewer pages, left ones that are held apart; gallop, if both are equal."""
    galloping = gallop(columns, buffers)
    if len({right for _, rights in columns for right in rights}) <= buffers:
        return galloping  # every page is read once
    stepping = crabstep(columns, buffers)
    if are_left_held:
        return stepping if stepping.right_reads < galloping.right_reads else galloping
    return stepping if stepping.reads < galloping.reads else galloping


_FEW_PAIRS = 1 << 14
"""Pairs below which it does not pay to put out dominated ones before the end."""


class Candidates(NamedTuple):
    """Pairs by row asked for: its number, the time and name of the other row, and their codes."""

    asked: Int64s
    times: Int64s
    names: Int64s
    codes: NDArray[np.uint64]

    def take(self, pairs: Int64s) -> Candidates:
        """Some of the pairs."""
        return Candidates._make(column[pairs] for column in self)

    @staticmethod
    def together(parts: Sequence[Candidates]) -> Candidates:
        """All pairs of several lists, by row asked for."""
        whole = Candidates._make(map(np.concatenate, zip(*parts, strict=True)))
        return whole.take(np.argsort(whole.asked, kind="stable"))

    def best(self) -> Candidates:
        """Those that no other pair of the same row dominates."""
        _, starts = np.unique(self.asked, return_index=True)
        return self.take(best_of_runs(np.append(starts, len(self.asked)), self.codes))


class _Found:
    """Pairs as they are found, in any order; dominated ones are put out when there are many."""

    def __init__(self, dimensions: int, *, is_pruned: bool) -> None:
        nothing = np.empty(0, np.int64)
        empty = Candidates(nothing, nothing, nothing, np.empty((0, dimensions), np.uint64))
        self._parts = [empty]
        self._count, self._most = 0, _FEW_PAIRS
        self.is_pruned = is_pruned

    def add(self, pairs: Candidates) -> None:
        self._parts.append(pairs)
        self._count += len(pairs.asked)
        if self.is_pruned and self._count > self._most:
            rest = self.all()
            self._parts, self._count = [rest], len(rest.asked)
            self._most = max(_FEW_PAIRS, 2 * self._count)

    def all(self) -> Candidates:
        """The pairs by row asked for."""
        whole = Candidates.together(self._parts)
        return whole.best() if self.is_pruned else whole


@dataclass
class _Asking:
    """The pages of the rows asked for: where they are in frames, or None for those on disk."""

    pages: list[Page]
    places: list[int] | None
    frames: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Lines:
    """A page of rows asked for, in arrays: what kernels take, and whose they are."""

    cells: Int64s
    first_time: Int64s
    last_time: Int64s
    values: NDArray[np.uint64]
    asked: Int64s


class PageSearch:
    """The search of one bestmatch join for rows of one input, `port`, whose indexer is given."""

    def __init__(
        self, windows: PagedWindows, indexer: MatchIndexer, port: int, counters: Counters
    ) -> None:
        self._windows = windows
        self._coder = windows.coder
        self._file, self._frames = windows.file, windows.frames
        self._indexer = indexer
        self._port = port
        self._met: PagedSide = windows.sides[1 - port]
        self._counters = counters
        self._measures: Measures = windows.coder.measures

    def find(
        self, rows: ChangeBatch, numbers: Int64s, *, is_pruned: bool
    ) -> tuple[Candidates, bool]:
        """The pairs of some rows, called by their numbers, and whether keys are equal for sure.

        Pruned: without those that another one of the same row dominates.
        """
        asking, is_exact = self._asking(rows, numbers)
        found = _Found(len(self._measures.limits), is_pruned=is_pruned)
        self._compare_all(asking, found)
        self._frames.give_back(asking.frames)
        if asking.places is None:
            self._file.forget(asking.pages)
        return found.all(), is_exact and self._met.is_exact

    def _compare_all(self, asking: _Asking, found: _Found) -> None:
        """Compares every page asked for with all that it meets, in the cheaper order."""
        pages, filled = self._met.window.pages, self._met.filled_pages()
        on_disk = self._meeting(asking.pages, pages)
        in_frames = self._meeting(asking.pages, [page for _, page in filled])
        columns = [(number, met) for number, met in enumerate(on_disk) if met or in_frames[number]]
        are_held = asking.places is not None
        spare = self._frames.take()
        left = spare if are_held else self._frames.take()
        schedule = cheaper(columns, self._frames.free, are_left_held=are_held)
        buffers = [self._frames.take() for _ in range(max(schedule.buffers - 1, 0))]
        self._foresee(schedule, asking, columns)
        unseen = {number for number, _ in columns}

        def visited(number: int) -> _Lines:
            """The lines of a page asked for, compared with lines in frames if they were not yet."""
            lines = self._asked_lines(asking, number, left)
            for at in in_frames[number] if number in unseen else ():
                places, _ = filled[at]
                start = self._frames.place(spare)
                gather(self._frames.rows, places, start)
                found.add(self._compared(lines, start, len(places), is_pruned=found.is_pruned))
            unseen.discard(number)
            return lines

        for visit in schedule.visits:
            lines = visited(visit.left)
            for right, buffer, is_read in visit.pairs:
                start = self._frames.place(buffers[buffer])
                if is_read:
                    self._read(pages[right], start)
                count = pages[right].count
                found.add(self._compared(lines, start, count, is_pruned=found.is_pruned))
        for number in sorted(unseen):
            visited(number)
        self._frames.give_back([*buffers, spare] if are_held else [*buffers, spare, left])

    def _foresee(self, schedule: VisitOrder, asking: _Asking, columns: Sequence[Column]) -> None:
        """Counts what a schedule will read; crabstep does not come by pages that meet none on disk."""
        if not schedule.right_reads and asking.places is not None:
            return
        counts = self._windows.counts
        counts.gallops += schedule.mode == GALLOP
        counts.crabsteps += schedule.mode != GALLOP
        counts.foreseen += schedule.right_reads
        if asking.places is None:
            passed_over = {number for number, _ in columns} - {one.left for one in schedule.visits}
            counts.foreseen += len(schedule.visits) + len(passed_over)

    def _read(self, page: Page, start: int) -> None:
        self._file.read(page, start)
        self._windows.counts.reads_to_join += 1

    def _asking(self, rows: ChangeBatch, numbers: Int64s) -> tuple[_Asking, bool]:
        """Puts rows into grid order: in frames, or on disk where they are too many."""
        size = self._frames.page_rows
        most = self._windows.sizes.third * size
        if len(rows) <= most:
            lines, is_exact = self._coder.lines(rows, self._port, numbers)
            frames, places = self._in_frames(lines[self._coder.order(lines)])
            starts = [self._frames.place(frame) for frame in frames]
            parts = [places[at : at + size] for at in range(0, len(places), size)]
            return _Asking([self._file.described(part) for part in parts], starts, frames), is_exact
        runs, is_exact = [], True
        for start in range(0, len(rows), most):
            part = rows.slice(start, min(start + most, len(rows)))
            lines, is_own = self._coder.lines(part, self._port, numbers[start : start + most])
            is_exact &= is_own
            frames, places = self._in_frames(lines[self._coder.order(lines)])
            if len(places):
                runs.append(written_run(self._file, places))
            self._frames.give_back(frames)
        return _Asking(merged_runs(self._file, runs, LEAST), None), is_exact

    def _in_frames(self, lines: Int64s) -> tuple[list[int], Int64s]:
        """Copies lines into frames; gives these, and where each line is."""
        size = self._frames.page_rows
        frames = [self._frames.take() for _ in range(-(-len(lines) // size))]
        at = np.arange(len(lines))
        starts = np.array([self._frames.place(frame) for frame in frames], np.int64)
        places = starts[at // size] + at % size
        self._frames.rows[places] = lines
        return frames, places

    def _meeting(self, asking: Sequence[Page], met: Sequence[Page]) -> list[list[int]]:
        """Per page that asks, the pages that it can have pairs with."""
        columns = 1 + self._coder.cells
        left, right = edges(asking, columns), edges(met, columns)
        oldest = np.array([page.oldest for page in met], np.int64)
        found = []
        for number, page in enumerate(asking):
            one = Edges(*(entry[number : number + 1] for entry in left))
            near = meeting_pages(one, right, self._file.widths, LEAST)[:, 1]
            times = np.array([page.oldest, page.newest])
            first, last = self._indexer.spans(times)
            is_met = (right.newest[near] >= first[0]) & (oldest[near] <= last[1])
            found.append(near[is_met].tolist())
        return found

    def _asked_lines(self, asking: _Asking, number: int, left: int) -> _Lines:
        """A page of rows asked for, which is read into the frame `left` if it is on disk."""
        page = asking.pages[number]
        if asking.places is None:
            start = self._frames.place(left)
            self._read(page, start)
        else:
            start = asking.places[number]
        lines = self._frames.rows[start : start + page.count]
        first, last = self._indexer.spans(lines[:, 0].copy())
        cells, values = self._coder.cells_of(lines), self._coder.values_of(lines)
        return _Lines(cells, first, last, values, lines[:, -1].copy())

    def _compared(self, asked: _Lines, start: int, count: int, *, is_pruned: bool) -> Candidates:
        """The pairs of a page of rows asked for with the page that is at `start`."""
        page = self._frames.rows[start : start + count]
        cells = self._coder.cells_of(page)
        begins = np.append(True, (cells[1:] != cells[:-1]).any(axis=1))
        starts = np.flatnonzero(begins)
        index = Index(
            np.arange(1, len(starts) + 1, dtype=np.uint64),
            np.append(starts, count),
            page[:, 0].copy(),
            self._coder.values_of(page),
            np.arange(count),
        )
        first, last = reached_cells(asked.cells, cells[starts])
        probes = Probes(
            first.view(np.uint64),
            last.view(np.uint64),
            asked.first_time,
            asked.last_time,
            asked.values,
        )
        pairs = best_pairs(index, probes, self._measures, is_pruned)
        self._counters.probes += len(asked.asked)
        self._counters.comparisons += pairs.comparisons
        others = page[pairs.rows]
        return Candidates(asked.asked[pairs.probes], others[:, 0], others[:, -1], pairs.codes)
