"""A stateful operator with its function in FROM, all in one file: `quiet(stream, ticks)`.

Of a stream that chatters, the instants that come at least so many ticks after the last one shown:

    times      0  1  2     5  6        11
    quiet 5    x           x            x
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from windrow import BindError, extend
from windrow.extend import (
    MAX_TICK,
    MIN_TICK,
    ChangeBatch,
    ChunkBuffer,
    Node,
    OneInput,
    Operator,
    PhysicalNode,
    Request,
    SameColumns,
    Schema,
    Single,
    Snapshot,
    TableFunction,
)


@dataclass(frozen=True)
class Quiet(SameColumns):
    """The rows of a stream at instants that are far enough apart."""

    input: Node
    ticks: int

    is_stateful = True
    physical = f"{__name__}:QuietRows.of"

    @property
    def event_times(self):
        return self.input.event_times

    def required_columns(self, wanted):  # noqa: ARG002
        return [set(self.schema.names)]

    def title(self, time_type, show):  # noqa: ARG002
        return f"Quiet {self.ticks}"


@dataclass(frozen=True)
class QuietRows(OneInput):
    """How it is computed: in one bucket, for what is shown depends on all that came before."""

    input: PhysicalNode
    ticks: int
    schema: Schema

    is_stateful = True
    identity_fields = ("input", "ticks", "schema")

    @classmethod
    def of(cls, node: Quiet, request: Request) -> QuietRows:
        return cls(request.inputs[0], node.ticks, request.inputs[0].schema)

    @property
    def title(self):
        return f"QuietRows {self.ticks}"

    def facts(self, options, show):  # noqa: ARG002
        return [
            ("state", ["the rows from the watermark on, and the last instant shown"]),
            ("emits", ["each row once the watermark has passed it; adds no delay"]),
        ]

    def partitioning(self, buckets):  # noqa: ARG002
        return Single("what is shown depends on all that came before")

    @property
    def operator(self):
        return f"{__name__}:QuietOp"


class QuietOp(Operator):
    """Lets rows wait for the watermark, then goes through their instants."""

    kind = "quiet"

    def __init__(self, node: QuietRows) -> None:
        super().__init__()
        self._ticks = node.ticks
        self._waiting = ChunkBuffer("time")
        self._last = MIN_TICK

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        (batch,) = batches
        if batch is not None and len(batch):
            self.counters.rows_in += len(batch)
            self._waiting.append(batch)
        return iter(())

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        rows = self._waiting.pop_below(watermark)
        if rows is None:
            return
        shown = []
        for instant in np.unique(rows.times).tolist():
            if self._last == MIN_TICK or instant - self._last >= self._ticks:
                self._last = instant
                shown.append(instant)
        kept = rows.take(np.flatnonzero(np.isin(rows.times, shown)))
        self.counters.rows_out += len(kept)
        if len(kept):
            yield kept

    def due(self) -> int:
        return self._waiting.first + 1 if self._waiting.first < MAX_TICK else MAX_TICK

    def buffers(self) -> Sequence[ChunkBuffer]:
        return (self._waiting,)

    def snapshot(self) -> Snapshot:
        return Snapshot(self.kind, {"waiting": tuple(self._waiting.slices)}, {"last": self._last})

    def restore(self, snapshot: Snapshot) -> None:
        snapshot.check_kind(self.kind)
        self._waiting = ChunkBuffer("time", snapshot.buffers["waiting"])
        self._last = snapshot.numbers["last"]


def _make(rows: Node, alias: str, given: tuple) -> Node:
    if len(given) != 1 or not isinstance(given[0], int) or given[0] < 1:
        raise BindError("quiet-ticks", "quiet takes a number of ticks", hint="write quiet(a, 5)")
    return Quiet(rows, given[0])


extend.table_function("quiet", TableFunction(_make, usage="quiet(stream, ticks)"))
