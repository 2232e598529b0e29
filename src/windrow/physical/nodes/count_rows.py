"""The node of [ROWS n] as changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.nodes.shapes import MakesChanges, OneInput
from windrow.physical.partitioning.buckets import by_keys

if TYPE_CHECKING:
    from windrow.physical.explain.facts import Fact, Show
    from windrow.physical.nodes.base import PhysicalNode, Request
    from windrow.physical.options import Options
    from windrow.physical.partitioning.buckets import Partitioning
    from windrow.plan.nodes.newest_rows import NewestRows
    from windrow.schema import Schema


@dataclass(frozen=True)
class CountRows(MakesChanges, OneInput):
    """The newest rows of a stream, [ROWS n] or [PARTITION BY k ROWS n], as changes.

    Where the input takes rows back, the newest of those that are there.

    Attributes:
        input: the stream's rows, with all columns: these order rows of one time.
        alias: how the user calls the stream.
        rows: how many rows stay.
        partition: so many for each value of these columns; () for one window.
        schema: the columns that are shown.
    """

    input: PhysicalNode
    alias: str
    rows: int
    partition: tuple[str, ...]
    schema: Schema

    identity_fields = ("input", "alias", "rows", "partition", "schema")
    is_stateful = True
    about = "count window"

    @classmethod
    def of(cls, node: NewestRows, request: Request) -> CountRows:
        """That of [ROWS n]."""
        below, shown = request.inputs[0], request.shown(node)
        return cls(below, node.alias, node.rows, node.partition, shown)

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """Which rows stay, and what is kept."""
        return _facts(self, show)

    @property
    def own_window(self) -> tuple[str, int]:
        """So many rows."""
        return "rows", self.rows

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"CountRows {self.alias}"

    def partitioning(self, buckets: int) -> Partitioning:
        """By the columns that windows are divided by."""
        window = f"{self.alias} [PARTITION BY .. ROWS {self.rows}]"
        return by_keys(self.partition, buckets, f"a count window is kept in one place; {window}")

    @property
    def operator(self) -> str:
        """One that rows come back to, or one that only new rows push others out of."""
        if self.input.takes_back:
            return "windrow.operators.feeds.count_windows:NewestChangesOp"
        return "windrow.operators.feeds.count_windows:CountRowsOp"


def _facts(node: CountRows, show: Show) -> list[Fact]:
    each = f" of each {', '.join(map(show, node.partition))}" if node.partition else ""
    order = "time, then the columns from left to right"
    if node.input.takes_back:
        return [
            ("rows", [f"while it is among the newest {node.rows}{each} of those there"]),
            ("order", [order]),
            ("state", ["the rows inserted and not deleted: any of them may come back"]),
            ("emits", ["the rows below the watermark, and those that they push out or bring back"]),
        ]
    return [
        ("rows", [f"from t until the time of row {node.rows} after it{each}"]),
        ("order", [order]),
        ("state", [f"the newest {node.rows} rows{each}, and what waits for the watermark"]),
        ("emits", ["the rows below the watermark, and those that they push out"]),
    ]
