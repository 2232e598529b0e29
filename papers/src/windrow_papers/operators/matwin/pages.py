"""What MatWin as published has beyond the pages that plans use: where cells start, modes by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from windrow.operators.bestmatch.pages.page_file import (
    Frames,
    Page,
    PageCounts,
    PageFile,
    drop_expired,
    merged_runs,
    written_run,
)
from windrow.operators.bestmatch.pages.page_search import (
    CRABSTEP,
    GALLOP,
    Column,
    VisitOrder,
    cheaper,
    crabstep,
    gallop,
)
from windrow_papers.kernels.matwin.best import cell_starts

if TYPE_CHECKING:
    from pathlib import Path

    from windrow.kernels.epsilon_grid import Int64s

CHEAPER = "cheaper"

SCHEDULERS: dict[str, Callable[[Sequence[Column], int], VisitOrder]] = {
    CHEAPER: cheaper,
    GALLOP: gallop,
    CRABSTEP: crabstep,
}

MODES = tuple(SCHEDULERS)


class MatWinCounts(PageCounts):
    """What was done, added up as the paper does."""

    @property
    def transfers(self) -> int:
        """Pages read and written."""
        return self.reads_to_store + self.reads_to_join + self.writes

    @property
    def comparisons(self) -> int:
        """Comparisons of rows, cells and pairs."""
        return int(self.work.sum())


class CelledPageFile(PageFile):
    """Pages of which memory also keeps where their cells start."""

    def __init__(
        self, frames: Frames, widths: Int64s, counts: PageCounts, folder: Path | None = None
    ) -> None:
        super().__init__(frames, widths, counts, folder)
        self._cells: dict[int, Int64s] = {}

    def write(self, start: int, count: int) -> Page:
        """Writes rows that lie one after the other as one page."""
        page = super().write(start, count)
        self._cells[page.slot] = cell_starts(self.frames.rows, start, start + count, self.widths)
        return page

    def cells_of(self, page: Page) -> Int64s:
        """Where the cells of a page start."""
        return self._cells[page.slot]


class StandardWindow:
    """The window of one stream as one sorted sequence of pages."""

    def __init__(self, file: PageFile) -> None:
        self.pages: list[Page] = []
        self._file = file
        self._runs: list[list[Page]] = []

    def store(self, places: Int64s) -> None:
        """Writes rows in grid order, wherever they are in memory, as a run."""
        self._runs.append(written_run(self._file, places))

    def settle(self, lower: int) -> None:
        """Makes one sequence of all; rows whose y1 is below `lower` are no more."""
        self.pages = drop_expired(self._file, self.pages, lower)
        if not self._runs:
            return
        self.pages = merged_runs(self._file, [self.pages, *self._runs], lower)
        self._runs = []
