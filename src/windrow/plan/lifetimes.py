"""How long rows of a relation are alive, and from when: what windows below it say."""

from __future__ import annotations

from windrow.plan.nodes import (
    Filter,
    Node,
    Project,
    Range,
    SetOperation,
    TableJoin,
    WindowJoin,
    children,
)


def alive_ticks(node: Node) -> int | None:
    """How many ticks after its time a row is alive at most; None where no window says.

    A combination ends with the first of its tuples, so that none outlives the shortest window:

        t(a) |==========|                 [RANGE 10] of a
               t(b) |=====|               [RANGE 5] of b
               t(b) |===|                 both: 5 at most
    """
    if isinstance(node, Range):
        inner = alive_ticks(node.input)
        return node.ticks if inner is None else min(node.ticks, inner)
    if isinstance(node, Filter | Project | TableJoin):
        return alive_ticks(node.input)
    if isinstance(node, SetOperation) and node.kind == "union all":
        lengths = [alive_ticks(child) for child in node.inputs]
        known = [length for length in lengths if length is not None]
        return max(known) if len(known) == len(lengths) else None
    if not isinstance(node, WindowJoin):
        return None
    # A row that comes alone lives as long as it would by itself.
    alone = (0,) if node.kind == "semi" else node.preserved
    lengths = [alive_ticks(node.inputs[at]) for at in alone or range(len(node.inputs))]
    known = [length for length in lengths if length is not None]
    return (max if alone else min)(known, default=None)


def begin_at_event_time(node: Node) -> bool:
    """Whether each row of a relation whose rows end is there from its event time on.

    A tuple of an outer, semi or anti join comes alone, or matched, at some instants of its life:
    from each of them on, not from its own time on. Below a window of a derived table no row has
    ended yet, and none has come back.
    """
    if isinstance(node, Range):
        return True
    if isinstance(node, WindowJoin) and node.kind != "inner":
        return False
    return all(map(begin_at_event_time, children(node)))
