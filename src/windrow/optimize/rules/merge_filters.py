"""Filter over Filter becomes one Filter."""

from __future__ import annotations

from windrow.plan.nodes import Filter, Node
from windrow.plan.walk import rewrite


def merge_filters(plan: Node) -> Node:
    """One Filter where there were several in a row; a predicate stated twice is kept once."""
    return rewrite(plan, _merge)


def _merge(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    if not node.predicates:
        return node.input
    if not isinstance(node.input, Filter):
        return node
    both = dict.fromkeys(node.input.predicates + node.predicates)
    return Filter(node.input.input, tuple(both))
