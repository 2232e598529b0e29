"""The window join of 2 to 8 inputs by backward evaluation (BEW-join, 2003).

Every combination of one row per input with equal keys and t(j) - t(i) <= upper[i][j] for all
ordered pairs comes out in the push that brings its last row. A push goes through four steps:

1. New rows are put in time order. Rows that can match nothing (a NULL key, no event time) are
   counted and left out.
2. From each new row, the start tuple, combinations are extended by one input at a time, along a
   route (`bew_steps`). The period in which the next tuple may lie shrinks with each tuple chosen
   (`kernels/bew_period`), and the rows in it with the same key are found by bucket or by scan.
3. Words that are not the keys themselves are checked by value, and predicates are tested once
   their inputs are there (`bew_tests`), before combinations are extended further.
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

from windrow.errors import InternalError
from windrow.operators.base import Operator, Snapshot
from windrow.operators.bew_search import MOST_FOUND, Partial, Search
from windrow.operators.bew_steps import Route, only_one_way, routes_of
from windrow.operators.bew_window import JoinWindow
from windrow.operators.changes import ChangeBatch, select
from windrow.operators.chunks import Chunk, ChunkBuffer
from windrow.operators.gather import Places
from windrow.operators.theta import Predicates
from windrow.physical.specs import WJoin
from windrow.schema import MAX_TICK, MIN_TICK

STATE_KIND = "window-join"


class BewJoinOp(Operator):
    """Joins 2 to 8 inputs of inserts by time windows and equal keys."""

    def __init__(self, spec: WJoin) -> None:
        super().__init__()
        self._spec = spec
        ports = range(len(spec.inputs))
        self._buffers = [ChunkBuffer("time") for _ in ports]
        self._routes = routes_of(spec)
        self._retention = [spec.retention(port) for port in ports]
        self._predicates = Predicates(spec)
        self._columns = [_columns_needed(spec, port) for port in ports]

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Gives the combinations whose last row is among these."""
        windows = [
            JoinWindow(buffer.slices, self._admitted(port, batch))
            for port, (buffer, batch) in enumerate(zip(self._buffers, batches, strict=True))
        ]
        if all(windows):
            for result in self._results(windows):
                self.counters.rows_out += len(result)
                yield result
        for buffer, window in zip(self._buffers, windows, strict=True):
            if window.new is not None:
                _keep(buffer, window.new)
        self._count_state()

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Drops the rows that no row from the watermark on can reach; gives nothing."""
        for buffer, retention in zip(self._buffers, self._retention, strict=True):
            self.counters.drops += buffer.drop_below(_last_needed(watermark, retention))
        self._count_state()
        return iter(())

    def due(self) -> int:
        """The least watermark that drops a row."""
        dues = [
            buffer.first + retention + 1
            for buffer, retention in zip(self._buffers, self._retention, strict=True)
            if buffer.slices
        ]
        return max(MIN_TICK, min([*dues, MAX_TICK]))

    def snapshot(self) -> Snapshot:
        """The rows of each input, by its position."""
        buffers = {str(port): tuple(buffer.slices) for port, buffer in enumerate(self._buffers)}
        return Snapshot(STATE_KIND, buffers)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts the rows of each input back."""
        if snapshot.kind != STATE_KIND:
            raise InternalError(
                "wrong-state",
                f"a window join was given the state of {snapshot.kind!r}",
                reason="states are kept per stage and have one kind each",
            )
        self._buffers = [
            ChunkBuffer("time", snapshot.buffers.get(str(port), ()))
            for port in range(len(self._spec.inputs))
        ]
        self._count_state()

    def _admitted(self, port: int, batch: ChangeBatch | None) -> Chunk | None:
        """The rows that can match, in time order, with the columns needed; None for none."""
        if batch is None or not len(batch):
            return None
        self.counters.rows_in += len(batch)
        if batch.signs is not None and bool(np.any(batch.signs < 0)):
            raise InternalError(
                "join-retraction",
                f"input {self._spec.aliases[port]!r} of a window join takes a row back",
                reason="a window join reads inserts only; rows leave it by their ends",
            )
        columns = select(batch.columns, self._columns[port])
        rows = ChangeBatch(columns, batch.times, batch.ends)
        can_match = self._can_match(port, rows)
        if not can_match.all():
            rows = rows.take(np.flatnonzero(can_match))
        if not len(rows):
            return None
        rows = rows.sorted_by(rows.times)
        return Chunk(rows, rows.times)

    def _can_match(self, port: int, rows: ChangeBatch) -> NDArray[np.bool_]:
        """False for rows without an event time, and for NULLs in keys that NULL never equals."""
        can_match: NDArray[np.bool_] = rows.times != MIN_TICK
        for key in self._spec.classes:
            name = key.columns[port]
            if name is not None and not key.null_safe:
                column = rows.columns.column(name)
                if column.null_count:
                    can_match &= column.is_valid().to_numpy(zero_copy_only=False)
        return can_match

    def _results(self, windows: Sequence[JoinWindow]) -> Iterator[ChangeBatch]:
        """All combinations, gathered into batches of about MOST_FOUND rows."""
        search = Search(self._spec, windows, self.counters, self._predicates)
        waiting: list[tuple[Route, Partial]] = []
        for route in self._routes:
            if windows[route.start].new is None:
                continue
            for combinations in search.combinations(route):
                own = only_one_way(route, combinations.times)
                found = combinations if own is None else combinations.take(own)
                if not len(found):
                    continue
                waiting.append((route, found))
                if sum(len(partial) for _, partial in waiting) >= MOST_FOUND:
                    yield self._gathered(windows, waiting)
                    waiting = []
        if waiting:
            yield self._gathered(windows, waiting)

    def _gathered(
        self, windows: Sequence[JoinWindow], found: Sequence[tuple[Route, Partial]]
    ) -> ChangeBatch:
        """The rows of complete combinations, side by side."""
        arrays: list[pa.Array] = []
        ends: NDArray[np.int64] | None = None
        for port, window in enumerate(windows):
            chosen = [partial.places[route.order.index(port)] for route, partial in found]
            places = Places(np.concatenate(chosen))
            arrays += window.columns(self._spec.keep[port], places)
            if window.has_ends:
                own = window.ends(places)
                ends = own if ends is None else np.minimum(ends, own)
        names = list(self._spec.schema.names)
        times = np.concatenate([partial.times.max(axis=0) for _, partial in found])
        return ChangeBatch(pa.RecordBatch.from_arrays(arrays, names=names), times, ends)

    def _count_state(self) -> None:
        self.counters.stored = sum(buffer.rows for buffer in self._buffers)
        self.counters.state_bytes = sum(buffer.nbytes for buffer in self._buffers)


def _columns_needed(spec: WJoin, port: int) -> list[str]:
    """The columns that results, keys or predicates need, each once."""
    keys = [name for key in spec.classes if (name := key.columns[port]) is not None]
    own = set(spec.inputs[port].schema.names)
    read = [name for predicate in spec.predicates for name in predicate.columns if name in own]
    return list(dict.fromkeys([*spec.keep[port], *keys, *read]))


def _keep(buffer: ChunkBuffer, new: Chunk) -> None:
    """Adds the new rows to the state, with what was derived from them unless they were merged."""
    buffer.append(new.batch)
    kept = buffer.slices[-1].chunk
    if kept.batch is new.batch:
        kept.derived.update(new.derived)


def _last_needed(watermark: int, retention: int) -> int:
    """The least event time still needed: t goes when t + retention < watermark."""
    if watermark == MAX_TICK:
        return MAX_TICK  # the end of every input: nothing is needed any more
    return max(MIN_TICK, min(MAX_TICK, watermark - retention))
