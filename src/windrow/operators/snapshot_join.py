"""The join of two or more relations that change: at every instant, the join of what is alive there.

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

import numpy as np

from windrow.operators.accumulators.base import nothing_to_delete
from windrow.operators.alive_together import AliveTogether, by_end, keep_new
from windrow.operators.base import Operator, Snapshot
from windrow.operators.bew_window import JoinWindow
from windrow.operators.changes import ChangeBatch, concat
from windrow.operators.chunks import Chunk, ChunkBuffer
from windrow.operators.taken_back import take_back
from windrow.physical.specs import WJoin
from windrow.schema import MAX_TICK

STATE_KIND = "snapshot-join"
"""Buffers `0`, `1`, .. of rows that have come, and `back 0`, .. of those that take others back."""


class SnapshotJoinOp(Operator):
    """Joins inputs whose rows come and go, by equal keys and predicates."""

    def __init__(self, spec: WJoin) -> None:
        super().__init__()
        ports = range(len(spec.inputs))
        self._come = [ChunkBuffer("end") for _ in ports]
        self._back = [ChunkBuffer("end") for _ in ports]
        self._together = AliveTogether(spec, self.counters)

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Gives the combinations whose last row is among these."""
        new = [self._admitted(port, batch) for port, batch in enumerate(batches)]
        windows = [
            JoinWindow([*come.slices, *back.slices], own)
            for come, back, own in zip(self._come, self._back, new, strict=True)
        ]
        for result in self._together.found(windows):
            self.counters.rows_out += len(result)
            yield result
        for port, own in enumerate(new):
            if own is not None:
                keep_new(own, self._come[port], self._back[port])
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
        return by_end(self._together.candidates(port, batch))

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
