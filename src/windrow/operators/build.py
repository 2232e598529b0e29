"""From a stateful node to the operator that computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.registry import load

if TYPE_CHECKING:
    from windrow.operators.base import Operator
    from windrow.operators.partition import Own
    from windrow.physical.nodes.base import PhysicalNode


def build(node: PhysicalNode, own: Own | None = None) -> Operator:
    """A new operator, its state empty.

    The node names it, and it is imported here: a worker loads, and compiles, only the kernels of its
    own operators.

    Args:
        node: what it computes.
        own: in one bucket of several, which rows it answers for; None: for all that it is given.
    """
    make = load(node.operator)
    operator: Operator = make(node) if own is None else make(node, own)
    return operator
