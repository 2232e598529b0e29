"""An answer that a Python function is called with, epoch by epoch: for trying, and for what has no sink.

The function gets a table and the number of its epoch. After a crash it may get the last epoch again, cut
otherwise perhaps: one that must not act twice keeps the number with what it does. What it raises ends the
run, unless it is `Unavailable`: then it is called again with the same rows.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from windrow.errors import DataError, WindrowError
from windrow.io.protocol import NO_EPOCH, Answer, Connector, Json, Sink
from windrow.plan.arguments import ArgumentKind, check_kinds

FUNCTION = ArgumentKind("a function", callable, "lambda rows, epoch: print(rows.num_rows)")


@dataclass(frozen=True)
class CalledFunction(Connector):
    """A function that takes the rows of an epoch as an Arrow table, and the epoch's number."""

    name: ClassVar[str] = "call"

    function: Callable[[pa.Table, int], object]

    def __post_init__(self) -> None:
        """Refuses what cannot be called."""
        check_kinds(self.name, vars(self), function=FUNCTION)

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
        """Calls the function, once.

        Raises:
            DataError: it has raised an error, which is the cause of this one.
        """
        rows = self._rows.get(epoch)
        if rows is None:
            return
        try:
            self._function(rows, epoch)
        except WindrowError:
            raise
        except Exception as error:
            raise _failed(self._function, error) from error
        del self._rows[epoch]


def _failed(function: Callable[[pa.Table, int], object], error: Exception) -> DataError:
    name = getattr(function, "__name__", type(function).__name__)
    frames = traceback.extract_tb(error.__traceback__)[1:]
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return DataError(
        "function-failed",
        f"the function {name} of windrow.call(..), which takes the answer, raised {said}",
        reason=f"it was raised in line {frames[-1].lineno} of {frames[-1].filename}"
        if frames
        else "it cannot be called with a table and the number of an epoch",
        hint="it is called with an Arrow table and the number of its epoch",
    )
