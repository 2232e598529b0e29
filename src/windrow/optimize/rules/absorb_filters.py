"""A condition over several inputs of a join moves from the Filter above into the join.

Every condition stands in one place: it leaves the Filter.
"""

from __future__ import annotations

from windrow.plan.nodes.base import Node
from windrow.plan.nodes.filter import Filter, filtered


def absorb_filters(plan: Node) -> Node:
    """Conditions on several streams are tested while combinations are built."""
    return plan.rewrite(_absorb)


def _absorb(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    below, rest = node.input.absorb_filter(node.predicates)
    return node if len(rest) == len(node.predicates) else filtered(below, rest)
