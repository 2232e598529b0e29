"""From a node to what computes it, which the node names by import path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.registry import load

if TYPE_CHECKING:
    from windrow.operators.base import Operator
    from windrow.operators.partition import Own
    from windrow.physical.nodes.base import PhysicalNode


def build(node: PhysicalNode, own: Own | None = None) -> Operator:
    """A new operator of a stateful node, its state empty.

    Args:
        node: what it computes.
        own: in one bucket of several, which rows it answers for; None: for all that it is given.
    """
    make = load(node.operator)
    operator: Operator = make(node) if own is None else make(node, own)
    return operator
