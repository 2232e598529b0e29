"""The node that computes columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.nodes.base import OneInput, PerRow
from windrow.physical.shedding import is_hidden
from windrow.plan.explain import show_items

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.plan.exprs import Named
    from windrow.schema import Schema


@dataclass(frozen=True)
class ProjectRows(PerRow, OneInput):
    """Computes columns; event time, end and sign pass through."""

    input: PhysicalNode
    items: tuple[Named, ...]
    schema: Schema

    driver = "windrow.operators.engine.row_drivers:RowDriver"
    relation = "windrow.run.spark.relations:project_rows"
    identity_fields = ("input", "items", "schema")

    @property
    def computed_columns(self) -> tuple[Named, ...]:
        """The items."""
        return self.items

    @property
    def title(self) -> str:
        """The columns that are not for us alone."""
        return f"ProjectRows {show_items(tuple(i for i in self.items if not is_hidden(i.name)))}"
