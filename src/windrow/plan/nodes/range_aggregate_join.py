"""WINDOW JOIN: each row with aggregates over the rows of another input around it."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.errors import Span
from windrow.plan.nodes.base import Equality, Node, PairJoin, compared_by, read_by
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.plan.texts import ColumnTexts, show_aggregates, show_equalities
from windrow.schema import Field, Schema


@dataclass(frozen=True)
class RangeAggregateJoin(PairJoin):
    """WINDOW JOIN: each left row with aggregates over right rows of equal keys around it.

    Those have t(right) - t(left) in [-lo, hi]. Output columns: the left ones, then one per
    aggregate. Event time of a row: that of its left row.
    """

    left: Node
    right: Node
    aliases: tuple[str, str]
    equalities: tuple[Equality, ...]
    lo: int
    hi: int
    aggregates: tuple[Aggregate, ...]
    text: str = ""
    span: Span | None = None

    physical = "windrow.physical.nodes.range_aggregate:RangeAggregate.of"

    @property
    def schema(self) -> Schema:
        """The left columns, then the aggregates."""
        aggregates = tuple(Field(each.name, each.type) for each in self.aggregates)
        return Schema(self.left.schema.fields + aggregates)

    @property
    def event_times(self) -> frozenset[str]:
        """Those of the left input."""
        return self.left.event_times

    @property
    def columns_read(self) -> set[str]:
        """Keys, and what is aggregated."""
        return compared_by(self.equalities) | read_by(each.argument for each in self.aggregates)

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """Aggregates, keys, window."""
        on = show_equalities(self.equalities, show)
        on = f"on {on}" if self.equalities else on
        return f"RangeAggregateJoin {show_aggregates(self.aggregates)} {on}; {self.text}"
