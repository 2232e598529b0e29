"""An answer that a Python function is called with, epoch by epoch: for trying, and for what has no sink.

The function gets a table and the number of its epoch. After a crash it may get the last epoch again, cut
otherwise perhaps: one that must not act twice keeps the number with what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from windrow.io.protocol import NO_EPOCH, Answer, Connector, Json, Sink


@dataclass(frozen=True)
class Call(Connector):
    """A function that takes the rows of an epoch as an Arrow table, and the epoch's number."""

    name: ClassVar[str] = "call"

    function: Callable[[pa.Table, int], object]

    def sink(self) -> Sink:
        """What calls it."""
        return FunctionSink(self.function)


class FunctionSink(Sink):
    """Calls a function when an epoch is committed."""

    is_exactly_once = False
    writes_anywhere = False

    def __init__(self, function: Callable[[pa.Table, int], object]) -> None:
        self._function = function
        self._rows: dict[int, pa.Table] = {}

    def open(self, run: str, answer: Answer) -> int:  # noqa: ARG002
        """Takes any rows; what it has been given, only the function knows."""
        return NO_EPOCH

    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> Json:
        """Holds the rows until they are committed."""
        self._rows[epoch] = pa.Table.from_batches(batches)

    def commit(self, epoch: int, written: Sequence[Json]) -> None:  # noqa: ARG002
        """Calls the function, once."""
        rows = self._rows.pop(epoch, None)
        if rows is not None:
            self._function(rows, epoch)
