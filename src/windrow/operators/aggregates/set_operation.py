"""DISTINCT and set operations over the rows alive at each instant: rows in, a changelog out.

A group is a row by all its values (`sliding.py`); what is kept per group is how many copies each
input holds, the paper's F_S and F_R, in one array. Rows wait for their end in one table, H_S and
H_R in one: the column `input` tells whose they are. What is in the output (DL, O_S) follows from
the copies (`kernels/set_operation.py`).

    S          a.......-           a.................-
    R                     a.............-
    S EXCEPT R +a      -a               +a           -a
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels import set_operation as kernels
from windrow.kernels.jit import writable
from windrow.kernels.versions import Versions
from windrow.operators.accumulators.base import nothing_to_delete, resized
from windrow.operators.aggregates.sliding import SlidingOp, Slots
from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.nodes.set_op import SetOp

OPERATIONS = {
    "distinct": kernels.UNION,
    "union": kernels.UNION,
    "except": kernels.EXCEPT,
    "except all": kernels.EXCEPT_ALL,
    "intersect": kernels.INTERSECT,
    "intersect all": kernels.INTERSECT_ALL,
    "changes": kernels.CHANGES,
}


class SetOperationOp(SlidingOp):
    """One or two inputs of equal columns; the rows of the answer by their numbers of copies."""

    kind = "set-operation"

    def __init__(self, node: SetOp) -> None:
        self._node = node
        self._operation = OPERATIONS[node.kind]
        super().__init__()

    def _reset(self) -> None:
        super()._reset()
        self._copies: NDArray[np.int64] = np.zeros((0, 2), np.int64)

    def _kept_columns(self, port: int, batch: ChangeBatch) -> dict[str, pa.Array]:
        columns = {f"key{i}": key for i, key in enumerate(batch.columns.columns)}
        if not columns:
            # Rows of which nothing is used but their number are all alike.
            columns["key0"] = pa.array(np.zeros(len(batch), np.int8))
        if len(self._node.inputs) > 1:
            columns["input"] = pa.array(np.full(len(batch), port, np.int8))
        return columns

    def _changes(self, versions: Versions, rows: ChangeBatch) -> ChangeBatch:
        if len(self._node.inputs) > 1:
            inputs = writable(rows.columns.column("input").to_numpy())
        else:
            inputs = np.zeros(len(rows), np.int8)
        outputs, is_sound = kernels.slide_copies(versions, inputs, self._copies, self._operation)
        if not is_sound:
            raise nothing_to_delete()
        changes = kernels.copies_changed(versions, outputs)
        names = list(self._node.schema.names)
        keys = self._directory.keys_of(versions.slots[changes.versions])[: len(names)]
        shown = pa.RecordBatch.from_arrays(keys, names=names)
        return ChangeBatch(shown, changes.times, None, changes.signs)

    def _has_nothing(self, slots: Slots) -> NDArray[np.bool_]:
        copies = self._copies.take(slots, axis=0)  # both numbers of a slot lie side by side
        empty: NDArray[np.bool_] = (copies[:, 0] | copies[:, 1]) == 0
        return empty

    def _clear(self, slots: Slots) -> None:
        self._copies[slots] = 0

    def _group_columns(self, slots: Slots) -> tuple[dict[str, pa.Array], dict[str, int]]:
        inputs = range(len(self._node.inputs))
        return {f"copies{port}": pa.array(self._copies[slots, port]) for port in inputs}, {}

    def _load_groups(self, slots: Slots, columns: pa.RecordBatch, _: dict[str, int]) -> None:
        for port in range(len(self._node.inputs)):
            self._copies[slots, port] = columns.column(f"copies{port}").to_numpy()

    def _resize(self, room: int) -> None:
        super()._resize(room)
        self._copies = resized(self._copies, room)

    def _group_bytes(self) -> int:
        return self._copies.nbytes
