"""The node of UNION ALL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.nodes.base import Inner, PhysicalNode

if TYPE_CHECKING:
    from windrow.schema import Schema


@dataclass(frozen=True)
class UnionRows(Inner):
    """The rows of all inputs, which have the same columns: UNION ALL."""

    inputs: tuple[PhysicalNode, ...]

    driver = "windrow.operators.engine.row_drivers:UnionDriver"
    relation = "windrow.run.spark.relations:union_rows"
    identity_fields = ("inputs",)

    @property
    def schema(self) -> Schema:
        """That of each input."""
        return self.inputs[0].schema

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
