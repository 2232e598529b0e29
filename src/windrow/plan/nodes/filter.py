"""WHERE and HAVING: the rows for which conditions are true."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.plan.nodes.base import Node, PerRow, Predicates, SameColumns, read_by
from windrow.plan.texts import ColumnTexts, show_predicates


@dataclass(frozen=True)
class Filter(PerRow, SameColumns):
    """The rows for which every predicate is true."""

    input: Node
    predicates: Predicates

    physical = "windrow.physical.nodes.stateless:FilterRows.of"

    @property
    def columns_read(self) -> set[str]:
        """What the conditions read."""
        return read_by(self.predicates)

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """The conditions."""
        return f"Filter {show_predicates(self.predicates)}"


def filtered(node: Node, predicates: Predicates) -> Node:
    """A node below a Filter, where there is anything to test."""
    return Filter(node, predicates) if predicates else node
