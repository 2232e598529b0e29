"""The node that keeps rows by conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windrow.physical.load_shedding.limits import chance_column, is_hidden
from windrow.physical.nodes.shapes import OneInput, PerRow, SameColumns
from windrow.plan.exprs import quote_duckdb, quote_spark
from windrow.plan.texts import show_predicates

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode, Request
    from windrow.plan.exprs import Expr
    from windrow.plan.nodes.filter import Filter
    from windrow.plan.statistics import Figure, Rates


@dataclass(frozen=True)
class FilterRows(PerRow, SameColumns, OneInput):
    """Keeps the rows for which every predicate is true."""

    input: PhysicalNode
    predicates: tuple[Expr, ...]

    driver = "windrow.operators.engine.row_drivers:RowDriver"
    relation = "windrow.run.spark.relations:filter_rows"
    is_evaluated = True
    identity_fields = ("input", "predicates")
    has_rate = True

    @classmethod
    def of(cls, node: Filter, request: Request) -> FilterRows:
        """That of WHERE or HAVING."""
        return cls(request.inputs[0], node.predicates)

    def rate(self, rates: Rates) -> Figure | None:
        """That of the rows that pass."""
        return rates.passing_rate(self.input, self.predicates)

    def handing_on_draws(self) -> PhysicalNode:
        """Rows with chances of 0, which tell where results may be missing, pass."""
        if not any(is_hidden(field.name) for field in self.input.schema.fields):
            return self
        name = chance_column(0)
        predicates = tuple(
            replace(
                own,
                spark=f"(({own.spark}) OR {quote_spark(name)} = 0)",
                duckdb=f"(({own.duckdb}) OR {quote_duckdb(name)} = 0)",
                columns=(*own.columns, name),
                comparisons=(),
                bands=(),
            )
            for own in self.predicates
        )
        return replace(self, predicates=predicates)

    @property
    def row_tests(self) -> tuple[Expr, ...]:
        """The predicates."""
        return self.predicates

    @property
    def title(self) -> str:
        """The conditions."""
        return f"FilterRows {show_predicates(self.predicates)}"
