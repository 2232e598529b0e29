"""Finds the best pairs of rows of one input among the chunks of the other input's window.

1. Every chunk of the window has an index, made once: its usable rows by key, or by cell of the grid
   of one constrained dimension, or by time alone.
2. The rows asked for that the chunk's times can concern look their span of groups and times up.
3. What each of them found is its skyline within the chunk. The skyline of a whole window is that
   of its parts' skylines, so that one more pass over the few pairs left gives the answer.

Keys are compared by 64-bit words, and by value where a word is a hash. A pair whose words collide
may have put out true candidates; its row is then looked up again, without pruning. Where all
pairs kept are true, so is the answer: whatever was put out is dominated by one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow.kernels.bestmatch import Index, Pairs, Probes, best_of_runs, best_pairs
from windrow.kernels.jit import writable
from windrow.operators.bestmatch.match_index import ChunkIndex, Features, MatchIndexer, key_column
from windrow.operators.bestmatch.match_orders import ValueOrders
from windrow.operators.bestmatch.rows import Found, PairValues
from windrow.operators.columns import key_columns as keys
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.columns.chunks import Chunk, ChunkSlice
    from windrow.operators.engine.base import Counters
    from windrow.physical.nodes.matwin_bestmatch import MatwinBestmatch

LEFT, RIGHT = 0, 1


class PairFinder:
    """The search of one bestmatch join for the rows of one input, `port`.

    Their candidates have times in [t - back, t + on]:

        left rows    t(right) in [t - lo, t + hi]
        right rows   t(left)  in [t - hi, t + lo]
    """

    def __init__(self, node: MatwinBestmatch, port: int, counters: Counters) -> None:
        self.orders = ValueOrders(node.dimensions)
        self.rows = MatchIndexer(node, port)
        self.classes = node.classes
        self.port, self.other = port, 1 - port
        self.counters = counters

    def best(self, rows: ChangeBatch, slices: Sequence[ChunkSlice]) -> Found:
        """The best pairs of some rows, which are in time order, with the rows of the slices."""
        asked = self.rows.features(rows, self.port)
        span = self.rows.spans(asked.times)
        found: list[Pairs] = []
        parts: list[NDArray[np.int64]] = []
        for number, part in enumerate(slices if self.rows.can_match else ()):
            # Both ascend: the rows that reach the slice's times are neighbors.
            start = int(np.searchsorted(span[1], part.first, side="left"))
            stop = int(np.searchsorted(span[0], part.last, side="right"))
            if self.rows.is_nested:
                start, stop = 0, len(asked.times)
            if start < stop:
                spans = self._times(span, part)
                pairs = self._best_in_chunk(rows, asked, spans, part.chunk, slice(start, stop))
                found.append(pairs)
                parts.append(np.full(len(pairs.rows), number, np.int64))
        if not found:
            nothing = np.empty(0, np.int64)
            return Found(nothing, nothing, nothing)
        return self._best_of(rows, slices, asked, found, parts)

    def _times(
        self, span: tuple[NDArray[np.int64], NDArray[np.int64]], part: ChunkSlice
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The times that each row looks through in a slice.

        Rows that left the slice may be held elsewhere: they are older than its first. Nested loops
        look through all others, but for rows at the ends of time, whose windows do not end there.
        """
        first, last = np.maximum(span[0], part.first), span[1]
        if not self.rows.is_nested:
            return first, last
        is_cut = (span[0] == MIN_TICK) | (span[0] == MAX_TICK)
        return np.where(is_cut, first, part.first), np.where(is_cut, last, MAX_TICK)

    def _best_of(
        self,
        rows: ChangeBatch,
        slices: Sequence[ChunkSlice],
        asked: Features,
        found: list[Pairs],
        parts: list[NDArray[np.int64]],
    ) -> Found:
        """The best pairs of each row over all chunks, by row."""
        probes = np.concatenate([pairs.probes for pairs in found])
        order = np.argsort(probes, kind="stable")
        probes = probes[order]
        pairs = Found(
            asked.rows[probes],
            np.concatenate(parts)[order],
            np.concatenate([pairs.rows for pairs in found])[order],
        )
        codes = np.concatenate([pairs.codes for pairs in found])[order]
        if self.orders:
            return pairs.take(self.orders.best(PairValues(self.port, rows, slices, pairs), codes))
        _, starts = np.unique(probes, return_index=True)
        return pairs.take(best_of_runs(np.append(starts, len(order)), codes))

    def _best_in_chunk(
        self,
        batch: ChangeBatch,
        asked: Features,
        span: tuple[NDArray[np.int64], NDArray[np.int64]],
        chunk: Chunk,
        concerned: slice,
    ) -> Pairs:
        """The skyline of each concerned row within one chunk; probes count from all rows."""
        indexed = self._index(chunk)
        values = asked.values[concerned]
        first, last = self._groups(indexed, asked, values, concerned)
        probes = Probes(first, last, span[0][concerned], span[1][concerned], values)
        pairs = self._look_up(indexed.index, probes, is_pruned=not self.orders)
        pairs = pairs._replace(probes=pairs.probes + concerned.start)
        if self.classes and not (indexed.is_exact and asked.is_exact):
            pairs = self._verified(batch, asked, chunk, probes, pairs, concerned.start)
        return pairs

    def _groups(
        self,
        indexed: ChunkIndex,
        asked: Features,
        values: NDArray[np.uint64],
        concerned: slice,
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The first and last group that each row looks up."""
        if asked.words is not None:
            return asked.words[concerned], asked.words[concerned]
        if indexed.grid is not None:
            return self.rows.measures[indexed.grid].cell_spans(writable(values[:, indexed.grid]))
        whole = np.zeros(len(values), np.uint64)
        return whole, whole

    def _look_up(self, index: Index, probes: Probes, *, is_pruned: bool) -> Pairs:
        pairs = best_pairs(index, probes, self.rows.kernel_measures, is_pruned)
        self.counters.probes += len(probes.first_time)
        self.counters.comparisons += pairs.comparisons
        return pairs

    def _verified(
        self,
        batch: ChangeBatch,
        asked: Features,
        chunk: Chunk,
        probes: Probes,
        pairs: Pairs,
        start: int,
    ) -> Pairs:
        """The pairs with those of rows that met a word of another key looked up again."""
        is_true = self._same_keys(batch, asked, chunk, pairs)
        if is_true.all():
            return pairs
        if self.orders:  # nothing was put out yet
            return _chosen((pairs, np.flatnonzero(is_true)))
        again = np.unique(pairs.probes[~is_true])
        others = ~np.isin(pairs.probes, again)
        few = Probes._make(column[again - start] for column in probes)
        every = self._look_up(self._index(chunk).index, few, is_pruned=False)
        every = every._replace(probes=again[every.probes])
        return _chosen(
            (pairs, np.flatnonzero(others)),
            (every, np.flatnonzero(self._same_keys(batch, asked, chunk, every))),
        )

    def _same_keys(
        self, batch: ChangeBatch, asked: Features, chunk: Chunk, pairs: Pairs
    ) -> NDArray[np.bool_]:
        """Which pairs have equal keys by value."""
        same = np.ones(len(pairs.rows), np.bool_)
        rows = asked.rows[pairs.probes]
        for one in self.classes:
            same &= keys.equal_values(
                batch.columns.column(key_column(one, self.port)).take(rows),
                chunk.batch.columns.column(key_column(one, self.other)).take(pairs.rows),
            )
        return same

    def _index(self, chunk: Chunk) -> ChunkIndex:
        if self.rows.name not in chunk.derived:
            chunk.derived[self.rows.name] = self.rows.index(chunk.batch)
        index: ChunkIndex = chunk.derived[self.rows.name]
        return index


def _chosen(*choices: tuple[Pairs, NDArray[np.int64]]) -> Pairs:
    """The chosen pairs of several lists, as one."""
    return Pairs(
        np.concatenate([pairs.probes[chosen] for pairs, chosen in choices]),
        np.concatenate([pairs.rows[chosen] for pairs, chosen in choices]),
        np.concatenate([pairs.codes[chosen] for pairs, chosen in choices]),
        0,
    )
