"""A whole query: the plan and what its answer looks like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from windrow.errors import Span
from windrow.plan.nodes.project import Project
from windrow.plan.texts import ColumnTexts


@dataclass(frozen=True)
class Hint:
    """An option written in the query: its name, the text of its value, and where it stands."""

    name: str
    text: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Query:
    """A whole query: the plan and what its answer looks like.

    `is_changelog`: the answer carries `_change_type` and `_event_time`; `time_type` is the type
    that `_event_time` is shown in. `keys`: the columns in which no two rows of a changelog's answer
    agree at one instant; None where rows may be equal, and where it is no changelog.
    """

    root: Project
    is_changelog: bool
    time_type: str
    sql: str
    hints: tuple[Hint, ...] = ()
    keys: tuple[str, ...] | None = None

    def lines(self) -> list[str]:
        """The plan as stable text, from the answer down to the streams: a numbered line per node."""
        rows = enumerate(self.titles(), 1)
        return [f"{number:02}) {'  ' * row['depth']}{row['title']}" for number, row in rows]

    def titles(self) -> list[dict[str, Any]]:
        """The same as data: the depth and the title of each node."""
        show = ColumnTexts(node.items for node in self.root.walk() if isinstance(node, Project))
        rows: list[dict[str, Any]] = [
            {"depth": 0, "title": f"Emit {'changelog' if self.is_changelog else 'append'}"}
        ]
        rows += [
            {"depth": depth, "title": node.title(self.time_type, show)}
            for depth, node in by_depth(self.root)
        ]
        return rows


def by_depth(node: Any, depth: int = 1) -> Iterator[tuple[int, Any]]:
    """A node and all below it, each before its inputs, with how far below the answer it is."""
    yield depth, node
    for child in node.inputs:
        yield from by_depth(child, depth + 1)
