"""WHERE and HAVING: the rows for which conditions are true."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from windrow.plan.nodes.base import Node, Predicates, SameColumns, read_by
from windrow.plan.texts import ColumnTexts, show_predicates


@dataclass(frozen=True)
class Filter(SameColumns):
    """The rows for which every predicate is true."""

    input: Node
    predicates: Predicates

    physical = "windrow.physical.nodes.filter_rows:FilterRows.of"

    @property
    def rows_end(self) -> bool:
        """As in the input."""
        return self.input.rows_end

    @property
    def alive_ticks(self) -> int | None:
        """As long as in the input."""
        return self.input.alive_ticks

    @property
    def event_times(self) -> frozenset[str]:
        """Those of the input."""
        return self.input.event_times

    def required_columns(self, wanted: Set[str]) -> list[set[str]]:
        """What is wanted, and what the conditions read."""
        return [read_by(self.predicates).union(wanted)]

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """The conditions."""
        return f"Filter {show_predicates(self.predicates)}"


def filtered(node: Node, predicates: Predicates) -> Node:
    """A node below a Filter, where there is anything to test."""
    return Filter(node, predicates) if predicates else node
