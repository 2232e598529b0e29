"""SELECT: computed columns."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from windrow.plan.exprs import Named, column, rename
from windrow.plan.nodes.base import Node, PerRow, Predicates, kept_of, read_by, without
from windrow.plan.nodes.filter import Filter
from windrow.plan.texts import ColumnTexts, show_items
from windrow.schema import Schema


@dataclass(frozen=True)
class Project(PerRow):
    """Computed columns; event time, end and sign pass through."""

    input: Node
    items: tuple[Named, ...]
    schema: Schema

    physical = "windrow.physical.nodes.stateless:ProjectRows.of"

    @property
    def passed_on(self) -> dict[str, str]:
        """The columns that are only passed on, with their names in the input."""
        return {item.name: item.expr.columns[0] for item in self.items if item.expr.is_column}

    @property
    def event_times(self) -> frozenset[str]:
        """Those of the input, as far as they are passed on."""
        below = self.input.event_times
        return frozenset(name for name, source in self.passed_on.items() if source in below)

    def required_columns(self, wanted: Set[str]) -> list[set[str]]:
        """What the wanted items read."""
        return [read_by(item.expr for item in self.items if item.name in wanted)]

    def narrowed(self, wanted: Set[str]) -> Project:
        """Only the wanted items are computed."""
        items = tuple(item for item in self.items if item.name in wanted)
        if items == self.items:
            return self
        return Project(self.input, items, kept_of(self.schema, wanted))

    def push_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """Conditions on columns that are passed on go below, under the names that they have there.

        One on a computed column stays: below, its expression would be evaluated twice.
        """
        passed_on = self.passed_on
        moved = tuple(p for p in predicates if set(p.columns) <= passed_on.keys())
        if not moved:
            return self, predicates
        below = Filter(self.input, tuple(rename(p, passed_on) for p in moved))
        return Project(below, self.items, self.schema), without(predicates, moved)

    def title(self, time_type: str, show: ColumnTexts) -> str:  # noqa: ARG002
        """The items."""
        return f"Project {show_items(self.items)}"


def only(node: Node, needed: Set[str]) -> Node:
    """A node that gives the needed columns alone: below a Project, if it gives others too.

    A join needs no Project: its physical form carries on only what is needed above.
    """
    kept = kept_of(node.schema, needed)
    if kept == node.schema or node.drops_columns:
        return node
    return Project(node, tuple(Named(f.name, column(f.name, f.type)) for f in kept.fields), kept)
