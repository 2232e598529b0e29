"""Grid materialization for rows that come in batches: a list of pages per cell.

    cell (0, 3)   [page][page][pa..]       the new rows of a cell fill up its last page, which is
    cell (0, 7)   [p...]                   read and written for it; the rest goes into new ones
    cell (2, 1)   [page][pag.]

Within a page rows are by time. Pages of one cell may overlap in time where rows come out of order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow.operators.pages.page_file import drop_expired
from windrow.operators.pages.sorted_windows import gather

if TYPE_CHECKING:
    from windrow.kernels.epsilon_grid import Numbers
    from windrow.operators.pages.page_file import Page, PageFile


LIST_BYTES = 220
"""What Python takes for the list of a cell: its name, its place in the grid, itself (measured: 190)."""


class CellWindow:
    """The window of one stream as lists of pages by cell.

    Args:
        file: where pages are.
    """

    def __init__(self, file: PageFile) -> None:
        self._file = file
        self._lists: dict[bytes, list[Page]] = {}

    @property
    def pages(self) -> list[Page]:
        """All pages: cell by cell."""
        return [page for own in self._lists.values() for page in own]

    def store(self, places: Numbers) -> None:
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

    def _fill_up(self, cell: bytes, places: Numbers, out: int) -> None:
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
