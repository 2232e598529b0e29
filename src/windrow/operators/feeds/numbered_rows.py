"""What count windows have in common: rows wait for the watermark, and are then numbered.

Which rows are the newest is known only once no earlier one can come.

    push       lets rows wait
    advance    takes those below the watermark, puts them in the one order (`total_order`), and hands
               them on; who takes them in numbers them on from the last ones

State: what waits, the rows that are there, each with its number, and the number of the next one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch, rows_by_chunk
from windrow.operators.columns.chunks import Chunk, ChunkBuffer
from windrow.operators.columns.total_order import in_total_order
from windrow.operators.engine.base import SteppingOp
from windrow.physical.nodes.count_rows import CountRows

NEXT_NUMBER = "next_number"

Numbers = NDArray[np.int64]


class NumberedRowsOp(SteppingOp):
    """Numbers rows in the one order, and keeps some of them."""

    step_rows = 1 << 15

    def __init__(self, node: CountRows) -> None:
        self._node = node
        self._shown = list(node.schema.names)
        self._waiting = ChunkBuffer("time")
        self._there = ChunkBuffer("end")  # in place of an end, each row has its number
        buffers = {"there": self._there, "waiting": self._waiting}
        super().__init__(buffers, {NEXT_NUMBER: 0})

    @abstractmethod
    def _entered(self, rows: ChangeBatch) -> ChangeBatch:
        """Takes in rows, which are in the one order; gives what comes and goes with them."""

    def _admit(self, port: int, batch: ChangeBatch) -> None:  # noqa: ARG002
        self._waiting.append(ChangeBatch(batch.columns, batch.times, None, batch.signs))

    def _step(self, bound: int) -> ChangeBatch | None:
        rows = self._waiting.pop_below(bound)
        assert rows is not None
        return self._entered(in_total_order(rows))

    def _timed(self) -> Sequence[ChunkBuffer]:
        """Rows that are there leave by number."""
        return (self._waiting,)

    def _numbers_of(self, rows: int) -> Numbers:
        """The next numbers, for so many rows."""
        first = self._numbers[NEXT_NUMBER]
        self._numbers[NEXT_NUMBER] += rows
        return np.arange(first, first + rows)

    def _replace(self, new: Chunk, gone: Numbers) -> None:
        """Takes rows out, and keeps the new ones but those among these; `gone` are their places.

        New rows have their places in the chunk after all that are stored.
        """
        *stored, passing = rows_by_chunk(np.sort(gone), len(self._there.slices) + 1)
        self.counters.drops += self._there.drop(stored)
        stays = np.ones(len(new), np.bool_)
        stays[passing] = False
        self._there.append(new.batch.where(stays))
