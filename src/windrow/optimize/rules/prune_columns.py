"""Columns that nothing above needs are not read, not computed, not stored.

Wanted columns are handed down from the answer to the scans. A Filter below a join or an aggregate
may read columns that only it needs: a Project between the two drops them, since what reaches a
stateful node is shuffled and stored.
"""

from __future__ import annotations

from collections.abc import Set

from windrow.plan.nodes.base import Node
from windrow.plan.nodes.project import only


def prune_columns(plan: Node) -> Node:
    """Scans, projections and aggregates give only what is used above them."""
    return _prune(plan, set(plan.schema.names))


def _prune(node: Node, wanted: Set[str]) -> Node:
    node = node.narrowed(wanted)
    # The inputs of a UNION ALL give the same columns, and no others.
    is_exact = node.is_stateful or node.only_hands_on
    inputs = []
    for child, needed in zip(node.inputs, node.required_columns(wanted), strict=True):
        pruned = _prune(child, needed)
        inputs.append(only(pruned, needed) if is_exact else pruned)
    return node.with_inputs(inputs)
