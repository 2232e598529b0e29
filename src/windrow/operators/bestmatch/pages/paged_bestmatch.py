"""Outer bestmatch joins whose windows go to pages on disk where memory does not hold them.

While both windows fit into the memory there is, this is the operator that keeps chunks with indexes
in it. Once they do not, what is met of them is in pages, and of the chunks, which stay the state,
the rows go to disk as those of any operator do; they are read again for the answer alone.

    windows fit          chunks, indexes                   no page is written
    they do not          chunks on disk, pages and frames  until half of the memory would do; of large
                                                           pages, where the edges of others do not fit
    neither do the       chunks on disk, their indexes     memory is too little for six pages of two
    edges of pages       mapped                            rows, or for the edges of large ones

Which of them it is changes with what the windows hold, and never the answer: the state is the same,
and that of the other algorithms.

**What is found** in pages (`PageFinder`) becomes rows of the other input's chunks. Keys are
compared by their words. Where a word is a hash, pairs are compared by value as well: if one of a
row's pairs is of another key, that pair may have put out true ones, and the row is asked for again
with all its candidates (as `candidates` does in chunks).
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from windrow.operators.bestmatch.bestmatch import BLOCK_ROWS, NEXT_NUMBER, MatwinBestmatchOp
from windrow.operators.bestmatch.match_index import MatchIndexer, key_column
from windrow.operators.bestmatch.pages.lines import LineCoder, located, ranks
from windrow.operators.bestmatch.pages.page_file import PageCounts
from windrow.operators.bestmatch.pages.page_search import Candidates, PageSearch
from windrow.operators.bestmatch.pages.paged_windows import PagedWindows, PageSizes
from windrow.operators.bestmatch.rows import FoundPairs, Gathered
from windrow.operators.columns.chunks import ChunkSlice, bound_of_step
from windrow.operators.columns.key_columns import equal_values
from windrow.operators.engine.memory import Memory, cannot_spill
from windrow.operators.joins.match_log import NUMBER
from windrow.physical.algorithms import GRID_PAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.engine.base import Counters, Left, Snapshot
    from windrow.operators.routing.by_cells import OwnCells
    from windrow.physical.nodes.bestmatch import MatwinBestmatch


class PageFinder:
    """The search of one bestmatch join for the rows of one input, `port`, whose indexer is given."""

    def __init__(
        self,
        node: MatwinBestmatch,
        port: int,
        windows: PagedWindows,
        indexer: MatchIndexer,
        counters: Counters,
    ) -> None:
        self._search = PageSearch(windows, indexer, port, counters)
        self._classes = node.classes
        self._port = port
        self._are_numbered = len(node.judged) > 1

    def best(self, rows: ChangeBatch, slices: Sequence[ChunkSlice]) -> FoundPairs:
        """The best pairs of some rows with the rows of the slices, which pages hold the lines of."""
        pairs, is_exact = self._search.find(rows, np.arange(len(rows)), is_pruned=True)
        if not self._classes or is_exact:
            return self._located(pairs, slices)
        is_true = self._same_keys(rows, slices, self._located(pairs, slices))
        again = np.unique(pairs.asked[~is_true])
        if not len(again):
            return self._located(pairs, slices)
        every, _ = self._search.find(rows.take(again), again, is_pruned=False)
        is_true = self._same_keys(rows, slices, self._located(every, slices))
        true = every.take(np.flatnonzero(is_true)).best()
        others = pairs.take(np.flatnonzero(~np.isin(pairs.asked, again)))
        return self._located(Candidates.together([others, true]), slices)

    def _located(self, pairs: Candidates, slices: Sequence[ChunkSlice]) -> FoundPairs:
        parts, rows = located(slices, pairs.times, pairs.names, are_numbers=self._are_numbered)
        return FoundPairs(pairs.asked, parts, rows)

    def _same_keys(
        self, rows: ChangeBatch, slices: Sequence[ChunkSlice], found: FoundPairs
    ) -> NDArray[np.bool_]:
        """Which pairs have equal keys by value."""
        same = np.ones(len(found.asked), np.bool_)
        others = Gathered(slices, found)
        for one in self._classes:
            own = rows.columns.column(key_column(one, self._port)).take(found.asked)
            name = key_column(one, 1 - self._port)
            same &= equal_values(own, others.column(name, own.type, others.places))
        return same


NamedRows = tuple[tuple[int, str, int], ...]
"""Rows by side: the name of a chunk, and how many of its rows are left out."""


@dataclass(frozen=True)
class LeftPages:
    """Pages that hold the lines of some rows; None: there were too many to have them."""

    pages: PagedWindows | None
    are_large: bool
    rows: NamedRows = ()

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return 0 if self.pages is None else self.pages.nbytes


class PagedBestmatchOp(MatwinBestmatchOp):
    """The state and the steps of one outer bestmatch join; ports: 0 left, 1 right."""

    def __init__(self, node: MatwinBestmatch, own: OwnCells | None = None) -> None:
        super().__init__(node, own)
        self._indexers = {port: self._finders[port].rows for port in node.judged}
        self._coder = LineCoder(self._indexers[node.judged[0]])
        self._by_cell = node.algorithm == GRID_PAGES
        self._met_ports = [1 - port for port in node.judged]
        self._memory: Memory | None = None
        self._pages: PagedWindows | None = None
        self._are_large = self._has_given_up = False
        self._counts = PageCounts()

    def keep_within(self, memory: Memory) -> None:
        """Keeps to its share of a memory from here on."""
        self._memory = memory

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Keeps the rows; nothing is final before the watermark says so."""
        super().push(batches)
        self._fit()
        return iter(())

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the best pairs of the rows that are final, then forgets."""
        self._fit()  # what was restored is looked at here
        yield from super().advance(watermark)
        self._fit()

    def tuples_beside(self) -> int:
        """Tuples in memory apart from the rows of chunks."""
        return 0 if self._pages is None else self._pages.tuples

    def restore(self, snapshot: Snapshot) -> None:
        """Puts rows and emitted pairs back; pages are made anew when they are needed."""
        self._leave_pages()
        self._are_large = self._has_given_up = False
        super().restore(snapshot)

    def leave(self) -> LeftPages | None:
        """The pages, for the operator that goes on from the state there is now."""
        if self._pages is None:
            return LeftPages(None, self._are_large) if self._has_given_up else None
        left = LeftPages(self._pages, self._are_large, self._named_rows())
        self._pages = None
        return left

    def take_up(self, left: Left) -> None:
        """Takes pages up if they are of the rows that were restored."""
        if not isinstance(left, LeftPages):
            return
        self._are_large, self._has_given_up = left.are_large, left.pages is None
        if left.pages is not None and left.rows == self._named_rows():
            self._pages, self._counts = left.pages, left.pages.counts

    def _named_rows(self) -> NamedRows:
        """The rows of both sides, by the names of their chunks."""
        return tuple(
            (port, part.chunk.id, part.skip)
            for port, side in enumerate(self._sides)
            for part in side.slices
        )

    # Which way windows are kept.

    def _fit(self) -> None:
        """Goes over to pages, or leaves them, by what the windows hold."""
        memory = self._memory
        if memory is None or not memory.may_spill or not self._coder.can_match:
            return
        need = self._need(is_tuples=memory.is_tuples)
        if 2 * need <= memory.share:
            self._leave_pages()
            self._are_large = self._has_given_up = False
        elif self._pages is None and need > memory.share and not self._has_given_up:
            self._enter_pages(memory)
        if self._are_too_many() and not self._are_large:
            self._leave_pages()
            self._are_large = True
            self._enter_pages(memory)
        if self._are_too_many():
            self._leave_pages()
            self._has_given_up = True
        self._measure()

    def _are_too_many(self) -> bool:
        """Whether memory has no room for the edges of all pages."""
        return self._pages is not None and self._pages.pages > self._pages.sizes.most_pages

    def _need(self, *, is_tuples: bool) -> int:
        """Tuples of both windows, or about the bytes of their rows and indexes."""
        parts = [part for side in self._sides for part in side.slices]
        if is_tuples:
            return sum(map(len, parts))
        met = [part for port in self._met_ports for part in self._sides[port].slices]
        indexes = sum(len(part.chunk) for part in met) * self._coder.line_bytes
        return sum(part.chunk.nbytes + part.chunk.keys.nbytes for part in parts) + indexes

    def _enter_pages(self, memory: Memory) -> None:
        """Puts what is met of both windows into pages."""
        sizes = self._sizes(memory)
        if sizes is None:
            self._has_given_up = True
            return
        with _on_disk():
            self._pages = PagedWindows(
                self._coder, sizes, self._counts, by_cell=self._by_cell, folder=memory.folder
            )
            for port in self._met_ports:
                slices = self._sides[port].slices
                for number, part in enumerate(slices):
                    if not part.chunk.is_spilled:
                        part.chunk.derived.clear()  # an index that would be spilled for nobody
                    rows = part.rows()
                    names = (
                        rows.columns.column(NUMBER).to_numpy()
                        if self._is_full
                        else ranks(slices[:number], rows.times)
                    )
                    self._pages.add(port, rows, names)

    def _sizes(self, memory: Memory) -> PageSizes | None:
        """A half of the share for frames, a quarter for the edges of pages."""
        line = self._coder.line_bytes
        edge = PagedWindows.edge_bytes(self._coder, by_cell=self._by_cell)
        if memory.is_tuples:
            line, edge = 1, 2
        return PageSizes.of(
            memory.share // 2 // line, memory.share // 4 // edge, are_large=self._are_large
        )

    def _leave_pages(self) -> None:
        if self._pages is not None:
            self._pages.close()
            self._pages = None

    def _measure(self) -> None:
        """Counts what is held, pages among it, and what they took."""
        super()._measure()
        if self._pages is not None:
            self.counters.state_bytes += self._pages.nbytes
        counts, counters = self._counts, self.counters
        counters.page_reads += counts.reads_to_store + counts.reads_to_join
        counters.page_writes += counts.writes
        counters.gallops += counts.gallops
        counters.crabsteps += counts.crabsteps
        counts.start_again()

    # What is done with pages.

    def _keep(self, port: int, rows: ChangeBatch) -> None:
        if self._pages is None or port not in self._met_ports:
            super()._keep(port, rows)
            return
        names = self._numbers[NEXT_NUMBER] + np.arange(len(rows))
        if not self._is_full:
            names = ranks(self._sides[port].slices, rows.times)
        super()._keep(port, rows)
        with _on_disk():
            self._pages.add(port, rows, names)

    def _final(self, watermark: int) -> Iterator[tuple[int, ChangeBatch]]:
        """As many rows at a time as are judged at a time: at its end a stream has all of its window."""
        if self._pages is None:
            yield from super()._final(watermark)
            return
        sizes = self._pages.sizes
        most = min(BLOCK_ROWS, sizes.most_pages * sizes.page_rows)  # they are in pages as well
        for port in self._node.judged:
            waiting, bound = self._sides[port].waiting, self._final_below(port, watermark)
            while waiting.first < bound:
                rows = self._popped(port, bound_of_step([waiting], bound, most))
                if rows is not None:
                    yield port, rows

    def _best(self, port: int, rows: ChangeBatch, slices: Sequence[ChunkSlice]) -> FoundPairs:
        if self._pages is None:
            return super()._best(port, rows, slices)
        finder = PageFinder(self._node, port, self._pages, self._indexers[port], self.counters)
        with _on_disk():
            return finder.best(rows, slices)

    def _forget(self, watermark: int) -> None:
        super()._forget(watermark)
        if self._pages is not None:
            for port in self._met_ports:
                self._pages.settle(port, self._met_below(port, watermark))


@contextmanager
def _on_disk() -> Iterator[None]:
    """Says so if pages cannot be written.

    Raises:
        DataError: they cannot.
    """
    try:
        yield
    except OSError as error:
        raise cannot_spill(error) from error
