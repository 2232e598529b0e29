"""[ROWS n] of a single stream, as changes."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from windrow.plan.nodes.base import Node, SameColumns
from windrow.plan.texts import ColumnTexts


@dataclass(frozen=True)
class NewestRows(SameColumns):
    """[ROWS n] of a stream as changes: a row goes when the n-th after it, of its key, comes.

    Over rows that are deleted, too, it has the newest n of those there: a row may come back.
    `partition` are the columns of PARTITION BY; () for one window.
    """

    input: Node
    alias: str
    rows: int
    partition: tuple[str, ...] = ()

    is_stateful = True
    rows_end = True  # when newer ones push them out
    physical = "windrow.physical.nodes.count_rows:CountRows.of"

    @property
    def event_times(self) -> frozenset[str]:
        """Those of the input."""
        return self.input.event_times

    def required_columns(self, wanted: Set[str]) -> list[set[str]]:  # noqa: ARG002
        """All, which order rows of one time."""
        return [set(self.schema.names)]

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """How many."""
        by = f", for each {', '.join(self.partition)}" if self.partition else ""
        return f"NewestRows {self.rows}{by}"
