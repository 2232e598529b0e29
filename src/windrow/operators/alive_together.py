"""Combinations of rows that are alive together: what joins of rows that come and go find.

A combination has the greatest time, the least end and the product of the signs of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.base import Counters
from windrow.operators.bew_search import FoundBlock
from windrow.operators.bew_steps import routes_of
from windrow.operators.bew_window import JoinWindow
from windrow.operators.changes import ChangeBatch, select
from windrow.operators.chunks import Chunk
from windrow.operators.gather import Places
from windrow.operators.join_inputs import can_match
from windrow.operators.snapshot_search import SnapshotSearch, times_at
from windrow.operators.theta import Predicates
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.schema import MIN_TICK


class AliveTogether:
    """The combinations of a join of two or more inputs, by equal keys and predicates.

    Args:
        spec: the join.
        counters: where probes and comparisons are counted.
    """

    def __init__(self, spec: MultiJoin, counters: Counters) -> None:
        self._spec = spec
        self._counters = counters
        self._routes = routes_of(spec)
        self._predicates = Predicates(spec)
        self._columns = [spec.columns_needed(port) for port in range(len(spec.inputs))]

    def candidates(self, port: int, batch: ChangeBatch) -> ChangeBatch:
        """The rows that can match and are ever alive, with the columns that are needed."""
        rows = replace(batch, columns=select(batch.columns, self._columns[port]))
        possible = can_match(self._spec, port, rows) & (rows.times < rows.ends_or_never())
        return rows if possible.all() else rows.take(np.flatnonzero(possible))

    def found(self, windows: Sequence[JoinWindow]) -> Iterator[ChangeBatch]:
        """The combinations that have a new row, each once; chunks are in order of their ends."""
        if not all(windows):
            return
        search = SnapshotSearch(self._spec, windows, self._counters, self._predicates)
        for block in search.blocks(self._routes):
            yield self._gathered(windows, block)

    def _gathered(self, windows: Sequence[JoinWindow], found: FoundBlock) -> ChangeBatch:
        """The rows of complete combinations, side by side."""
        arrays: list[pa.Array] = []
        size = sum(len(partial) for _, partial in found)
        times, signs = np.full(size, MIN_TICK), np.ones(size, np.int8)
        for port, window in enumerate(windows):
            chosen = [partial.places[route.order.index(port)] for route, partial in found]
            places = np.concatenate(chosen)
            arrays += window.columns(self._spec.keep[port], Places(places))
            np.maximum(times, times_at(window, places), out=times)
            signs *= _signs_at(window, places)
        # A window's keys are ends here: so are the "times" of what was found.
        ends = np.concatenate([partial.times.min(axis=0) for _, partial in found])
        columns = pa.RecordBatch.from_arrays(arrays, names=list(self._spec.schema.names))
        return ChangeBatch(columns, times, ends, signs)


def by_end(rows: ChangeBatch | None) -> Chunk | None:
    """Rows as a chunk in order of their ends; None for none."""
    if rows is None or not len(rows):
        return None
    rows = rows.sorted_by(rows.ends_or_never())
    return Chunk(rows, rows.ends_or_never())


def _signs_at(window: JoinWindow, places: NDArray[np.int64]) -> NDArray[np.int8]:
    """The signs of the rows at some places; those that have come are stored without."""

    def of(at: int, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        signs = window.slices[at].chunk.batch.signs
        return np.ones(len(rows), np.int8) if signs is None else signs[rows]

    return Places(places).computed(of)
