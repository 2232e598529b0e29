"""A whole query, ready for a runner, and what plans it again while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.options import TPA, Options

if TYPE_CHECKING:
    from windrow.physical.partitioning.buckets import Partitioning
    from windrow.plan.statistics import Measured


@dataclass(frozen=True)
class Schedule:
    """How a query is scheduled.

    Attributes:
        name: "tpa", "nta" or "ita".
        why: what speaks for it.
        rejected: the others, each with what speaks against it.
    """

    name: str = TPA
    why: str = ""
    rejected: tuple[str, ...] = ()


class Runner(Enum):
    """Where a query runs."""

    process = "in process"
    spark_batch = "on Spark, batch"
    spark_streaming = "on Spark, streaming"


@dataclass(frozen=True)
class PhysicalQuery:
    """A whole query, ready for a runner.

    `output` are the names the user sees, in order; a changelog adds `_change_type` and
    `_event_time` (shown as `time_type`). `keys` are the columns in which no two of its rows agree
    at one instant, None where rows may be equal, and where it is no changelog. `schedule` says when
    its operators take note of time if it runs in process. `ways` tell how each stream is read, where
    there are several ways.
    """

    root: PhysicalNode
    is_changelog: bool
    time_type: str
    sql: str
    options: Options = field(default_factory=Options)
    runner: Runner = Runner.process
    keys: tuple[str, ...] | None = None
    schedule: Schedule = field(default_factory=Schedule)
    ways: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def pairs_by(self) -> tuple[str, ...] | None:
        """The key of which a delete and an insert at one instant are an update; None: none are.

        Rows that no less than all of their columns tell apart never change: they come and go.
        """
        if not self.options.updates or self.keys is None:
            return None
        return None if set(self.keys) >= set(self.root.schema.names) else self.keys

    @property
    def needs_netting(self) -> bool:
        """Whether two versions of an aggregate's row may look alike in the answer.

        So it is where the answer does not show every column of the aggregate: a row may then be
        deleted and inserted at one instant, and the runner takes such changes out. Every key is
        shown: where one is not, the plan ends in a SetOp of kind "changes".
        """
        node, shown = self.root, set(self.root.schema.names)
        while len(node.row_inputs) == 1:
            shown = node.columns_below(shown)
            (node,) = node.row_inputs
        return node.has_versions and not shown.issuperset(node.schema.names)


def levels(root: PhysicalNode) -> int:
    """The length of the longest way from the root down to a stream or a table."""
    most, waiting = 0, [(root, 1)]
    while waiting:
        node, level = waiting.pop()
        most = max(most, level)
        waiting += [(child, level + 1) for child in node.inputs]
    return most


class Planner(Protocol):
    """Plans the query at hand anew: in process as a whole, on Spark join by join, in the workers."""

    @property
    def rates(self) -> Mapping[str, float]:
        """The rates by stream that it was planned for at first, as far as they were known."""
        ...

    def again(self, known: Measured[str]) -> PhysicalQuery:
        """The query as planned by these numbers; its operators are those of before."""
        ...

    def explain(self, query: PhysicalQuery) -> str:
        """EXPLAIN of the query as it runs."""
        ...

    def names(self, node: PhysicalNode) -> tuple[str, ...]:
        """The plans that a worker may take; none where the plan stays as it is."""
        ...

    def usual(self, node: PhysicalNode) -> PhysicalNode:
        """A join by the plan that its conditions alone suggest."""
        ...

    def planned(
        self, node: PhysicalNode, partitioning: Partitioning, seen: Measured[int]
    ) -> PhysicalNode:
        """A join by the plan to take in a bucket; without a rate of some input, as it is."""
        ...
