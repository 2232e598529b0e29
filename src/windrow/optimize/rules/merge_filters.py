"""Filter over Filter becomes one Filter."""

from __future__ import annotations

from windrow.plan.nodes.base import Node
from windrow.plan.nodes.filter import Filter, filtered


def merge_filters(plan: Node) -> Node:
    """One Filter where there were several in a row; a predicate stated twice is kept once."""
    return plan.rewrite(_merge)


def _merge(node: Node) -> Node:
    match node:
        case Filter(Filter(below, first), then):
            return filtered(below, tuple(dict.fromkeys((*first, *then))))
        case Filter(below, predicates):
            return node if predicates else below
    return node
