"""Standard materialization (section 3.3.3): sorted runs, merged with the old window.

    buffers full: sort, write a run      run 1 [page][page]
                                         run 2 [page][page][page]
    window read: merge                   old   [page][page][page][page]   expired rows left out
                                         ------------------------------
                                         new   [page][page][page][page][page]

One frame is for each run that is merged, one for what comes out. Where there are more runs than
frames, some are merged into one first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow.kernels.epsilon_grid import Numbers, merge_pages
from windrow.operators.bestmatch.pages.page_file import LEAST, drop_expired
from windrow.operators.columns.chunks import tail_to_merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windrow.operators.bestmatch.pages.page_file import Page, PageFile


class StandardWindow:
    """The window of one stream as one sorted sequence of pages."""

    def __init__(self, file: PageFile) -> None:
        self.pages: list[Page] = []
        self._file = file
        self._runs: list[list[Page]] = []

    def store(self, places: Numbers) -> None:
        """Writes rows in grid order, wherever they are in memory, as a run."""
        self._runs.append(written_run(self._file, places))

    def settle(self, lower: int) -> None:
        """Makes one sequence of all; rows whose y1 is below `lower` are no more."""
        self.pages = drop_expired(self._file, self.pages, lower)
        if not self._runs:
            return
        self.pages = merged_runs(self._file, [self.pages, *self._runs], lower)
        self._runs = []


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

    def store(self, places: Numbers) -> None:
        """Writes rows in grid order, wherever they are in memory, as a run; then merges."""
        if self._runs and self._is_behind(int(places[0])):
            self._runs[-1] += written_run(self._file, places)
            return
        self._runs.append(written_run(self._file, places))
        while (start := self._tail_to_merge()) is not None:
            merged = merged_runs(self._file, self._runs[start:], self._lower)
            self._runs[start:] = [merged] if merged else []

    def settle(self, lower: int) -> None:
        """Forgets pages all of whose rows have a y1 below `lower`."""
        self._lower = lower
        kept = (drop_expired(self._file, run, lower) for run in self._runs)
        self._runs = [run for run in kept if run]

    def _tail_to_merge(self) -> int | None:
        return tail_to_merge([sum(page.count for page in run) for run in self._runs])

    def _is_behind(self, place: int) -> bool:
        """Whether a row follows the last one of the newest run in grid order."""
        last, first = self._runs[-1][-1].last.tolist(), self._file.frames.rows[place].tolist()
        cells = len(self._file.widths)
        return (last[1:], last[0]) <= (first[1 : 1 + cells], first[0])


def written_run(file: PageFile, places: Numbers) -> list[Page]:
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


def gather(rows: Numbers, places: Numbers, out: int) -> None:
    """Copies rows to `out` and after; mode `clip` writes in place, the others by way of a copy."""
    np.take(rows, places, axis=0, out=rows[out : out + len(places)], mode="clip")
