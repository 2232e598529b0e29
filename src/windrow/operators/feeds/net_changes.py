"""Changes of a bag made net, where rows come and go by signs alone: rows in, a changelog out.

What stands below takes its rows back by itself, so that the changes of an instant are the sum of
its signs, row by row, whatever was there before:

    - a  + a  + b      at one instant of the input
          + b          of the answer

Nothing is kept but the rows that wait until the watermark has passed their instant. Where rows end
by themselves, copies have to be counted (`set_operation.py`).

Changes made net: what is deleted and inserted at one instant is no change.

An aggregate's own changes are net. Where the answer shows less of a row than the aggregate has
(`SELECT store .. HAVING COUNT(*) > 2`), two versions may look alike, and this takes them out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from windrow.operators.aggregates.sliding import STEP_ROWS
from windrow.operators.columns.changes import ChangeBatch, in_time_order
from windrow.operators.columns.chunks import ChunkBuffer, bound_of_step
from windrow.operators.columns.key_directory import KeyDirectory, as_shown
from windrow.operators.engine.base import Operator, Snapshot
from windrow.schema import MAX_TICK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.physical.nodes.set_op import SetOp


def net_changes(rows: ChangeBatch) -> ChangeBatch:
    """The rows without those that a row of the other sign, equal and at one instant, undoes."""
    signs = rows.signs_or_insert()
    slots = KeyDirectory().slots_of([pa.array(rows.times), *rows.columns.columns])
    net = np.zeros(len(rows), np.int64)
    np.add.at(net, slots, signs)
    keeps = np.zeros(len(rows), np.bool_)
    for sign in (1, -1):
        of_sign = np.flatnonzero(signs == sign)
        # The first so many rows of a kind stay as its net number says.
        order = of_sign[np.argsort(slots[of_sign], kind="stable")]
        _, starts = np.unique(slots[order], return_index=True)
        number = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
        allowed = np.maximum(net * sign, 0)
        keeps[order] = number < allowed[slots[order]]
    return rows if keeps.all() else rows.take(np.flatnonzero(keeps))


class NetChangesOp(Operator):
    """The changes of each instant below the watermark, net, deletes before inserts."""

    kind: ClassVar[str] = "net-changes"

    def __init__(self, node: SetOp) -> None:
        super().__init__()
        self._names = list(node.schema.names)
        self._waiting = ChunkBuffer("time")

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Lets rows wait; gives nothing."""
        (batch,) = batches
        if batch is not None and len(batch):
            self.counters.rows_in += len(batch)
            columns = batch.columns.select(self._names)
            self._waiting.append(ChangeBatch(columns, batch.times, None, batch.signs_or_insert()))
            self._measure()
        return iter(())

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the changes of every instant that the watermark has passed."""
        while self._waiting.first < watermark:
            rows = self._waiting.pop_below(bound_of_step([self._waiting], watermark, STEP_ROWS))
            assert rows is not None
            changes = _as_shown(in_time_order(net_changes(rows)))
            self.counters.drops += len(rows)
            self.counters.rows_out += len(changes)
            self._measure()
            if len(changes):
                yield changes

    def due(self) -> int:
        """One tick after the first row that waits."""
        return self._waiting.first + 1 if self._waiting.slices else MAX_TICK

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows that wait."""
        return (self._waiting,)

    def snapshot(self) -> Snapshot:
        """The rows that wait."""
        return Snapshot(self.kind, {"waiting": tuple(self._waiting.slices)})

    def restore(self, snapshot: Snapshot) -> None:
        """Puts them back."""
        snapshot.check_kind(self.kind)
        self._waiting = ChunkBuffer("time", snapshot.buffers["waiting"])
        self._measure()

    def _measure(self) -> None:
        self.counters.stored = self._waiting.rows
        self.counters.state_bytes = self._waiting.nbytes


def _as_shown(rows: ChangeBatch) -> ChangeBatch:
    """The rows with 0.0 for -0.0: equal ones look alike."""
    columns = [as_shown(column) for column in rows.columns.columns]
    shown = pa.RecordBatch.from_arrays(columns, schema=rows.columns.schema)
    return replace(rows, columns=shown)
