"""[RANGE w]: the window of event time that a stream, or a derived table, has."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.plan.nodes.base import Node, Predicates, SameColumns
from windrow.plan.nodes.filter import filtered
from windrow.plan.texts import ColumnTexts
from windrow.plan.units import show_ticks


@dataclass(frozen=True)
class Range(SameColumns):
    """Gives every row of its input the window [RANGE ticks]: alive from t to t + ticks."""

    input: Node
    ticks: int

    rows_end = True  # with their windows
    begins_at_event_time = True  # below it no row has ended yet, and none has come back
    physical = "windrow.physical.nodes.range_rows:RangeRows.of"

    @property
    def alive_ticks(self) -> int | None:
        """Its own length, or less where a window below is shorter."""
        inner = self.input.alive_ticks
        return self.ticks if inner is None else min(self.ticks, inner)

    @property
    def event_times(self) -> frozenset[str]:
        """Those of the input."""
        return self.input.event_times

    def push_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """All go below: when a row stops being alive is nothing that a condition can see."""
        return Range(filtered(self.input, predicates), self.ticks), ()

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """Its length."""
        return f"Range {show_ticks(self.ticks, time_type)}"
