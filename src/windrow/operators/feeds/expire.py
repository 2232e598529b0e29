"""Negative tuples: each row goes up as it comes, and once more, negative, when it ends.

The 2004 paper's W-Expire. What stands above needs no window: a row goes when its negative comes,
and values say which row that is.

    row, alive in [3, 9)      3 |===========| 9            + at 3             - at 9
    row, alive in [5, 11)         5 |===========| 11         + at 5                - at 11
    taken back at 7,                  7 |=======| 11           - at 7
      which ends with it

1. `push` stores rows in `waiting`, ordered by time: below the watermark more may still come.
2. `advance(W)` takes the rows with time < W out of it. Those that come wait in `alive`, ordered by
   end; one that takes another back takes it out of there, and both are done with (`cancel_retractions`).
3. Rows with end < W leave `alive`, each as a negative tuple at its end.

So rows go up in the order of time, below the watermark, and whoever works on input alone is never
behind. Within an instant, those that go come before those that come.

State: the rows alive, and those from the watermark on. An advance costs what comes and goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from windrow.operators.accumulators.base import nothing_to_delete
from windrow.operators.columns.changes import ChangeBatch, concat, in_time_order, signs_alone
from windrow.operators.columns.chunks import ChunkBuffer, bound_of_step
from windrow.operators.engine.base import Operator, Snapshot
from windrow.operators.joins.cancel_retractions import take_back
from windrow.physical.nodes.expire_rows import ExpireRows
from windrow.schema import MAX_TICK

STEP_ROWS = 1 << 15
"""About how many rows are worked on at once."""


class ExpireRowsOp(Operator):
    """Gives rows with ends as rows with signs."""

    kind = "expire-rows"

    def __init__(self, node: ExpireRows) -> None:  # noqa: ARG002  # rows say all there is to know
        super().__init__()
        self._waiting = ChunkBuffer("time")
        self._alive = ChunkBuffer("end")

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Lets the rows wait that are ever alive; gives nothing."""
        (batch,) = batches
        if batch is not None and len(batch):
            self.counters.rows_in += len(batch)
            self._waiting.append(_those(batch, batch.times < batch.ends_or_never()))
            self._measure()
        return iter(())

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the rows below the watermark, and takes back those that end below it."""
        while self._first < watermark:
            changes = self._step(bound_of_step(self.buffers(), watermark, STEP_ROWS))
            self.counters.rows_out += len(changes)
            self._measure()
            if len(changes):
                yield changes

    def due(self) -> int:
        """One tick after the first row that waits, or that ends."""
        return self._first + 1 if self._first < MAX_TICK else MAX_TICK

    @property
    def _first(self) -> int:
        """When the first row comes that waits, or ends; MAX_TICK for none."""
        return min(self._waiting.first, self._alive.first)

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows that have yet to come, and those alive."""
        return (self._waiting, self._alive)

    def snapshot(self) -> Snapshot:
        """The rows that wait, and those alive."""
        buffers = {"waiting": tuple(self._waiting.slices), "alive": tuple(self._alive.slices)}
        return Snapshot(self.kind, buffers)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back."""
        snapshot.check_kind(self.kind)
        self._waiting = ChunkBuffer("time", snapshot.buffers["waiting"])
        self._alive = ChunkBuffer("end", snapshot.buffers["alive"])
        self._measure()

    def _step(self, bound: int) -> ChangeBatch:
        """What comes and what goes below the bound."""
        coming = self._waiting.pop_below(bound)
        if coming is not None:
            self._enter(coming, bound)
        leaving = self._alive.pop_below(bound)
        changes = []
        if leaving is not None:
            self.counters.drops += len(leaving)
            changes.append(signs_alone(leaving, leaving.ends_or_never(), -1))
        if coming is not None:
            changes.append(signs_alone(coming, coming.times))
        return in_time_order(concat(changes))

    def _enter(self, coming: ChangeBatch, bound: int) -> None:
        """Keeps the rows that end some time, without those that are taken back."""
        signs, ends = coming.signs_or_insert(), coming.ends_or_never()
        self._alive.append(replace(_those(coming, (signs > 0) & (ends < MAX_TICK)), signs=None))
        goes = _those(coming, (signs < 0) & (ends < MAX_TICK))
        if not len(goes):
            return
        if take_back(self._alive, goes, bound) != len(goes):
            raise nothing_to_delete()
        self.counters.drops += len(goes)

    def _measure(self) -> None:
        self.counters.stored = sum(buffer.rows for buffer in self.buffers())
        self.counters.state_bytes = sum(buffer.nbytes for buffer in self.buffers())


def _those(rows: ChangeBatch, are_meant: NDArray[np.bool_]) -> ChangeBatch:
    return rows if are_meant.all() else rows.take(np.flatnonzero(are_meant))
