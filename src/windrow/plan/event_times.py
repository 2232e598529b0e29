"""Which columns of a relation hold the event time of its rows."""

from __future__ import annotations

from windrow.plan.asof import AsofJoin, RangeAggregateJoin
from windrow.plan.nodes import (
    Filter,
    NewestRows,
    Node,
    Project,
    Range,
    Scan,
    SetOperation,
    TableJoin,
)


def event_times(node: Node) -> frozenset[str]:
    """The flat columns that equal the event time in every row.

    A pair has the later time of its two rows: that of the left one where an as-of join looks back,
    that of the right one where it looks ahead and gives matched rows alone.
    """
    if isinstance(node, Scan):
        time = node.stream.schema.find(node.stream.time or "")
        return frozenset() if time is None else frozenset({f"{node.alias}.{time.name}"})
    if isinstance(node, Filter | Range | NewestRows | TableJoin | Project):
        below = event_times(node.input)
        if not isinstance(node, Project):
            return below
        plain = [item for item in node.items if item.expr.is_column]
        return frozenset(item.name for item in plain if item.expr.columns[0] in below)
    if isinstance(node, SetOperation) and node.kind == "union all":
        first, *others = map(event_times, node.inputs)
        return first.intersection(*others)
    return _of_pair(node) if isinstance(node, AsofJoin | RangeAggregateJoin) else frozenset()


def _of_pair(node: AsofJoin | RangeAggregateJoin) -> frozenset[str]:
    if isinstance(node, RangeAggregateJoin) or node.match.direction == "backward":
        return event_times(node.left)
    is_always_later = node.match.direction == "forward" and node.kind == "inner"
    return event_times(node.right) if is_always_later else frozenset()
