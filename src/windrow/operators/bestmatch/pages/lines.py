"""Rows of a query as the lines of whole numbers that pages hold, and the way back to the rows.

    line   [ time | cells .. | values .. | name ]

Cells are those of the key, if there is one, and of every other dimension with a limit; a cell is so
wide that whatever is within the limit lies at most one cell away. Keys have even cells: in none that
is next to one of them is another key. Values are as kernels compare them, the key's word first.

A line has no payload. Its row is found by the time and the name, which is the row's number where
rows have one (full outer joins), else how many rows of that time came before it: chunks are merged
and cut, but rows of one time stay in the order in which they came, and leave together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow.kernels import bestmatch as kernels
from windrow.kernels.bestmatch import Measures
from windrow.kernels.epsilon_grid import Int64s
from windrow.kernels.jit import writable
from windrow.operators.joins.match_log import NUMBER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from windrow.operators.bestmatch.match_index import MatchIndexer
    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.columns.chunks import ChunkSlice

_NUMBER_BYTES = 8


class LineCoder:
    """Makes lines of the rows of one join, on either side."""

    def __init__(self, indexer: MatchIndexer) -> None:
        self._indexer = indexer
        self._gridded = [
            number for number, measure in enumerate(indexer.measures) if measure.has_neighbor_cells
        ]
        self._has_key = bool(indexer.classes)
        self.cells = self._has_key + len(self._gridded)
        self.columns = 2 + self.cells + self._has_key + len(indexer.measures)
        usual = indexer.kernel_measures
        self.measures = usual
        if self._has_key:
            kinds = np.concatenate([[kernels.INTEGER], usual.kinds]).astype(usual.kinds.dtype)
            limits = np.concatenate([np.zeros(1, np.uint64), usual.limits])
            self.measures = Measures(kinds, limits)

    @property
    def can_match(self) -> bool:
        """Whether some pair can be within all limits."""
        return self._indexer.can_match

    @property
    def line_bytes(self) -> int:
        """Bytes of a line."""
        return self.columns * _NUMBER_BYTES

    def lines(self, rows: ChangeBatch, port: int, names: Int64s) -> tuple[Int64s, bool]:
        """The lines of the rows that can match, and whether equal words are equal keys."""
        usable = self._indexer.features(rows, port)
        lines = np.empty((len(usable.rows), self.columns), np.int64)
        lines[:, 0] = usable.times
        at = 1
        if usable.words is not None:
            lines[:, at] = (usable.words >> np.uint64(1)).view(np.int64) & ~1
            lines[:, 1 + self.cells] = usable.words.view(np.int64)
            at += 1
        for number in self._gridded:
            values = writable(usable.values[:, number])
            lines[:, at] = self._indexer.measures[number].neighbor_cells(values)
            at += 1
        lines[:, 1 + self.cells + self._has_key : -1] = usable.values.view(np.int64)
        lines[:, -1] = names[usable.rows]
        return lines, usable.is_exact

    def cells_of(self, lines: Int64s) -> Int64s:
        """The cells of some lines."""
        return writable(lines[:, 1 : 1 + self.cells])

    def values_of(self, lines: Int64s) -> NDArray[np.uint64]:
        """The values of some lines."""
        return writable(lines[:, 1 + self.cells : -1]).view(np.uint64)

    def order(self, lines: Int64s) -> Int64s:
        """The lines' places in grid order: by cells, then time, then name."""
        keys = [lines[:, -1], lines[:, 0], *(lines[:, k] for k in range(self.cells, 0, -1))]
        places: Int64s = np.lexsort(keys)
        return places

    def breaks(self, lines: Int64s) -> Int64s:
        """The lines that come before the one in front of them in grid order."""
        one, other = lines[:-1], lines[1:]
        is_back = other[:, 0] < one[:, 0]
        for k in range(self.cells, 0, -1):
            is_back = np.where(one[:, k] == other[:, k], is_back, other[:, k] < one[:, k])
        found: Int64s = np.flatnonzero(is_back) + 1
        return found


def ranks(slices: Sequence[ChunkSlice], times: Int64s) -> Int64s:
    """Per row that comes after those of the slices, how many of the same time came before it."""
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    found = np.empty(len(times), np.int64)
    found[order] = np.arange(len(times)) - starts
    for part in slices:
        start, stop = _span(part, times)
        found += stop - start
    return found


def located(
    slices: Sequence[ChunkSlice], times: Int64s, names: Int64s, *, are_numbers: bool
) -> tuple[Int64s, Int64s]:
    """Where rows are that have these times and names: in which slice, and where in its chunk."""
    parts, rows = np.full(len(times), -1), np.empty(len(times), np.int64)
    before = np.zeros(len(times), np.int64)
    for number, part in enumerate(slices):
        start, stop = _span(part, times)
        if are_numbers:
            place, is_here = _numbered(part, start, stop, names)
        else:
            place = start + names - before
            is_here = (names >= before) & (place < stop)
            before += stop - start
        parts[is_here], rows[is_here] = number, place[is_here]
    assert (parts >= 0).all(), "a line without its row"
    return parts, rows


def _span(part: ChunkSlice, times: Int64s) -> tuple[Int64s, Int64s]:
    """Where in a chunk the rows alive of each time start and stop."""
    keys = part.chunk.keys
    start = np.maximum(np.searchsorted(keys, times, side="left"), part.skip)
    return start, np.maximum(np.searchsorted(keys, times, side="right"), start)


def _numbered(
    part: ChunkSlice, start: Int64s, stop: Int64s, numbers: Int64s
) -> tuple[Int64s, NDArray[np.bool_]]:
    """Where in a chunk the rows of some numbers are, among those from start to stop."""
    spans = np.unique(np.column_stack([start, stop]), axis=0)
    lengths = spans[:, 1] - spans[:, 0]
    steps = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(spans[:, 0], lengths) + steps
    if not len(rows):
        return start, np.zeros(len(start), np.bool_)
    known = part.chunk.batch.columns.column(NUMBER).to_numpy()[rows]
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known[order], numbers), len(rows) - 1)
    return rows[order][at], known[order][at] == numbers
