"""The node of a change feed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.explain.bounds_text import state_bound
from windrow.physical.nodes.shapes import OneInput
from windrow.physical.partitioning.buckets import NO_COLUMNS, by_keys
from windrow.plan.units import show_ticks
from windrow.schema import END, SIGN

if TYPE_CHECKING:
    from windrow.physical.explain.facts import Fact, Show
    from windrow.physical.nodes.base import PhysicalNode, Request
    from windrow.physical.options import Options
    from windrow.physical.partitioning.buckets import Partitioning
    from windrow.plan.nodes.change_feed import ChangeFeed
    from windrow.schema import Schema


@dataclass(frozen=True)
class ResolveChanges(OneInput):
    """The relation that a stream of changes describes: each delete with the row it takes back.

    Attributes:
        input: the changes.
        alias: how the user calls the stream.
        compared: the columns that say which rows are equal: all but the time column.
        ticks: the stream's [RANGE]; None: a row is there until it is deleted.
        time: the time column, None where nothing above needs it.
        schema: the columns that are shown.
    """

    input: PhysicalNode
    alias: str
    compared: tuple[str, ...]
    ticks: int | None
    time: str | None
    schema: Schema

    identity_fields = ("input", "alias", "compared", "ticks", "time", "schema")
    is_stateful = True
    takes_back = True  # each delete takes a row back
    about = "change feed"
    operator = "windrow.operators.feeds.change_feed:ResolveChangesOp"

    @classmethod
    def of(cls, node: ChangeFeed, request: Request) -> ResolveChanges:
        """That of a stream of changes."""
        shown = request.shown(node)
        time = node.time if node.time in shown.names else None
        return cls(request.inputs[0], node.alias, node.compared, node.ticks, time, shown)

    @property
    def has_ends(self) -> bool:
        """Where there is a window."""
        return self.ticks is not None

    @property
    def row_marks(self) -> tuple[str, ...]:
        """A sign, and an end where there is a window."""
        return (SIGN,) if self.ticks is None else (END, SIGN)

    @property
    def alive_ticks(self) -> int | None:
        """The window of the feed."""
        return self.ticks

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """Which rows come and go, and what is kept."""
        return _facts(self, show)

    @property
    def own_window(self) -> tuple[str, int] | None:
        """The window of the feed."""
        return None if self.ticks is None else ("ticks", self.ticks)

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"ResolveChanges {self.alias}"

    def partitioning(self, buckets: int) -> Partitioning:
        """By what tells rows apart."""
        return by_keys(self.compared, buckets, NO_COLUMNS)


def _facts(node: ResolveChanges, show: Show) -> list[Fact]:
    rows, state = "until it is deleted", "the rows inserted and not deleted"
    if node.ticks is not None:
        rows = f"from t to t + {show_ticks(node.ticks, node.time_type)}, both included, or {rows}"
        state = f"{state_bound(node, node.input, node.alias, node.ticks, 0)}, less what is deleted"
    return [
        ("changes", [f"{node.scans[0].changes} says which rows come and which go"]),
        ("deletes", [f"the newest row that is equal in {', '.join(map(show, node.compared))}"]),
        ("rows", [rows]),
        ("state", [state]),
        ("emits", ["the changes below the watermark, each delete with the end of its row"]),
        ("why", ["a delete looks up its own row: a change costs the rows equal to it"]),
    ]
