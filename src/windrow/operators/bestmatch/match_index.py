"""What a bestmatch join looks rows up by, as arrays, the index of a chunk, and the best pairs by it.

Nested loops have no index: a judged row is compared with every row. What the index of the others
sees to, candidates are then tested by, as dimensions of which all candidates are worth the same:

    time    WINDOW from t - back, up to back + on
    keys    their words, which must not differ

The best pairs of rows of one input are found among the chunks of the other input's window:

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

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from windrow.kernels import bestmatch as kernels
from windrow.kernels.bestmatch import Index, Measures, Pairs, Probes, best_of_runs, best_pairs
from windrow.kernels.jit import writable
from windrow.operators.bestmatch.distances import Measure, has_values, shifted
from windrow.operators.bestmatch.match_orders import ValueOrders
from windrow.operators.bestmatch.rows import FoundPairs, PairValues
from windrow.operators.columns import key_columns as keys
from windrow.operators.columns.arrow_types import moved
from windrow.physical.algorithms import MATWIN_GRID, MATWIN_PLAIN, NESTED_LOOPS
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.columns.chunks import Chunk, ChunkSlice
    from windrow.operators.engine.base import Counters
    from windrow.physical.nodes.base import KeyClass
    from windrow.physical.nodes.bestmatch import MatwinBestmatch


SAMPLE = 1024
"""Rows of a chunk that are looked at to choose the dimension of its grid."""

FEWEST_CELLS = 8
FEWEST_ROWS = 48
"""A grid must cut a chunk into so many cells, and the rows within a window's time must be so many,
to be worth its extra look-ups. Measured with 1,200 rows in reach: 100 cells make the join 4 times
as fast, 10 cells 1.2 times (`benchmarks/kernel_bestmatch.py`)."""


@dataclass(frozen=True)
class Features:
    """What the search needs of some rows, unusable ones (a NULL, a NaN) left out.

    `rows` are their places in the batch; `values` has one column per dimension; `words` are those
    of their keys, where they are looked up by these.
    """

    rows: NDArray[np.int64]
    times: NDArray[np.int64]
    values: NDArray[np.uint64]
    words: NDArray[np.uint64] | None
    is_exact: bool


@dataclass(frozen=True)
class ChunkIndex:
    """The index of a chunk, and the dimension whose cells are its groups (None: keys or time)."""

    index: Index
    grid: int | None
    is_exact: bool


class MatchIndexer:
    """Reads rows of one join for the search of one input's rows, and indexes those of the other.

    Args:
        node: the join.
        port: the input whose rows are asked for. Their candidates lie in [t - back, t + on].
    """

    def __init__(self, node: MatwinBestmatch, port: int) -> None:
        measures = [
            Measure.of(d, node.left.schema, node.right.schema)
            for d in node.dimensions
            if not d.is_by_value
        ]
        # Constraints that can end a comparison early come first; time is within bounds already.
        self.measures = sorted(measures, key=lambda m: (not m.is_constrained, m.columns[0] is None))
        self.port, self.other = port, 1 - port
        self.back, self.on = node.wait(self.other), node.wait(port)
        self.classes = node.classes
        self.is_nested = node.algorithm == NESTED_LOOPS
        self._algorithm = node.algorithm
        self._by_value = [(d.left, d.right) for d in node.dimensions if d.is_by_value]
        # Of one chunk's derived data, what belongs to joins that measure and group alike.
        self.name = (
            f"bestmatch {measures} {self._by_value} {node.classes} {self.back} {self.on}"
            f" {port} {node.algorithm}"
        )
        self.kernel_measures = self._kernel_measures()

    @property
    def can_match(self) -> bool:
        """Whether some pair can be within all limits."""
        return self.back + self.on >= 0 and all(m.eps is None or m.eps >= 0 for m in self.measures)

    def _kernel_measures(self) -> Measures:
        kinds = [measure.kind for measure in self.measures]
        limits = [max(measure.limit, 0) for measure in self.measures]
        if self.is_nested:
            kinds = [kernels.WINDOW, *([kernels.INTEGER] if self.classes else []), *kinds]
            limits = [max(self.back + self.on, 0), *([0] if self.classes else []), *limits]
        return Measures(np.array(kinds, np.uint8), np.array(limits, np.uint64))

    def features(self, batch: ChangeBatch, port: int) -> Features:
        """The rows of a batch as arrays."""
        usable = np.ones(len(batch), np.bool_)
        columns: list[NDArray[np.uint64]] = []
        for measure in self.measures:
            values, has_value = measure.values(batch, port)
            columns.append(values)
            if has_value is not None:
                usable &= has_value
        for names in self._by_value:
            if (has_value := has_values(batch.columns.column(names[port]))) is not None:
                usable &= has_value
        words, is_exact = None, True
        if self.classes:
            words, is_exact, is_valid = self._words(batch, port)
            if is_valid is not None:
                usable &= is_valid
        if self.is_nested:
            columns = [self._from(batch.times, port), *([] if words is None else [words]), *columns]
            words = None
        table = np.empty((len(batch), len(columns)), np.uint64)
        for number, column in enumerate(columns):
            table[:, number] = column
        rows = np.flatnonzero(usable)
        if len(rows) == len(batch):
            return Features(rows, writable(batch.times), table, words, is_exact)
        return Features(
            rows, batch.times[rows], table[rows], None if words is None else words[rows], is_exact
        )

    def spans(self, times: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and the last time that a candidate of each row can have."""
        return moved(times, -self.back), moved(times, self.on)

    def index(self, batch: ChangeBatch) -> ChunkIndex:
        """Sorts the usable rows of a chunk by group; within a group they stay in time order."""
        usable = self.features(batch, self.other)
        grid = None
        groups = usable.words
        if groups is None and (grid := self._best_grid(usable)) is not None:
            groups = self.measures[grid].cells(writable(usable.values[:, grid]))
        if groups is None:
            names = np.zeros(min(1, len(usable.rows)), np.uint64)
            starts = np.array([0, len(usable.rows)][: len(names) + 1], np.int64)
            index = Index(names, starts, usable.times, usable.values, usable.rows)
            return ChunkIndex(index, None, usable.is_exact)
        order = np.argsort(groups, kind="stable")
        names, starts = np.unique(groups[order], return_index=True)
        index = Index(
            names,
            np.append(starts, len(order)),
            usable.times[order],
            usable.values[order],
            usable.rows[order],
        )
        return ChunkIndex(index, grid, usable.is_exact)

    def _from(self, times: NDArray[np.int64], port: int) -> NDArray[np.uint64]:
        """The times; of rows asked for, those from which on their candidates lie."""
        return shifted(self.spans(times)[0] if port == self.port else times)

    def _words(
        self, batch: ChangeBatch, port: int
    ) -> tuple[NDArray[np.uint64], bool, NDArray[np.bool_] | None]:
        key = keys.combined(
            [
                keys.key_words(
                    [batch.columns.column(key_column(one, port))], nulls_match=one.null_safe
                )
                for one in self.classes
            ]
        )
        return writable(key.words), key.exact, key.valid

    def _best_grid(self, usable: Features) -> int | None:
        """The constrained dimension that cuts the rows into most cells, if a grid is worth it."""
        if self.is_nested or self._algorithm == MATWIN_PLAIN:
            return None
        count = len(usable.times)
        if not count or not (self._algorithm == MATWIN_GRID or self._are_many(usable.times)):
            return None
        sample = usable.values[:: -(-count // SAMPLE)]
        cells = {
            number: len(np.unique(measure.cells(writable(sample[:, number]))))
            for number, measure in enumerate(self.measures)
            if measure.is_constrained and measure.columns[0] is not None
        }
        best = max(cells, key=cells.__getitem__, default=None)
        if best is None or self._algorithm == MATWIN_GRID:
            return best
        return best if cells[best] >= FEWEST_CELLS else None

    def _are_many(self, times: NDArray[np.int64]) -> bool:
        """Whether so many rows are in reach of one that a grid is worth its look-ups."""
        extent = int(times[-1]) - int(times[0])
        in_reach = len(times) * min(1.0, (self.back + self.on + 1) / (extent + 1))
        return len(times) >= FEWEST_ROWS and in_reach >= FEWEST_ROWS


def key_column(one: KeyClass, port: int) -> str:
    """The column of a key on one side."""
    name = one.columns[port]
    if name is None:
        raise ValueError(f"a key class of a bestmatch join needs both inputs: {one}")
    return name


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

    def best(self, rows: ChangeBatch, slices: Sequence[ChunkSlice]) -> FoundPairs:
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
            return FoundPairs(nothing, nothing, nothing)
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
    ) -> FoundPairs:
        """The best pairs of each row over all chunks, by row."""
        if len(found) == 1 and not self.orders:
            # In the order of the rows, and the best already.
            return FoundPairs(asked.rows[found[0].probes], parts[0], found[0].rows)
        probes = np.concatenate([pairs.probes for pairs in found])
        order = np.argsort(probes, kind="stable")
        probes = probes[order]
        pairs = FoundPairs(
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
