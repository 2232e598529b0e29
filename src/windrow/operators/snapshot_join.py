"""The join of 2 to 8 relations that change: at every instant, the join of what is alive there.

An input may take rows back (an aggregate, DISTINCT, a set operation), or its rows have ends (a
stream with a window). A join is linear in each input: of rows that are alive in [t, end), each with
a sign, a combination is alive while all of them are, and its sign is the product of theirs.

    + a     3 |===================| 20               + a + b     8 |===========| 20
    + b          8 |======================...        + a - b               15 |=| 20
    - b                   15 |============...        together    8 |=======|       15

So no order of processing is needed, and rows that are taken back are joined like any others:

1. New rows that can match are put in order of their ends. Each combination of rows with equal keys
   that are alive together comes out in the push that brings its last row (`snapshot_search`); how
   each is found once, `bew_join` says, with ends in the place of times.
2. Rows are kept until the watermark has passed their end. A row that takes another back waits for
   the watermark to come to its time; then both go (`taken_back`).

State: the rows alive on each side, with the columns that the answer, the keys and the predicates
need, and those from the watermark on. A push costs its rows and what they find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.accumulators.base import nothing_to_delete
from windrow.operators.base import Operator, Snapshot
from windrow.operators.bew_search import FoundBlock
from windrow.operators.bew_steps import routes_of
from windrow.operators.bew_window import JoinWindow
from windrow.operators.changes import ChangeBatch, concat, select
from windrow.operators.chunks import Chunk, ChunkBuffer
from windrow.operators.gather import Places
from windrow.operators.join_inputs import can_match
from windrow.operators.snapshot_search import SnapshotSearch, times_at
from windrow.operators.taken_back import take_back
from windrow.operators.theta import Predicates
from windrow.physical.specs import WJoin
from windrow.schema import MAX_TICK, MIN_TICK

STATE_KIND = "snapshot-join"
"""Buffers `0`, `1`, .. of rows that have come, and `back 0`, .. of those that take others back."""


class SnapshotJoinOp(Operator):
    """Joins inputs whose rows come and go, by equal keys and predicates."""

    def __init__(self, spec: WJoin) -> None:
        super().__init__()
        self._spec = spec
        ports = range(len(spec.inputs))
        self._come = [ChunkBuffer("end") for _ in ports]
        self._back = [ChunkBuffer("end") for _ in ports]
        self._routes = routes_of(spec)
        self._predicates = Predicates(spec)
        self._columns = [spec.columns_needed(port) for port in ports]

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Gives the combinations whose last row is among these."""
        new = [self._admitted(port, batch) for port, batch in enumerate(batches)]
        windows = [
            JoinWindow([*come.slices, *back.slices], own)
            for come, back, own in zip(self._come, self._back, new, strict=True)
        ]
        if all(windows):
            search = SnapshotSearch(self._spec, windows, self.counters, self._predicates)
            for found in search.blocks(self._routes):
                result = self._gathered(windows, found)
                self.counters.rows_out += len(result)
                yield result
        for port, own in enumerate(new):
            if own is not None:
                self._keep(port, own)
        self._count_state()

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Drops the rows that no row from the watermark on is alive with; gives nothing."""
        for port, come in enumerate(self._come):
            self._settle(port, watermark)
            for buffer in (come, self._back[port]):
                self.counters.drops += _drop_ended(buffer, watermark)
        self._count_state()
        yield from ()

    def due(self) -> int:
        """The least watermark that ends a row, or that a row which takes one back waits for."""
        ends = [buffer.first for buffer in self.buffers()]
        waiting = [int(part.rows().times.min()) for back in self._back for part in back.slices]
        return min([*ends, *waiting, MAX_TICK])

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows of each input that have come, and those that take others back."""
        return [*self._come, *self._back]

    def snapshot(self) -> Snapshot:
        """The rows of each input."""
        come = {str(port): tuple(buffer.slices) for port, buffer in enumerate(self._come)}
        back = {f"back {port}": tuple(own.slices) for port, own in enumerate(self._back)}
        return Snapshot(STATE_KIND, come | back)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts the rows of each input back."""
        snapshot.check_kind(STATE_KIND)
        kept, ports = snapshot.buffers, range(len(self._come))
        self._come = [ChunkBuffer("end", kept.get(str(port), ())) for port in ports]
        self._back = [ChunkBuffer("end", kept.get(f"back {port}", ())) for port in ports]
        self._count_state()

    def _admitted(self, port: int, batch: ChangeBatch | None) -> Chunk | None:
        """The rows that can match, in order of their ends; None for none."""
        if batch is None or not len(batch):
            return None
        self.counters.rows_in += len(batch)
        rows = replace(batch, columns=select(batch.columns, self._columns[port]))
        possible = can_match(self._spec, port, rows) & (rows.times < rows.ends_or_never())
        if not possible.all():
            rows = rows.take(np.flatnonzero(possible))
        if not len(rows):
            return None
        rows = rows.sorted_by(rows.ends_or_never())
        return Chunk(rows, rows.ends_or_never())

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

    def _keep(self, port: int, new: Chunk) -> None:
        """Adds new rows to the state, with what was derived from them unless they were merged."""
        signs = new.batch.signs_or_insert()
        come = replace(new.batch, signs=None)
        if (signs < 0).any():
            self._back[port].append(new.batch.take(np.flatnonzero(signs < 0)))
            come = come.take(np.flatnonzero(signs > 0))
        buffer = self._come[port]
        buffer.append(come)
        if len(come) == len(new) and buffer.slices[-1].chunk.batch is come:
            buffer.slices[-1].chunk.derived.update(new.derived)

    def _settle(self, port: int, watermark: int) -> None:
        """Forgets the rows that take others back up to the watermark, and those others."""
        back = self._back[port]
        if not back.slices:
            return
        rows = concat([part.rows() for part in back.slices])
        is_settled = rows.times <= watermark
        if not is_settled.any():
            return
        settled = rows.take(np.flatnonzero(is_settled))
        if take_back(self._come[port], settled, watermark) != len(settled):
            raise nothing_to_delete()
        self.counters.drops += 2 * len(settled)
        self._back[port] = ChunkBuffer("end")
        self._back[port].append(rows.take(np.flatnonzero(~is_settled)))

    def _count_state(self) -> None:
        self.counters.stored = sum(buffer.rows for buffer in self.buffers())
        self.counters.state_bytes = sum(buffer.nbytes for buffer in self.buffers())


def _drop_ended(buffer: ChunkBuffer, watermark: int) -> int:
    """Drops the rows whose end is not after the watermark; at the end of time, all."""
    if watermark < MAX_TICK:
        return buffer.drop_below(watermark + 1)
    dropped = buffer.rows
    buffer.slices = []
    return dropped


def _signs_at(window: JoinWindow, places: NDArray[np.int64]) -> NDArray[np.int8]:
    """The signs of the rows at some places; those that have come are stored without."""

    def of(at: int, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        signs = window.slices[at].chunk.batch.signs
        return np.ones(len(rows), np.int8) if signs is None else signs[rows]

    return Places(places).computed(of)
