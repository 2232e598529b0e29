"""Pages of a fixed number of rows: in a file, and in the m frames of memory there are for them.

    frames   [ page | page | .. | page ]      one array, m pages; every row that is looked at is here
                 ^      |
            read |      v write
    file     [ slot | slot | slot | .. ]      a temporary file without a name; free slots are used again

Of each page on disk memory keeps its edges: the first and the last row as far as the order looks at
them, the smallest and the largest y1.

**Standard materialization** (section 3.3.3) writes windows as sorted runs, merged with the old window.

    buffers full: sort, write a run      run 1 [page][page]
                                         run 2 [page][page][page]
    window read: merge                   old   [page][page][page][page]   expired rows left out
                                         ------------------------------
                                         new   [page][page][page][page][page]

One frame is for each run that is merged, one for what comes out. Where there are more runs than
frames, some are merged into one first.
"""

from __future__ import annotations

import errno
import os
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from windrow.errors import InternalError
from windrow.kernels.epsilon_grid import KINDS_OF_WORK, Edges, Int64s, merge_pages
from windrow.operators.columns.chunks import tail_to_merge

LEAST = -(2**63)
"""The least y1 that there is."""

IN_MEMORY = -1
"""The slot of a page that is not on disk."""

_NUMBER_BYTES = 8

_OBJECT_BYTES = 340
"""What Python takes for a page beside its numbers: an object, an array, integers (measured: 320)."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page on disk, and what memory keeps of it.

    Attributes:
        slot: where in the file it is.
        count: its rows.
        ends: its first and its last row, a line each.
        oldest: its smallest y1.
        newest: its largest y1.
    """

    slot: int
    count: int
    ends: Int64s
    oldest: int
    newest: int

    @property
    def last(self) -> Int64s:
        """Its last row."""
        last: Int64s = self.ends[1]
        return last


def edge_bytes(columns: int) -> int:
    """Bytes that memory keeps of a page whose ends have so many columns."""
    return _OBJECT_BYTES + 2 * columns * _NUMBER_BYTES


@dataclass
class PageCounts:
    """What was done.

    Attributes:
        reads_to_store: pages read to sort, merge or fill them.
        reads_to_join: pages read to be compared.
        foreseen: the latter as counted beforehand.
        writes: pages written.
        gallops: updates that ran in gallop mode.
        crabsteps: updates that ran in crabstep mode.
        sorted_rows: rows of a query that were sorted.
        work: comparisons, as the kernels list them.
    """

    reads_to_store: int = 0
    reads_to_join: int = 0
    foreseen: int = 0
    writes: int = 0
    gallops: int = 0
    crabsteps: int = 0
    sorted_rows: int = 0
    work: Int64s = field(default_factory=lambda: np.zeros(KINDS_OF_WORK, np.int64))

    def start_again(self) -> None:
        """Sets the figures of pages back to nothing: they have been told to someone."""
        self.reads_to_store = self.reads_to_join = self.foreseen = 0
        self.writes = self.gallops = self.crabsteps = 0


class Frames:
    """The m page frames of memory; all rows lie in them, a frame's from `place` on.

    `buffers` says how many there are; rows have so many columns.
    """

    def __init__(self, buffers: int, page_rows: int, columns: int) -> None:
        self.buffers = buffers
        self.page_rows = page_rows
        self.rows = np.empty((buffers * page_rows, columns), np.int64)
        self._free = list(range(buffers))

    @property
    def free(self) -> int:
        """How many are not in use."""
        return len(self._free)

    def take(self) -> int:
        """A frame that is free from now on not.

        Raises:
            InternalError: all are in use.
        """
        if not self._free:
            raise InternalError("no-free-frame", f"all {self.buffers} page frames are in use")
        return self._free.pop()

    def give_back(self, frames: Sequence[int]) -> None:
        """Frees frames."""
        self._free.extend(frames)

    def place(self, frame: int) -> int:
        """Where the rows of a frame begin."""
        return frame * self.page_rows


