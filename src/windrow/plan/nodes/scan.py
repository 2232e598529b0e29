"""What FROM names: a stream, a stream of changes, a table."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.errors import PlanError, Span
from windrow.plan.catalog import StreamInfo
from windrow.plan.nodes.base import Leaf, Node, SameColumns
from windrow.plan.texts import ColumnTexts, show_alias
from windrow.plan.units import show_ticks
from windrow.schema import Schema


@dataclass(frozen=True)
class Scan(Leaf):
    """The tuples of one stream under an alias; columns are named `alias.column`."""

    stream: StreamInfo
    alias: str
    schema: Schema
    span: Span | None = None

    physical = "windrow.physical.nodes.scans:ScanStream.of"

    @property
    def streams(self) -> tuple[StreamInfo, ...]:
        """The one stream."""
        return (self.stream,)

    @property
    def event_times(self) -> frozenset[str]:
        """The time column."""
        time = self.stream.schema.find(self.stream.time or "")
        return frozenset() if time is None else frozenset({f"{self.alias}.{time.name}"})

    def verify_state(self) -> None:
        """Windows need an event time."""
        if self.stream.time is None:
            raise PlanError(
                "no-time-column",
                f"the stream {self.stream.name} has no event time",
                reason="windows are measured on event time",
                hint=f"register it with its time column: stream({self.stream.name!r}, .., time=..)",
            ).at(self.span)

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """The stream, and how the user calls it."""
        return f"Scan {show_alias(self.stream.name, self.alias)}"


@dataclass(frozen=True)
class TableScan(Leaf):
    """The rows of one table under an alias; columns are named `alias.column`. It does not move."""

    table: StreamInfo
    alias: str
    schema: Schema
    span: Span | None = None

    physical = "windrow.physical.nodes.scans:ScanTable.of"

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """The table, and how the user calls it."""
        return f"TableScan {show_alias(self.table.name, self.alias)}"


@dataclass(frozen=True)
class ChangeFeed(SameColumns):
    """The rows that a stream of changes describes: they come with inserts and go with deletes.

    A delete takes back the newest row that equals it in all columns but the time. `ticks` are those
    of the stream's window [RANGE ticks]; None: rows stay until they are deleted.
    """

    input: Node
    alias: str
    time: str
    ticks: int | None = None

    is_stateful = True
    rows_end = True  # by deletes
    physical = "windrow.physical.nodes.feeds:ResolveChanges.of"

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns by which rows are equal."""
        return tuple(name for name in self.schema.names if name != self.time)

    @property
    def columns_read(self) -> set[str]:
        """What rows are compared by; the time where it is wanted."""
        return set(self.compared)

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """The stream, and its window."""
        window = "" if self.ticks is None else f", Range {show_ticks(self.ticks, time_type)}"
        return f"ChangeFeed {self.alias}{window}"
