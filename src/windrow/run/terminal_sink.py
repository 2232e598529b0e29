"""An answer on the terminal, epoch by epoch: for trying."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import BindError
from windrow.io.protocol import NO_EPOCH, Answer, Connector, Json, Sink
from windrow.schema import CHANGE_TYPE

MARKS = {"insert": "+", "update_postimage": "+", "delete": "-", "update_preimage": "-"}
"""How a change is shown: a row comes, or goes."""


@dataclass(frozen=True)
class Shown(Connector):
    """The terminal: rows of each epoch as a table, changes with + and -.

    Args:
        rows: how many are shown of an epoch, at most.
    """

    name: ClassVar[str] = "terminal"

    rows: int = 20

    def sink(self) -> Sink:
        """What shows them."""
        rows: object = self.rows  # a job file may say anything
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
            raise BindError(
                "bad-count",
                f"rows is {self.rows!r}, which is not a number of rows to show",
                hint="for instance  windrow.terminal(rows=20)",
            )
        return TerminalSink(self.rows)


class TerminalSink(Sink):
    """Prints rows when their epoch is committed; it does not remember which it has printed."""

    is_exactly_once = False
    writes_anywhere = False

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: dict[int, pa.Table] = {}

    def open(self, run: str, answer: Answer) -> int:  # noqa: ARG002
        """Takes any rows."""
        return NO_EPOCH

    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> Json:
        """Holds the rows until they are committed."""
        own = list(batches)
        if own:
            self._rows[epoch] = pa.Table.from_batches(own)

    def commit(self, epoch: int, written: Sequence[Json]) -> None:  # noqa: ARG002
        """Prints them."""
        from windrow.run.terminal import Terminal, readable  # noqa: PLC0415  # rich

        rows = self._rows.pop(epoch, None)
        if rows is None or not rows.num_rows:
            return
        terminal = Terminal()
        terminal.say(f"epoch {epoch}")
        terminal.print(readable(_marked(rows.slice(0, self._most))))
        if rows.num_rows > self._most:
            terminal.say(f"and {rows.num_rows - self._most:,} more")


def _marked(rows: pa.Table) -> pa.Table:
    """The rows, each of a changelog with a mark before it in place of its kind."""
    if CHANGE_TYPE not in rows.schema.names:
        return rows
    places = pc.index_in(rows.column(CHANGE_TYPE), pa.array(list(MARKS)))
    marks = pa.array(list(MARKS.values())).take(places.combine_chunks())
    return rows.drop_columns([CHANGE_TYPE]).add_column(0, "", marks)
