"""Conditions are tested as far down as they may be; each node says which it lets through."""

from __future__ import annotations

from windrow.plan.nodes.base import Node
from windrow.plan.nodes.filter import Filter, filtered


def push_filters(plan: Node) -> Node:
    """Filters read rows before these are stored, probed or counted."""
    return plan.rewrite(_push)


def _push(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    below, rest = node.input.push_filter(node.predicates)
    return node if len(rest) == len(node.predicates) else filtered(below, rest)
