"""A stream in FROM."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.errors import PlanError, Span
from windrow.plan.catalog import StreamInfo
from windrow.plan.nodes.base import Leaf
from windrow.plan.texts import ColumnTexts, show_alias
from windrow.schema import Schema


@dataclass(frozen=True)
class Scan(Leaf):
    """The tuples of one stream under an alias; columns are named `alias.column`."""

    stream: StreamInfo
    alias: str
    schema: Schema
    span: Span | None = None

    physical = "windrow.physical.nodes.scan_stream:ScanStream.of"

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
