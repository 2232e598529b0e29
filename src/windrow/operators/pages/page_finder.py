"""The best pairs of final rows, found in pages, as rows of the other input's chunks.

Keys are compared by their words. Where a word is a hash, pairs are compared by value as well: if one
of a row's pairs is of another key, that pair may have put out true ones, and the row is asked for
again with all its candidates (as `bestmatch_pairs` does in chunks).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow.operators.bestmatch_rows import Found, Gathered
from windrow.operators.equality import equal_values
from windrow.operators.match_index import key_column
from windrow.operators.pages.lines import located
from windrow.operators.pages.page_search import Candidates, PageSearch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from windrow.operators.base import Counters
    from windrow.operators.changes import ChangeBatch
    from windrow.operators.chunks import ChunkSlice
    from windrow.operators.match_index import MatchIndexer
    from windrow.operators.pages.paged_windows import PagedWindows
    from windrow.physical.nodes.matwin_bestmatch import MatwinBestmatch


class PageFinder:
    """The search of one bestmatch join for the rows of one input.

    Args:
        spec: the join.
        port: the input.
        windows: the pages.
        indexer: of that input.
        counters: where work is counted.
    """

    def __init__(
        self,
        spec: MatwinBestmatch,
        port: int,
        windows: PagedWindows,
        indexer: MatchIndexer,
        counters: Counters,
    ) -> None:
        self._search = PageSearch(windows, indexer, port, counters)
        self._classes = spec.classes
        self._port = port
        self._are_numbered = len(spec.judged) > 1

    def best(self, rows: ChangeBatch, slices: Sequence[ChunkSlice]) -> Found:
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

    def _located(self, pairs: Candidates, slices: Sequence[ChunkSlice]) -> Found:
        parts, rows = located(slices, pairs.times, pairs.names, are_numbers=self._are_numbered)
        return Found(pairs.asked, parts, rows)

    def _same_keys(
        self, rows: ChangeBatch, slices: Sequence[ChunkSlice], found: Found
    ) -> NDArray[np.bool_]:
        """Which pairs have equal keys by value."""
        same = np.ones(len(found.asked), np.bool_)
        others = Gathered(slices, found)
        for one in self._classes:
            own = rows.columns.column(key_column(one, self._port)).take(found.asked)
            name = key_column(one, 1 - self._port)
            same &= equal_values(own, others.column(name, own.type, others.places))
        return same
