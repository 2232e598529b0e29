"""Windows of a single stream, or a derived table: [RANGE w] of event time, [ROWS n] as changes."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.plan.nodes.base import Node, Predicates, SameColumns, SameTimes
from windrow.plan.nodes.filter import filtered
from windrow.plan.texts import ColumnTexts
from windrow.plan.units import show_ticks


@dataclass(frozen=True)
class Range(SameTimes, SameColumns):
    """Gives every row of its input the window [RANGE ticks]: alive from t to t + ticks."""

    input: Node
    ticks: int

    rows_end = True  # with their windows
    begins_at_event_time = True  # below it no row has ended yet, and none has come back
    physical = "windrow.physical.nodes.stateless:RangeRows.of"

    @property
    def alive_ticks(self) -> int | None:
        """Its own length, or less where a window below is shorter."""
        inner = self.input.alive_ticks
        return self.ticks if inner is None else min(self.ticks, inner)

    def push_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """All go below: when a row stops being alive is nothing that a condition can see."""
        return Range(filtered(self.input, predicates), self.ticks), ()

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """Its length."""
        return f"Range {show_ticks(self.ticks, time_type)}"


@dataclass(frozen=True)
class NewestRows(SameTimes, SameColumns):
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
    physical = "windrow.physical.nodes.feeds:CountRows.of"

    @property
    def columns_read(self) -> set[str]:
        """All, which order rows of one time."""
        return set(self.schema.names)

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """How many."""
        by = f", for each {', '.join(self.partition)}" if self.partition else ""
        return f"NewestRows {self.rows}{by}"
