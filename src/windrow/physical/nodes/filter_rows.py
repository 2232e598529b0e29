"""The node that keeps rows by conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.nodes.base import OneInput, PerRow
from windrow.plan.explain import show_predicates

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.plan.exprs import Expr
    from windrow.schema import Schema


@dataclass(frozen=True)
class FilterRows(PerRow, OneInput):
    """Keeps the rows for which every predicate is true."""

    input: PhysicalNode
    predicates: tuple[Expr, ...]

    driver = "windrow.operators.engine.row_drivers:RowDriver"
    relation = "windrow.run.spark.relations:filter_rows"
    identity_fields = ("input", "predicates")

    @property
    def schema(self) -> Schema:
        """The input's."""
        return self.input.schema

    @property
    def row_tests(self) -> tuple[Expr, ...]:
        """The predicates."""
        return self.predicates

    @property
    def title(self) -> str:
        """The conditions."""
        return f"FilterRows {show_predicates(self.predicates)}"