class PageFile:
    """Pages on disk, read into frames and written from them.

    Args:
        frames: the memory.
        widths: of the cells that rows are ordered by.
        counts: told of every page written.
        folder: where the file is; None: where temporary files go.
    """

    def __init__(
        self, frames: Frames, widths: Int64s, counts: PageCounts, folder: Path | None = None
    ) -> None:
        self.frames = frames
        self.widths = widths
        self.counts = counts
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            self._file = os.dup(file.fileno())
        # It has no name: the system removes it as it is closed, at the latest with this object.
        self._closing = weakref.finalize(self, os.close, self._file)
        self._row_bytes = frames.rows.itemsize * frames.rows.shape[1]
        self._bytes = frames.rows.data.cast("B")
        self._free_slots: list[int] = []
        self._slots = 0

    def write(self, start: int, count: int) -> Page:
        """Writes rows that lie one after the other as one page.

        Raises:
            OSError: the folder cannot be written, or the disk is full.
        """
        slot = self._free_slots.pop() if self._free_slots else self._new_slot()
        at = start * self._row_bytes
        content = self._bytes[at : at + count * self._row_bytes]
        written = os.pwrite(self._file, content, self._offset(slot))
        if written < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.counts.writes += 1
        return self.described(np.arange(start, start + count), slot)

    def described(self, places: Int64s, slot: int = IN_MEMORY) -> Page:
        """What memory keeps of rows in grid order, which are one page."""
        rows, columns = self.frames.rows, 1 + len(self.widths)
        y1 = rows[places, 0]
        ends = rows[places[[0, -1]], :columns]
        return Page(slot, len(places), ends, int(y1.min()), int(y1.max()))

    def read(self, page: Page, place: int) -> int:
        """Reads a page to where a frame begins; gives the place after its last row.

        The caller counts it: it knows what for.
        """
        at = place * self._row_bytes
        room = self._bytes[at : at + page.count * self._row_bytes]
        taken = os.preadv(self._file, [room], self._offset(page.slot))
        assert taken == len(room), "a page is read as a whole"
        return place + page.count

    def forget(self, pages: Sequence[Page]) -> None:
        """Frees the slots of pages that nobody needs any more."""
        self._free_slots.extend(page.slot for page in pages)

    def close(self) -> None:
        """Removes the file."""
        self._closing()

    def _new_slot(self) -> int:
        self._slots += 1
        return self._slots - 1

    def _offset(self, slot: int) -> int:
        return slot * self.frames.page_rows * self._row_bytes


def edges(pages: Sequence[Page], columns: int) -> Edges:
    """What memory keeps of pages, as arrays."""
    if not pages:
        nothing = np.empty((0, columns), np.int64)
        return Edges(nothing, nothing, np.empty(0, np.int64))
    ends = np.array([page.ends for page in pages])
    first, last = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    return Edges(first, last, np.array([page.newest for page in pages]))


def drop_expired(file: PageFile, pages: Sequence[Page], lower: int) -> list[Page]:
    """The pages that have a row of the window; the others are forgotten without being read."""
    file.forget([page for page in pages if page.newest < lower])
    return [page for page in pages if page.newest >= lower]


