"""The node that computes columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from windrow.physical.load_shedding.limits import is_hidden
from windrow.physical.nodes.shapes import OneInput, PerRow
from windrow.plan.exprs import Named, column
from windrow.plan.texts import show_items
from windrow.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Set

    from windrow.physical.nodes.base import PhysicalNode, Request
    from windrow.plan.nodes.project import Project
    from windrow.plan.statistics import Figure, Rates


@dataclass(frozen=True)
class ProjectRows(PerRow, OneInput):
    """Computes columns; event time, end and sign pass through."""

    input: PhysicalNode
    items: tuple[Named, ...]
    schema: Schema

    driver = "windrow.operators.engine.row_drivers:RowDriver"
    relation = "windrow.run.spark.relations:project_rows"
    is_evaluated = True
    identity_fields = ("input", "items", "schema")
    has_rate = True

    @classmethod
    def of(cls, node: Project, request: Request) -> ProjectRows:
        """That of SELECT."""
        return cls(request.inputs[0], node.items, node.schema)

    @property
    def whole_inputs(self) -> tuple[PhysicalNode, ...]:
        """The one input."""
        return (self.input,)

    @property
    def keeps_buckets(self) -> bool:
        """Unless it computes: an expression is Spark's to evaluate."""
        return all(item.expr.is_column for item in self.items)

    def columns_below(self, shown: Set[str]) -> set[str]:
        """Those that are passed on."""
        items = [item for item in self.items if item.name in shown and item.expr.is_column]
        return {item.expr.columns[0] for item in items}

    def source_of(self, column: str) -> tuple[str, str] | None:
        """That of the column which is passed on."""
        made = next(item.expr for item in self.items if item.name == column)
        return self.input.source_of(made.columns[0]) if made.is_column else None

    def rate(self, rates: Rates) -> Figure | None:
        """That of the input."""
        return rates.rate(self.input)

    def handing_on_draws(self) -> PhysicalNode:
        """The hidden columns below it are handed on."""
        hidden = [field for field in self.input.schema.fields if is_hidden(field.name)]
        items = (Named(own.name, column(own.name, own.type)) for own in hidden)
        schema = Schema((*self.schema.fields, *hidden))
        return replace(self, items=(*self.items, *items), schema=schema)

    @property
    def computed_columns(self) -> tuple[Named, ...]:
        """The items."""
        return self.items

    @property
    def title(self) -> str:
        """The columns that are not for us alone."""
        return f"ProjectRows {show_items(tuple(i for i in self.items if not is_hidden(i.name)))}"
