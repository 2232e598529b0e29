"""A Filter over a Range moves below it.

[RANGE w] only says when a row stops being alive: no predicate can see that.
"""

from __future__ import annotations

from windrow.plan.nodes import Filter, Node, Range
from windrow.plan.walk import rewrite


def push_filter_below_range(plan: Node) -> Node:
    """Filters read the stream before its window is put on."""
    return rewrite(plan, _push)


def _push(node: Node) -> Node:
    if isinstance(node, Filter) and isinstance(node.input, Range):
        window = node.input
        return Range(Filter(window.input, node.predicates), window.ticks)
    return node