class TieredWindow:
    """The window of one stream as few sorted runs: those of about a size are merged.

    Where little is new at each step, to make one sequence of all would read and write the window
    every time. Merged by tiers of four, a row is written anew once per tier, and at most three runs
    of each tier stay. Rows that follow all of the newest run, as from a source in grid order, are
    put behind it and need no merging.
    """

    def __init__(self, file: PageFile) -> None:
        self._file = file
        self._runs: list[list[Page]] = []
        self._lower = LEAST

    @property
    def pages(self) -> list[Page]:
        """All pages: run by run, in each in grid order."""
        return [page for run in self._runs for page in run]

    def store(self, places: Int64s) -> None:
        """Writes rows in grid order, wherever they are in memory, as a run; then merges."""
        if self._runs and self._is_behind(int(places[0])):
            self._runs[-1] += written_run(self._file, places)
            return
        self._runs.append(written_run(self._file, places))
        while (
            start := tail_to_merge([sum(page.count for page in run) for run in self._runs])
        ) is not None:
            merged = merged_runs(self._file, self._runs[start:], self._lower)
            self._runs[start:] = [merged] if merged else []

    def settle(self, lower: int) -> None:
        """Forgets pages all of whose rows have a y1 below `lower`."""
        self._lower = lower
        kept = (drop_expired(self._file, run, lower) for run in self._runs)
        self._runs = [run for run in kept if run]

    def _is_behind(self, place: int) -> bool:
        """Whether a row follows the last one of the newest run in grid order."""
        last, first = self._runs[-1][-1].last.tolist(), self._file.frames.rows[place].tolist()
        cells = len(self._file.widths)
        return (last[1:], last[0]) <= (first[1 : 1 + cells], first[0])


def written_run(file: PageFile, places: Int64s) -> list[Page]:
    """Writes rows in grid order, wherever they are in memory, page by page."""
    frames = file.frames
    frame = frames.take()
    out = frames.place(frame)
    run = []
    for start in range(0, len(places), frames.page_rows):
        part = places[start : start + frames.page_rows]
        gather(frames.rows, part, out)
        run.append(file.write(out, len(part)))
    frames.give_back([frame])
    return run


def merged_runs(file: PageFile, runs: Sequence[list[Page]], lower: int) -> list[Page]:
    """One sequence of all runs; rows whose y1 is below `lower` are no more."""
    most = file.frames.free - 1
    while len(runs) > most:
        runs = [*runs[most:], _Merge(file, runs[:most], LEAST).pages()]
    return _Merge(file, runs, lower).pages()


class _Merge:
    """Runs that are being merged: a frame with the present page of each, and one for the result."""

    def __init__(self, file: PageFile, runs: Sequence[list[Page]], lower: int) -> None:
        runs = [run for run in runs if run]
        self._file = file
        self._lower = lower
        self._coming = [iter(run) for run in runs]
        self._frames = [file.frames.take() for _ in runs]
        self._heads = np.zeros(len(runs), np.int64)
        self._stops = np.zeros(len(runs), np.int64)
        self._out = file.frames.take()

    def pages(self) -> list[Page]:
        """Merges to the end."""
        frames, counts = self._file.frames, self._file.counts
        made: list[Page] = []
        start = frames.place(self._out)
        out = np.array([start, start + frames.page_rows])
        while self._next_pages():
            merge_pages(
                frames.rows, self._heads, self._stops, out, self._file.widths, self._lower,
                counts.work,
            )  # fmt: skip
            if out[0] == out[1]:
                made.append(self._file.write(start, frames.page_rows))
                out[0] = start
        if out[0] > start:
            made.append(self._file.write(start, int(out[0]) - start))
        frames.give_back([self._out])
        return made

    def _next_pages(self) -> bool:
        """Reads the next page of every run whose page is used up; False once all runs are."""
        heads, stops = self._heads.tolist(), self._stops.tolist()
        for run in range(len(heads) - 1, -1, -1):
            if heads[run] < stops[run]:
                continue
            page = next(self._coming[run], None)
            if page is None:
                self._file.frames.give_back([self._frames.pop(run)])
                del self._coming[run]
                self._heads = np.delete(self._heads, run)
                self._stops = np.delete(self._stops, run)
                continue
            start = self._file.frames.place(self._frames[run])
            self._heads[run], self._stops[run] = start, self._file.read(page, start)
            self._file.counts.reads_to_store += 1
            # It is in memory now, and nowhere else: what comes out may take its slot.
            self._file.forget([page])
        return bool(self._coming)


def gather(rows: Int64s, places: Int64s, out: int) -> None:
    """Copies rows to `out` and after; mode `clip` writes in place, the others by way of a copy."""
    np.take(rows, places, axis=0, out=rows[out : out + len(places)], mode="clip")
