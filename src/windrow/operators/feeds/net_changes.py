"""Changes made net, and updates told apart for the answer.

`NetChangesOp` makes a changelog of rows that come and go by signs alone. What stands below takes its
rows back by itself, so that the changes of an instant are the sum of its signs, row by row, whatever
was there before:

    - a  + a  + b      at one instant of the input
          + b          of the answer

Nothing is kept but the rows that wait until the watermark has passed their instant. Where rows end
by themselves, copies have to be counted (`set_operation.py`). Where there is nothing to be made net,
rows are handed on as they come.

An aggregate's own changes are net. Where the answer shows less of a row than the aggregate has
(`SELECT store .. HAVING COUNT(*) > 2`), two versions may look alike: `net_changes` takes them out.

An update: an aggregate has one row per key at an instant, so that a row of it which goes as another comes is
one row that changes:

    instant    key      sign          shown as
    10:20      north    -1            update_preimage
    10:20      north    +1            update_postimage
    10:20      south    +1            insert

A row that is part of an update carries its sign twice over, from here to the answer alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.operators.columns.changes import ChangeBatch, in_time_order, select
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.columns.key_directory import KeyDirectory, as_shown
from windrow.operators.columns.signs import UPDATE
from windrow.operators.engine.base import BufferedOp, SteppingOp
from windrow.schema import MAX_TICK

if TYPE_CHECKING:
    from windrow.physical.nodes.set_op import HandOnRows, NetChanges


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
    return rows.where(keeps)


class NetChangesOp(SteppingOp):
    """The changes of each instant below the watermark, net, deletes before inserts."""

    kind = "net-changes"

    def __init__(self, node: NetChanges) -> None:
        self._names = list(node.schema.names)
        self._waiting = ChunkBuffer("time")
        super().__init__({"waiting": self._waiting})

    def _admit(self, port: int, batch: ChangeBatch) -> None:  # noqa: ARG002
        columns = batch.columns.select(self._names)
        self._waiting.append(ChangeBatch(columns, batch.times, None, batch.signs_or_insert()))

    def _step(self, bound: int) -> ChangeBatch | None:
        rows = self._waiting.pop_below(bound)
        assert rows is not None
        self.counters.drops += len(rows)
        return _as_shown(in_time_order(net_changes(rows)))


class HandOnOp(BufferedOp):
    """Rows that pass as they are: what is left where late rows are dealt with in front of it."""

    kind = "hand-on"

    def __init__(self, node: HandOnRows) -> None:
        super().__init__({})
        self._names = list(node.schema.names)

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Gives the rows."""
        (batch,) = batches
        if batch is not None and len(batch):
            self.counters.rows_in += len(batch)
            self.counters.rows_out += len(batch)
            yield replace(batch, columns=select(batch.columns, self._names))

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:  # noqa: ARG002
        """Gives nothing: no row waits."""
        return iter(())

    def due(self) -> int:
        """Never."""
        return MAX_TICK


def _as_shown(rows: ChangeBatch) -> ChangeBatch:
    """The rows with 0.0 for -0.0: equal ones look alike."""
    columns = [as_shown(column) for column in rows.columns.columns]
    shown = pa.RecordBatch.from_arrays(columns, schema=rows.columns.schema)
    return replace(rows, columns=shown)


def pair_updates(rows: ChangeBatch, keys: Sequence[str]) -> ChangeBatch:
    """The rows, with those marked of whose key one goes and one comes at one instant.

    Args:
        rows: all changes of the instants among them, net.
        keys: the columns that tell rows apart; none where there is one row at every instant.
    """
    signs = rows.signs_or_insert()
    of_key = [pa.array(rows.times), *(rows.columns.column(name) for name in keys)]
    slots = KeyDirectory().slots_of(of_key)
    has = {sign: np.zeros(len(rows), np.bool_) for sign in (1, -1)}
    for sign, marks in has.items():
        marks[slots[signs == sign]] = True
    is_update = (has[1] & has[-1])[slots]
    return replace(rows, signs=np.where(is_update, UPDATE * signs, signs).astype(np.int8))
