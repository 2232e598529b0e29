"""The paths of rows through nodes without state, and who may evaluate them.

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
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.physical.nodes.scan_stream import ScanStream


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
