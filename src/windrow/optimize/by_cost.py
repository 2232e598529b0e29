"""Every window join of a query by the plan that costs least, from the streams up."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.numbers import Numbers
from windrow.optimize.plans import Machine, planned
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.options import Options


def by_cost(
    spec: PhysicalNode, options: Options, numbers: Numbers, machine: Machine
) -> PhysicalNode:
    """The spec with its window joins estimated, and changed where another plan is cheaper."""
    node = spec.with_inputs([by_cost(child, options, numbers, machine) for child in spec.inputs])
    if isinstance(node, MultiJoin):
        return planned(node, options, numbers, machine)
    if isinstance(node, SetOp):
        return replace(node, expected=tuple(numbers.held(child) for child in node.inputs))
    return node
