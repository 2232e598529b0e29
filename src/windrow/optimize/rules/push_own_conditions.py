"""A condition of a join that reads one input only is tested there, where the join allows it."""

from __future__ import annotations

from windrow.plan.nodes.base import Node


def push_own_conditions(plan: Node) -> Node:
    """Rows that can match nothing are not joined."""
    return plan.rewrite(lambda node: node.push_own_conditions())
