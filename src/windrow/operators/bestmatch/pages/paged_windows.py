"""The windows of a query's bestmatch join in pages on disk, within the memory there is for them.

    room    [ frames: one half | edges of pages: one quarter | rows of chunks: what is left ]
    frames  [ filled by both streams: a third | judged: a third | read: a third ]

**Frames.** Lines of rows that come are put into frames. Both streams take them from the same third
as they need them; when it is used up, the stream that has filled more of it goes to disk: sorts
what it has and materializes it. So the division follows what arrives. What comes in grid order is
not sorted: where lines go back but a few times, as from one slab of time to the next, they are
taken as they are.

A row is compared once: when it is final, with all that it can meet. (The paper compares as rows
come, and keeps the best pairs so far; here they would be state that is not rows, and memory that
nothing bounds.) So only rows that are met are in pages; those that are judged are asked for.

**Pages** (`CellWindow`) of the grid, for rows that come in batches: a list of them per cell.

    cell (0, 3)   [page][page][pa..]       the new rows of a cell fill up its last page, which is
    cell (0, 7)   [p...]                   read and written for it; the rest goes into new ones
    cell (2, 1)   [page][pag.]

Within a page rows are by time. Pages of one cell may overlap in time where rows come out of order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from windrow.operators.bestmatch.pages.page_file import (
    LEAST,
    Frames,
    Page,
    PageCounts,
    PageFile,
    TieredWindow,
    drop_expired,
    edge_bytes,
    gather,
)

if TYPE_CHECKING:
    from pathlib import Path

    from windrow.kernels.epsilon_grid import Int64s
    from windrow.operators.bestmatch.pages.lines import LineCoder
    from windrow.operators.columns.changes import ChangeBatch


LIST_BYTES = 220
"""What Python takes for the list of a cell: its name, its place in the grid, itself (measured: 190)."""


class CellWindow:
    """The window of one stream as lists of pages by cell."""

    def __init__(self, file: PageFile) -> None:
        self._file = file
        self._lists: dict[bytes, list[Page]] = {}

    @property
    def pages(self) -> list[Page]:
        """All pages: cell by cell."""
        return [page for own in self._lists.values() for page in own]

    def store(self, places: Int64s) -> None:
        """Puts rows, in grid order wherever they are in memory, into the pages of their cells."""
        rows, stop = self._file.frames.rows, 1 + len(self._file.widths)
        cells = rows[places, 1:stop]
        starts = np.flatnonzero(np.append(True, (cells[1:] != cells[:-1]).any(axis=1)))
        frame = self._file.frames.take()
        for start, part in zip(starts, np.split(places, starts[1:]), strict=True):
            self._fill_up(cells[start].tobytes(), part, self._file.frames.place(frame))
        self._file.frames.give_back([frame])

    def settle(self, lower: int) -> None:
        """Forgets pages all of whose rows have a y1 below `lower`."""
        kept = {cell: drop_expired(self._file, own, lower) for cell, own in self._lists.items()}
        self._lists = {cell: own for cell, own in kept.items() if own}

    def _fill_up(self, cell: bytes, places: Int64s, out: int) -> None:
        """Puts the rows of a cell into its last page, and into new ones; `out` is a free frame."""
        file, page_rows = self._file, self._file.frames.page_rows
        own = self._lists.setdefault(cell, [])
        count = 0
        if own and own[-1].count < page_rows:
            last = own.pop()
            count = file.read(last, out) - out
            file.counts.reads_to_store += 1
            file.forget([last])
        while len(places):
            part, places = np.split(places, [page_rows - count])
            gather(file.frames.rows, part, out + count)
            count += len(part)
            page = file.frames.rows[out : out + count]
            page[:] = page[np.lexsort((page[:, -1], page[:, 0]))]
            own.append(file.write(out, count))
            count = 0


USUAL_BUFFERS = 16
"""Frames that there are at least, unless that left no two rows to a page."""

LEAST_BUFFERS = 6
"""Two for each third: what is merged, or compared, and what comes out."""

FEW_RUNS = 4
"""Sorted stretches that lines in frames may have to count as sorted."""

LEAST_PAGE_ROWS, MOST_PAGE_ROWS = 2, 4_096
"""Larger pages have fewer edges; beyond this many rows that counts for nothing, and what a page is
compared with in vain does."""


@dataclass(frozen=True)
class PageSizes:
    """How memory is divided.

    Attributes:
        page_rows: lines of a page.
        buffers: page frames.
        most_pages: pages whose edges memory has room for.
    """

    page_rows: int
    buffers: int
    most_pages: int

    @staticmethod
    def of(lines: int, pages: int, *, are_large: bool = False) -> PageSizes | None:
        """For frames with so many lines, and edges of so many pages; None where that is too little.

        Large pages are as few as can be.
        """
        usual = min(max(lines // USUAL_BUFFERS, LEAST_PAGE_ROWS), MOST_PAGE_ROWS)
        page_rows = max(lines // LEAST_BUFFERS, LEAST_PAGE_ROWS) if are_large else usual
        buffers = lines // page_rows
        return PageSizes(page_rows, buffers, pages) if buffers >= LEAST_BUFFERS else None

    @property
    def lines(self) -> int:
        """The lines that frames have room for."""
        return self.page_rows * self.buffers

    @property
    def third(self) -> int:
        """A third of the frames."""
        return self.buffers // 3


class PagedSide:
    """What is met of one stream: lines in frames, and pages on disk.

    Attributes:
        window: the pages.
        is_exact: whether equal words of its keys are equal keys.
    """

    def __init__(self, window: TieredWindow | CellWindow, file: PageFile, coder: LineCoder) -> None:
        self.window = window
        self.is_exact = True
        self._file = file
        self._coder = coder
        self._lower = LEAST
        self._frames: list[int] = []
        self._count, self._newest = 0, LEAST
        self._runs: list[Int64s] | None = None

    @property
    def filled(self) -> int:
        """The frames that it has filled."""
        return len(self._frames)

    def has_place(self) -> bool:
        """Whether one more line has room in its frames."""
        return self._count < len(self._frames) * self._file.frames.page_rows

    def take_frame(self) -> None:
        """Takes one more frame to fill."""
        self._frames.append(self._file.frames.take())

    def fill(self, lines: Int64s) -> Int64s:
        """Puts lines into the last frame; gives those that have no room there."""
        frames = self._file.frames
        used = self._count % frames.page_rows
        start = frames.place(self._frames[-1]) + used
        count = min(len(lines), frames.page_rows - used)
        frames.rows[start : start + count] = lines[:count]
        self._count += count
        self._newest = max(self._newest, int(lines[:count, 0].max()))
        self._runs = None
        return lines[count:]

    def filled_pages(self) -> list[tuple[Int64s, Page]]:
        """The lines in frames cut into pages: where each one's are, and its edges."""
        size = self._file.frames.page_rows
        parts = [run[at : at + size] for run in self._in_order() for at in range(0, len(run), size)]
        return [(part, self._file.described(part)) for part in parts]

    def store(self) -> None:
        """Materializes the lines in frames, and frees these."""
        for run in self._in_order():
            self.window.store(run)
        self._forget()

    def settle(self, lower: int) -> None:
        """Forgets what has a time below `lower`, where that makes room."""
        self._lower = lower
        self.window.settle(lower)
        if self._newest < lower:
            self._forget()

    def _in_order(self) -> list[Int64s]:
        """Where the lines in frames are, in grid order, without those that nothing meets any more.

        Several lists, each in order, where they came so.
        """
        if self._runs is None:
            frames = self._file.frames
            at = np.arange(self._count)
            starts = np.array([frames.place(frame) for frame in self._frames], np.int64)
            places = starts[at // frames.page_rows] + at % frames.page_rows
            places = places[frames.rows[places, 0] >= self._lower]
            lines = frames.rows[places]
            breaks = self._coder.breaks(lines)
            if len(breaks) >= FEW_RUNS:
                places, breaks = places[self._coder.order(lines)], breaks[:0]
                self._file.counts.sorted_rows += len(places)
            self._runs = [run for run in np.split(places, breaks) if len(run)]
        return self._runs

    def _forget(self) -> None:
        self._file.frames.give_back(self._frames)
        self._frames, self._runs = [], None
        self._count, self._newest = 0, LEAST


class PagedWindows:
    """The windows of both streams, as far as rows of the other one meet them.

    Args:
        coder: makes lines of rows.
        sizes: how memory is divided.
        counts: told of every page read and written.
        by_cell: whether pages are kept by cell (grid materialization), or in sorted runs.
        folder: where pages are; None: where temporary files go.

    Raises:
        OSError: the folder cannot be written.
    """

    def __init__(
        self,
        coder: LineCoder,
        sizes: PageSizes,
        counts: PageCounts,
        *,
        by_cell: bool,
        folder: Path | None = None,
    ) -> None:
        self.coder = coder
        self.sizes = sizes
        self.counts = counts
        self.frames = Frames(sizes.buffers, sizes.page_rows, coder.columns)
        widths = np.ones(coder.cells, np.int64)
        self.file = PageFile(self.frames, widths, counts, folder)
        self._by_cell = by_cell
        kind = CellWindow if by_cell else TieredWindow
        self.sides = tuple(PagedSide(kind(self.file), self.file, coder) for _ in range(2))

    @staticmethod
    def edge_bytes(coder: LineCoder, *, by_cell: bool) -> int:
        """Bytes that memory keeps of a page: of two lines, the times and cells; by cell, a list."""
        return edge_bytes(1 + coder.cells) + (LIST_BYTES if by_cell else 0)

    @property
    def pages(self) -> int:
        """Pages on disk."""
        return sum(len(side.window.pages) for side in self.sides)

    @property
    def nbytes(self) -> int:
        """Bytes in memory: frames and edges."""
        return int(self.frames.rows.nbytes) + self.pages * self.edge_bytes(
            self.coder, by_cell=self._by_cell
        )

    @property
    def tuples(self) -> int:
        """Tuples in memory: as many as frames have room for, and two of each page."""
        return self.sizes.lines + 2 * self.pages

    def add(self, port: int, rows: ChangeBatch, names: Int64s) -> None:
        """Takes up rows of a stream, with the names that they have besides their times."""
        side, step = self.sides[port], self.sizes.third * self.sizes.page_rows
        for start in range(0, len(rows), step):
            stop = min(start + step, len(rows))
            part, is_exact = self.coder.lines(rows.slice(start, stop), port, names[start:stop])
            side.is_exact &= is_exact
            while len(part):
                if not side.has_place():
                    self._make_room()
                    side.take_frame()
                part = side.fill(part)

    def settle(self, port: int, lower: int) -> None:
        """Forgets the rows of a stream whose times are below `lower`: nothing meets them."""
        self.sides[port].settle(lower)

    def close(self) -> None:
        """Removes the file."""
        self.file.close()

    def _make_room(self) -> None:
        """Sees to it that a frame can be filled: the stream that has filled more goes to disk."""
        if sum(side.filled for side in self.sides) >= self.sizes.third:
            max(self.sides, key=lambda side: side.filled).store()
