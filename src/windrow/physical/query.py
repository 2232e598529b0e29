"""A whole query, ready for a runner, and what plans it again while it runs.

With it the paths of rows through nodes without state, and who may evaluate them:

    scan --> filter --> projection --> window --+
                                                UNION ALL --> projection --> the first node with state
    scan --------------------------> window ----+

    two paths, of four and of two nodes, the scan and UNION ALL apart

On Spark such nodes are Spark's to evaluate. Where the rows come from a source of ours, or go to a sink of
ours, they are in Arrow in a Python worker anyway: there the engine that evaluates expressions in process
does it, where it gives what Spark would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.options import TPA, Options

if TYPE_CHECKING:
    from windrow.physical.nodes.scans import ScanStream
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
    there are several ways. `is_paced` says whether rows come by the clock, at rates that costs follow
    from; `times_as_fast` is by how much all these rates may be multiplied until the window joins keep
    one core busy, None where that is not known.
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
    is_paced: bool = field(default=True, compare=False)
    times_as_fast: float | None = field(default=None, compare=False)

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
        shown: where one is not, the plan ends in the net changes of each instant.
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


@dataclass(frozen=True)
class RowPath:
    """Nodes that rows pass one by one, from the bottom up, above what makes the rows."""

    bottom: PhysicalNode
    nodes: tuple[PhysicalNode, ...] = ()

    @property
    def scan(self) -> ScanStream:
        """The stream at the bottom."""
        return self.bottom.scans[0]

    @property
    def obstacle(self) -> str:
        """Why a worker cannot evaluate the nodes as Spark would; "" where it can."""
        for node in self.nodes:
            if not node.is_evaluated:
                return f"{node.title} is Spark's to compute"
            computed = [item.expr for item in node.computed_columns or ()]
            for expr in (*node.row_tests, *computed):
                if not expr.is_portable:
                    return f"Spark alone computes {expr.text} as it does"
        return ""

    @property
    def drops_rows(self) -> bool:
        """Whether fewer rows may come out than go in."""
        return any(node.row_tests for node in self.nodes)


def row_paths(node: PhysicalNode) -> list[RowPath]:
    """The paths that lead up to a node's rows, from left to right: itself among them."""
    if node.is_stateful or not node.inputs:
        return [RowPath(node)]
    below = [child for child in node.inputs if child.scans]  # a table may stand beside
    above = () if len(below) > 1 else (node,)
    return [
        RowPath(path.bottom, (*path.nodes, *above)) for child in below for path in row_paths(child)
    ]


def ports(root: PhysicalNode) -> Iterator[PhysicalNode]:
    """The inputs of nodes with state, and the answer: where rows are wanted."""
    yield root
    for node in root.walk():
        if node.is_stateful:
            yield from node.inputs


def stream_obstacle(scan: ScanStream) -> str:
    """Why the rows of a stream cannot be packed as they are read; "" where they can."""
    if scan.is_on_arrival:
        return "Spark says when its rows have arrived"
    if scan.read_ahead is not None:
        return "its read-ahead is found by the order of all its rows"
    return ""


def port_obstacle(port: PhysicalNode) -> str:
    """Why the rows of a port cannot be packed as they are read; "" where they can."""
    if port.has_state or not port.scans:
        return "operators make them"
    for path in row_paths(port):
        found = stream_obstacle(path.scan) or path.obstacle
        if found:
            return found
    return ""


def stream_obstacles(root: PhysicalNode) -> Mapping[str, str]:
    """Per stream, why some of its rows cannot be packed as they are read; "" where all can."""
    found: dict[str, str] = {}
    for port in ports(root):
        if port.is_stateful:
            continue
        why = "no operator is told of its rows" if port is root else port_obstacle(port)
        for path in row_paths(port):
            if path.bottom.is_stateful:
                continue
            found[path.scan.stream] = found.get(path.scan.stream) or why
    return found
