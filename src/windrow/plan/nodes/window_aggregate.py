"""GROUP BY over the rows alive at each instant."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace

from windrow.errors import Span
from windrow.plan.aggregates import AGGREGATES
from windrow.plan.aggregates.function import AggregateFunction
from windrow.plan.exprs import Expr, Named
from windrow.plan.nodes.base import Node, OneInput, read_by
from windrow.plan.texts import ColumnTexts, show_aggregates
from windrow.schema import Field, Schema


@dataclass(frozen=True)
class Aggregate:
    """One aggregate function over an expression; COUNT(*) has none.

    Attributes:
        function: its name, as `plan/aggregates` has it.
        argument: what it reads of a row.
        name: of the column that holds its answers.
        type: theirs, in Spark's words.
        is_distinct: whether equal values count once.
        registered: the function itself: a worker that unpickles the plan need not have registered it.
        text: the call as the user wrote it, with its FILTER, for EXPLAIN; "" if nobody wrote it.
    """

    function: str
    argument: Expr | None
    name: str
    type: str
    is_distinct: bool = False
    registered: AggregateFunction | None = field(default=None, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)

    @property
    def definition(self) -> AggregateFunction:
        """All that is known of its function."""
        return self.registered or AGGREGATES[self.function]


@dataclass(frozen=True)
class WindowAggregate(OneInput):
    """GROUP BY over the rows alive at each instant, as a changelog.

    Output columns: one per key (named by the key), then one per aggregate.
    Without keys there is one group, which exists from the first event on.
    """

    input: Node
    keys: tuple[Named, ...]
    aggregates: tuple[Aggregate, ...]
    span: Span | None = None

    is_stateful = True
    rows_end = True  # by being taken back
    physical = "windrow.physical.nodes.sliding_aggregate:SlidingAggregate.of"

    @property
    def schema(self) -> Schema:
        """Keys, then aggregates."""
        keys = tuple(Field(k.name, k.expr.type) for k in self.keys)
        return Schema(keys + tuple(Field(a.name, a.type) for a in self.aggregates))

    def verify_state(self) -> None:
        """Rows are kept until they leave: each must."""
        self.verify_rows_end("the aggregate", self.span)

    def required_columns(self, wanted: Set[str]) -> list[set[str]]:  # noqa: ARG002
        """What keys and aggregates read."""
        arguments = [aggregate.argument for aggregate in self.aggregates]
        return [read_by([*(key.expr for key in self.keys), *arguments])]

    def narrowed(self, wanted: Set[str]) -> WindowAggregate:
        """Only the wanted aggregates are computed."""
        used = tuple(aggregate for aggregate in self.aggregates if aggregate.name in wanted)
        return self if used == self.aggregates else replace(self, aggregates=used)

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """Aggregates and keys."""
        by = f"by {', '.join(key.expr.text for key in self.keys)}" if self.keys else ""
        return " ".join(filter(None, ("WindowAggregate", show_aggregates(self.aggregates), by)))
