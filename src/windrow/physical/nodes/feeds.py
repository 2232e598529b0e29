"""The nodes that make changes of the rows of one stream: of what ends, of windows by count, of a change feed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.explain.facts import (
    Fact,
    Show,
    alive_bound,
    drop_condition,
    lifetime,
    plus,
    said,
    source_name,
    state_bound,
)
from windrow.physical.nodes.shapes import MakesChanges, OneInput, SameColumns, as_asked
from windrow.physical.partitioning.buckets import NO_COLUMNS, Partitioning, by_keys
from windrow.plan.units import show_ticks
from windrow.schema import END, SIGN, Schema

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode, Request
    from windrow.physical.options import Options
    from windrow.plan.nodes.own_windows import NewestRows
    from windrow.plan.nodes.scan import ChangeFeed


@dataclass(frozen=True)
class ExpireRows(MakesChanges, SameColumns, OneInput):
    """The rows of the input as signs alone: each once more, as a negative tuple, when it ends."""

    input: PhysicalNode

    identity_fields = ("input",)
    is_stateful = True
    gives_all_rows = True
    about = "expiry"
    operator = "windrow.operators.feeds.expire:ExpireRowsOp"

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """When rows are taken back, and what is kept."""
        time_type, below = self.time_type, self.input.delay
        source, alive = source_name(self.input), self.input.alive_ticks
        trailing = plus("the watermark", -below, time_type)
        retention = state = ""
        if alive is not None:
            gone = drop_condition(self.input, source, alive, below, time_type)
            retention = f"{gone} + 1 tick, when its negative is out"
            state = alive_bound(self, self.input, source, alive, below)
        return said(
            ("rows", lifetime(self.input, alive)),
            ("retention", retention),
            ("state", state),
            (
                "emits",
                f"the rows below {trailing} in the order of time, and each as a negative at its end",
            ),
            (
                "why",
                "negative tuples: what stands above takes rows back by value, and keeps no window",
            ),
        )

    @property
    def held_inputs(self) -> tuple[PhysicalNode, ...]:
        """The one input."""
        return (self.input,)

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"ExpireRows {source_name(self.input)}"

    def partitioning(self, buckets: int) -> Partitioning:
        """By all columns."""
        return by_keys(self.schema.names, buckets, NO_COLUMNS)


BY_TIME_AND_COLUMNS = "time, then the columns from left to right"
"""The order of rows in a window that counts them, in words."""


@dataclass(frozen=True)
class CountRows(MakesChanges, OneInput):
    """The newest rows of a stream, [ROWS n] or [PARTITION BY k ROWS n], as changes.

    Its fields are those of `NewestRows`, whose input has all columns, and `schema`: those shown.
    """

    input: PhysicalNode
    alias: str
    rows: int
    partition: tuple[str, ...]
    schema: Schema

    identity_name = "CountRows"
    identity_fields = ("input", "alias", "rows", "partition", "schema")
    is_stateful = True
    about = "count window"
    operator = "windrow.operators.feeds.count_windows:CountRowsOp"

    @classmethod
    def of(cls, node: NewestRows, request: Request) -> CountRows:
        """That of [ROWS n]; where the input takes rows back, of those that are there."""
        kind = CountChanges if request.inputs[0].takes_back else CountRows
        return kind(**as_asked(node, request, CountRows))

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """Which rows stay, and what is kept."""
        each = self._each(show)
        return said(
            ("rows", f"from t until the time of row {self.rows} after it{each}"),
            ("order", BY_TIME_AND_COLUMNS),
            (
                "state",
                f"{self.alias}: the newest {self.rows} rows{each}, and what waits for the watermark",
            ),
            ("emits", "the rows below the watermark, and those that they push out"),
        )

    def _each(self, show: Show) -> str:
        return f" of each {', '.join(map(show, self.partition))}" if self.partition else ""

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


@dataclass(frozen=True)
class CountChanges(CountRows):
    """The newest of the rows that are there, where the input takes rows back: some come back in."""

    operator = "windrow.operators.feeds.count_windows:NewestChangesOp"

    def facts(self, options: Options, show: Show) -> list[Fact]:  # noqa: ARG002
        """Which rows stay, and what is kept."""
        return said(
            ("rows", f"while it is among the newest {self.rows}{self._each(show)} of those there"),
            ("order", BY_TIME_AND_COLUMNS),
            (
                "state",
                f"{self.alias}: the rows inserted and not deleted: any of them may come back",
            ),
            ("emits", "the rows below the watermark, and those that they push out or bring back"),
        )


@dataclass(frozen=True)
class ResolveChanges(OneInput):
    """The relation that a stream of changes describes: each delete with the row it takes back.

    Its fields are those of `ChangeFeed`, and `schema`: the columns that are shown. `time` is None where
    nothing above needs it.
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
        time = node.time if node.time in request.wanted else None
        return cls(**as_asked(node, request, cls) | {"time": time})

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
        rows, state = "until it is deleted", "the rows inserted and not deleted"
        if self.ticks is not None:
            rows = (
                f"from t to t + {show_ticks(self.ticks, self.time_type)}, both included, or {rows}"
            )
            state = state_bound(self, self.input, self.alias, self.ticks, 0).also(
                ", less what is deleted"
            )
        return said(
            ("changes", f"{self.scans[0].changes} says which rows come and which go"),
            ("deletes", f"the newest row that is equal in {', '.join(map(show, self.compared))}"),
            ("rows", rows),
            ("state", state),
            ("emits", "the changes below the watermark, each delete with the end of its row"),
            ("why", "a delete looks up its own row: a change costs the rows equal to it"),
        )

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
