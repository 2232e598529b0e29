"""A stream of changes in FROM: rows that come with inserts and go with deletes."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from windrow.plan.nodes.base import Node, SameColumns
from windrow.plan.texts import ColumnTexts
from windrow.plan.units import show_ticks


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
    physical = "windrow.physical.nodes.resolve_changes:ResolveChanges.of"

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns by which rows are equal."""
        return tuple(name for name in self.schema.names if name != self.time)

    def required_columns(self, wanted: Set[str]) -> list[set[str]]:
        """What rows are compared by, and the time where it is wanted."""
        return [{*self.compared, *(wanted & {self.time})}]

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """The stream, and its window."""
        window = "" if self.ticks is None else f", Range {show_ticks(self.ticks, time_type)}"
        return f"ChangeFeed {self.alias}{window}"
