"""The window join of two or more inputs by backward evaluation (BEW-join, 2003).

Every combination of one row per input with equal keys and t(j) - t(i) <= upper[i][j] for all
ordered pairs comes out in the push that brings its last row. A push goes through four steps:

1. New rows are put in time order. Rows that can match nothing (a NULL key, no event time) are
   counted and left out.
2. From each new row, the start tuple, combinations are extended by one input at a time, along a
   route (`join_steps`). The period in which the next tuple may lie shrinks with each tuple chosen
   (`kernels/bew_period`), and the rows in it with the same key are found by bucket or by scan.
3. Words that are not the keys themselves are checked by value, and predicates are tested once
   their inputs are there (`bew_search`), before combinations are extended further.
4. Complete combinations are gathered into result batches; the new rows join the state.

That each combination comes once: among its rows that are new, the last in order of (time, input)
is its start tuple, and no other. So a start tuple of input s meets any stored row, and a new row
of input j only if that comes before it:

    stored rows of j   ------[=====================]---->   the period
    new rows of j      ------[===========)-------------->   cut at t(s): below it, or, for j < s,
                                        t(s)                up to and including it

Work is done in blocks of bounded size, whatever the fan-out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch, Places, concat
from windrow.operators.columns.chunks import Chunk, ChunkBuffer, ChunkSlice
from windrow.operators.engine.base import Operator, Snapshot
from windrow.operators.joins.bew_search import FoundBlock, Search
from windrow.operators.joins.bew_window import JoinWindow
from windrow.operators.joins.join_inputs import (
    can_match,
    first_drop,
    last_needed,
    only_inserts,
    parted,
    state_of,
    stored_state,
)
from windrow.operators.joins.join_steps import Predicates, routes_of
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.schema import MIN_TICK


class BewJoinOp(Operator):
    """Joins two or more inputs of inserts by time windows and equal keys."""

    def __init__(self, node: MultiJoin) -> None:
        super().__init__()
        self._node = node
        ports = range(len(node.inputs))
        self._buffers = [ChunkBuffer("time") for _ in ports]
        self._routes = routes_of(node)
        self._retention = [node.retention(port) for port in ports]
        self._predicates = Predicates(node)
        self._columns = [node.columns_needed(port) for port in ports]
        self._joined_to = MIN_TICK
        self._waiting: list[list[ChunkSlice]] = [[] for _ in ports]

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Gives the combinations whose last row is among these."""
        windows = [
            JoinWindow(buffer.slices, self._with_waiting(port, self._admitted(port, batch)))
            for port, (buffer, batch) in enumerate(zip(self._buffers, batches, strict=True))
        ]
        self._waiting = [[] for _ in windows]
        if all(windows):
            for result in self._results(windows):
                self.counters.rows_out += len(result)
                yield result
        for buffer, window in zip(self._buffers, windows, strict=True):
            if window.new is not None:
                buffer.put(window.new)
        self._count_state()

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Drops the rows that no row from the watermark on can reach.

        Gives nothing but what rows of a restored state complete that had not been joined.
        """
        if any(self._waiting):
            yield from self.push([None] * len(self._buffers))
        for buffer, retention in zip(self._buffers, self._retention, strict=True):
            self.counters.drops += buffer.drop_below(last_needed(watermark, retention))
        self._count_state()

    def due(self) -> int:
        """The least watermark that drops a row; any, while rows of a restored state wait."""
        if any(self._waiting):
            return MIN_TICK
        return first_drop(self._buffers, self._retention)

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows of each input."""
        return self._buffers

    def snapshot(self) -> Snapshot:
        """The rows of each input, and the time up to which they have been joined."""
        slices = [
            [*buffer.slices, *waiting]
            for buffer, waiting in zip(self._buffers, self._waiting, strict=True)
        ]
        return state_of(slices, self._joined_to if any(self._waiting) else None)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts the rows of each input back; those not joined yet count as new in the next step."""
        buffers, self._joined_to = stored_state(snapshot, len(self._node.inputs))
        parts = [parted(slices, self._joined_to) for slices in buffers]
        self._buffers = [ChunkBuffer("time", joined) for joined, _ in parts]
        self._waiting = [waiting for _, waiting in parts]
        self._count_state()

    def _admitted(self, port: int, batch: ChangeBatch | None) -> Chunk | None:
        """The rows that can match, in time order, with the columns needed; None for none."""
        if batch is None or not len(batch):
            return None
        self.counters.rows_in += len(batch)
        rows = only_inserts(self._node, port, batch, self._columns[port])
        possible = can_match(self._node, port, rows)
        if not possible.all():
            self._set_aside(port, rows.where(~possible))
            rows = rows.where(possible)
        if not len(rows):
            return None
        rows = rows.sorted_by(rows.times)
        return Chunk(rows, rows.times)

    def _with_waiting(self, port: int, new: Chunk | None) -> Chunk | None:
        """The new rows, with those of a restored state that were not joined yet."""
        waiting = [part.rows() for part in self._waiting[port]]
        if not waiting:
            return new
        rows = concat(waiting if new is None else [*waiting, new.batch])
        rows = rows.sorted_by(rows.times)
        return Chunk(rows, rows.times)

    def _set_aside(self, port: int, rows: ChangeBatch) -> None:
        """Takes rows that can match nothing: an inner join has no use for them."""

    def _results(self, windows: Sequence[JoinWindow]) -> Iterator[ChangeBatch]:
        """All combinations, gathered into batches."""
        for found in self._search(windows).blocks(self._routes):
            yield self._gathered(windows, found)

    def _search(self, windows: Sequence[JoinWindow]) -> Search:
        """What finds the combinations of a push."""
        return Search(self._node, windows, self.counters, self._predicates)

    def _gathered(self, windows: Sequence[JoinWindow], found: FoundBlock) -> ChangeBatch:
        """The rows of complete combinations, side by side."""
        columns, places = gathered(self._node, windows, found)
        own = [w.ends(at) for w, at in zip(windows, places, strict=True) if w.has_ends]
        times = np.concatenate([partial.times.max(axis=0) for _, partial in found])
        return ChangeBatch(columns, times, np.minimum.reduce(own) if own else None)

    def _count_state(self) -> None:
        waiting = sum(len(part) for own in self._waiting for part in own)
        self.counters.stored = waiting + sum(buffer.rows for buffer in self._buffers)
        self.counters.state_bytes = sum(buffer.nbytes for buffer in self._buffers)


def found_places(found: FoundBlock, port: int) -> NDArray[np.int64]:
    """Where the rows of an input are in complete combinations."""
    return np.concatenate([partial.places[route.order.index(port)] for route, partial in found])


def gathered(
    node: MultiJoin, windows: Sequence[JoinWindow], found: FoundBlock
) -> tuple[pa.RecordBatch, list[Places]]:
    """The rows of complete combinations, side by side, and where each input's are."""
    places = [Places(found_places(found, port)) for port in range(len(windows))]
    arrays: list[pa.Array] = []
    for window, kept, own in zip(windows, node.keep, places, strict=True):
        arrays += window.columns(kept, own)
    names = [name for kept in node.keep for name in kept]
    return pa.RecordBatch.from_arrays(arrays, names=names), places
