"""The node that says how long rows live."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.nodes.shapes import OneInput, SameColumns
from windrow.plan.units import show_ticks
from windrow.schema import END, SIGN

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode, Request
    from windrow.physical.nodes.scan_stream import ScanStream
    from windrow.plan.nodes.range import Range
    from windrow.plan.statistics import Figure, Rates


@dataclass(frozen=True)
class RangeRows(SameColumns, OneInput):
    """Sets every row's end to event time + ticks + 1, or leaves an earlier end."""

    input: PhysicalNode
    ticks: int

    driver = "windrow.operators.engine.row_drivers:RowDriver"
    relation = "windrow.run.spark.relations:range_rows"
    is_evaluated = True
    identity_fields = ("input", "ticks")
    has_ends = True  # it gives them
    keeps_buckets = True  # it sets a window
    has_rate = True

    @classmethod
    def of(cls, node: Range, request: Request) -> RangeRows:
        """That of [RANGE w]."""
        return cls(request.inputs[0], node.ticks)

    @property
    def row_marks(self) -> tuple[str, ...]:
        """Those of the input, and an end."""
        return (END, SIGN) if SIGN in self.input.row_marks else (END,)

    @property
    def leaves_in_order(self) -> bool:
        """Where this window alone says when."""
        return self.input.alive_ticks is None

    @property
    def matches(self) -> list[str]:
        """Those of the input."""
        return self.input.matches

    @property
    def origin(self) -> ScanStream | None:
        """That of the input."""
        return self.input.origin

    def lifetime(self, length: str) -> str:
        """By this window."""
        text = super().lifetime(length)
        if self.input.is_joined:
            text += "; t is that of its last tuple, and the windows below say which tuples meet"
        return text

    @property
    def alive_ticks(self) -> int | None:
        """The shorter of this window and those below."""
        inner = self.input.alive_ticks
        return self.ticks if inner is None else min(self.ticks, inner)

    @property
    def range_ticks(self) -> int:
        """Its length."""
        return self.ticks

    @property
    def own_window(self) -> tuple[str, int]:
        """Its length."""
        return "ticks", self.ticks

    def rate(self, rates: Rates) -> Figure | None:
        """That of the input."""
        return rates.rate(self.input)

    @property
    def title(self) -> str:
        """How long rows live."""
        return f"RangeRows {show_ticks(self.ticks, self.time_type)}"
