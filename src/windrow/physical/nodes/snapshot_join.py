"""The joins of what is alive together: of inputs that take rows back, and by negative tuples."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.physical.explain.algorithm_facts import algorithm_facts, probes, tests
from windrow.physical.explain.facts import (
    Fact,
    Show,
    alive_bound,
    lifetime,
    plus,
    said,
    state_bound,
    stated_windows,
)
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.options import Options
from windrow.physical.partitioning.buckets import Partitioning, Single, show_class
from windrow.schema import SIGN


@dataclass(frozen=True)
class SnapshotJoin(MultiJoin):
    """Rows join while they are alive together, each until its own end or until it is taken back.

    `graph` has only conditions on time, and bounds no state.
    """

    error_name = "snapshot-join"
    only_backward = (
        "it needs tuples that stay for their whole window, and some of these are taken back"
    )
    has_one_plan = True  # rows are found by their ends
    needs_all_rows = "a join with a changelog"
    can_expire = True  # it does keep each row until its end
    operator = "windrow.operators.joins.snapshot_join:SnapshotJoinOp"
    about = "snapshot join"

    @property
    def joins_what_is_alive(self) -> bool:
        """Unless there are conditions on time that ask for more."""
        return not self.graph.stated or self.windows_are_lifetimes

    @property
    def row_marks(self) -> tuple[str, ...]:
        """Ends and signs as below."""
        return self.marks_below

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"SnapshotJoin {', '.join(self.aliases)}"

    def identity(self) -> tuple[object, ...]:
        """Of a window join, with what it is more."""
        return (*super().identity(), ("is_snapshot", True))

    def _without_keys(self, buckets: int) -> Partitioning:  # noqa: ARG002
        return Single(
            "rows of a changelog may be alive at any time; an equality would spread the join"
        )

    def facts(self, options: Options, show: Show) -> list[Fact]:
        """Which rows join, for how long, and what is kept."""
        time_type = self.time_type
        below = max(child.delay for child in self.inputs)
        watermark = plus("the watermark", -below, time_type)
        keys = ", ".join(show_class(key, show) for key in self.classes)
        algorithm, _, why = algorithm_facts(self, options, keys)
        members = list(zip(self.inputs, self.aliases, strict=True))
        alive = "rows join while all of them are alive; one that is taken back is alive until then"
        return said(
            algorithm,
            ("how", [alive, *self._how_rows_end()]),
            why,
            (
                "rows",
                [f"{alias}: {lifetime(child, child.alive_ticks)}" for child, alias in members],
            ),
            ("times", stated_windows(self.graph, time_type)),
            (
                "retention",
                f"drop a row when {watermark} has reached its end, or what takes it back",
            ),
            ("state", [self._held(child, alias, below) for child, alias in members]),
            ("probes", probes(self)),
            ("tests", tests(self)),
            ("emits", self._emits(watermark)),
        )

    def _held(self, rows: PhysicalNode, alias: str, below: int) -> str:
        """The most rows of an input that are held after a batch."""
        if rows.alive_ticks is None:
            return f"{alias} <= its rows alive, and those that the watermark has not come to"
        return self._bound(rows, alias, rows.alive_ticks, below)

    def _bound(self, rows: PhysicalNode, alias: str, alive: int, below: int) -> str:
        return state_bound(self, rows, alias, alive, below)

    def _how_rows_end(self) -> list[str]:
        return []

    def _emits(self, watermark: str) -> str:  # noqa: ARG002
        return "each combination with its last row, and what takes it back; adds no delay"


@dataclass(frozen=True)
class ExpiringJoin(SnapshotJoin):
    """A join whose combinations have no end, and are taken back when the first of their rows ends."""

    has_ends = False  # each combination is taken back
    row_marks = (SIGN,)
    alive_ticks = None  # until it is taken back
    operator = "windrow.operators.joins.snapshot_join:ExpiringJoinOp"

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"ExpiringJoin {', '.join(self.aliases)}"

    def identity(self) -> tuple[object, ...]:
        """Of a snapshot join, with what it is more."""
        return (*super().identity(), ("expires", True))

    def _bound(self, rows: PhysicalNode, alias: str, alive: int, below: int) -> str:
        return alive_bound(self, rows, alias, alive, below)

    def _how_rows_end(self) -> list[str]:
        return [
            "negative tuples: a row that ends joins those still alive, and takes back what it was"
            " part of; the windows are the join's own rows"
        ]

    def _emits(self, watermark: str) -> str:
        return (
            f"the combinations that come or go below {watermark}, in the order of time;"
            " adds no delay"
        )
