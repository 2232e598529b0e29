"""Rows that pass as they are: what is left of an operator whose late rows are dealt with in front of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from windrow.operators.columns.changes import select
from windrow.operators.engine.base import Operator, Snapshot
from windrow.schema import MAX_TICK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.columns.chunks import ChunkBuffer
    from windrow.physical.nodes.set_op import SetOp


class HandOnOp(Operator):
    """Gives each row in the push that brings it; keeps none."""

    kind: ClassVar[str] = "hand-on"

    def __init__(self, node: SetOp) -> None:
        super().__init__()
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

    def buffers(self) -> Sequence[ChunkBuffer]:
        """None."""
        return ()

    def snapshot(self) -> Snapshot:
        """Nothing."""
        return Snapshot(self.kind, {})

    def restore(self, snapshot: Snapshot) -> None:
        """Puts nothing back."""
        snapshot.check_kind(self.kind)
