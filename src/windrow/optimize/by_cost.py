"""Every window join of a query by the plan that costs least, from the streams up."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.plan_statistics import PlanStatistics
from windrow.optimize.plans import Machine, planned
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.options import Options
from windrow.plan.nodes import Node, Scan, children
from windrow.plan.statistics import Statistics


def by_cost(
    spec: PhysicalNode, options: Options, numbers: PlanStatistics, machine: Machine
) -> PhysicalNode:
    """The spec with its window joins estimated, and changed where another plan is cheaper."""
    node = spec.with_inputs([by_cost(child, options, numbers, machine) for child in spec.inputs])
    if isinstance(node, MultiJoin):
        return planned(node, options, numbers, machine)
    if isinstance(node, SetOp):
        return replace(node, expected=tuple(numbers.held(child) for child in node.inputs))
    return node


def hints_of(plan: Node) -> dict[str, Statistics]:
    """What the user has said of the streams of a plan, by stream."""
    if isinstance(plan, Scan):
        return {plan.stream.name: plan.stream.statistics}
    return {name: said for child in children(plan) for name, said in hints_of(child).items()}


def bounded_of(plan: Node) -> frozenset[str]:
    """The streams of a plan that are there as a whole when the query begins."""
    if isinstance(plan, Scan):
        return frozenset({plan.stream.name} if plan.stream.is_bounded else ())
    return frozenset(name for child in children(plan) for name in bounded_of(child))
