"""What count windows have in common: rows wait for the watermark, and are then numbered.

Which rows are the newest is known only once no earlier one can come.

    push       lets rows wait
    advance    takes those below the watermark, puts them in the one order (`total_order`), and hands
               them on; who takes them in numbers them on from the last ones

State: what waits, the rows that are there, each with its number, and the number of the next one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkBuffer, bound_of_step
from windrow.operators.columns.total_order import in_total_order
from windrow.operators.engine.base import Operator, Snapshot
from windrow.physical.nodes.count_rows import CountRows
from windrow.schema import MAX_TICK

STEP_ROWS = 1 << 15
"""About how many rows are numbered together."""

NEXT_NUMBER = "next_number"

Numbers = NDArray[np.int64]


class NumberedRowsOp(Operator):
    """Numbers rows in the one order, and keeps some of them."""

    kind: ClassVar[str]

    def __init__(self, node: CountRows) -> None:
        super().__init__()
        self._node = node
        self._shown = list(node.schema.names)
        self._waiting = ChunkBuffer("time")
        self._there = ChunkBuffer("end")  # in place of an end, each row has its number
        self._next_number = 0

    @abstractmethod
    def _entered(self, rows: ChangeBatch) -> ChangeBatch:
        """Takes in rows, which are in the one order; gives what comes and goes with them."""

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Lets rows wait; gives nothing."""
        (batch,) = batches
        if batch is not None and len(batch):
            self.counters.rows_in += len(batch)
            self._waiting.append(ChangeBatch(batch.columns, batch.times, None, batch.signs))
            self._measure()
        return iter(())

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives what comes and goes below the watermark."""
        while self._waiting.first < watermark:
            rows = self._waiting.pop_below(bound_of_step([self._waiting], watermark, STEP_ROWS))
            assert rows is not None
            changes = self._entered(in_total_order(rows))
            self.counters.rows_out += len(changes)
            if len(changes):
                yield changes
        self._measure()

    def due(self) -> int:
        """One tick after the first row that waits."""
        return self._waiting.first + 1 if self._waiting.slices else MAX_TICK

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows that are there, and those that wait."""
        return (self._there, self._waiting)

    def snapshot(self) -> Snapshot:
        """The rows, and the number of the next one."""
        buffers = {"there": tuple(self._there.slices), "waiting": tuple(self._waiting.slices)}
        return Snapshot(self.kind, buffers, {NEXT_NUMBER: self._next_number})

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back."""
        snapshot.check_kind(self.kind)
        self._there = ChunkBuffer("end", snapshot.buffers["there"])
        self._waiting = ChunkBuffer("time", snapshot.buffers["waiting"])
        self._next_number = snapshot.numbers[NEXT_NUMBER]
        self._measure()

    def _numbers_of(self, rows: int) -> Numbers:
        """The next numbers, for so many rows."""
        numbers = np.arange(self._next_number, self._next_number + rows)
        self._next_number += rows
        return numbers

    def _measure(self) -> None:
        self.counters.stored = self._waiting.rows + self._there.rows
        self.counters.state_bytes = self._waiting.nbytes + self._there.nbytes
