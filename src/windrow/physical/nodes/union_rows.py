"""The node of UNION ALL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.shapes import SameColumns
from windrow.plan.statistics import total

if TYPE_CHECKING:
    from windrow.plan.statistics import Figure, Rates


@dataclass(frozen=True)
class UnionRows(SameColumns):
    """The rows of all inputs, which have the same columns: UNION ALL."""

    inputs: tuple[PhysicalNode, ...]

    driver = "windrow.operators.engine.row_drivers:UnionDriver"
    relation = "windrow.run.spark.relations:union_rows"
    identity_fields = ("inputs",)
    needs_all_rows = "DISTINCT or a set operation"
    has_rate = True

    @property
    def alive_ticks(self) -> int | None:
        """The longest of the inputs, if all have one."""
        lengths = [child.alive_ticks for child in self.inputs]
        known = [length for length in lengths if length is not None]
        return max(known) if len(known) == len(lengths) else None

    @property
    def matches(self) -> list[str]:
        """Those of the first input."""
        return self.inputs[0].matches

    @property
    def row_inputs(self) -> tuple[PhysicalNode, ...]:
        """All."""
        return self.inputs

    @property
    def whole_inputs(self) -> tuple[PhysicalNode, ...]:
        """All."""
        return self.inputs

    def source_of(self, column: str) -> None:
        """Values of several columns."""

    def rate(self, rates: Rates) -> Figure | None:
        """Those of the inputs together."""
        return total([rates.rate(child) for child in self.inputs])
