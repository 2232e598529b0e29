"""Every window join of a query by the plan that costs least, from the streams up."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.numbers import Numbers
from windrow.optimize.plans import Machine, planned
from windrow.physical.options import Options
from windrow.physical.specs import (
    PairJoinSpec,
    ScanStream,
    ScanTable,
    SetOp,
    Spec,
    UnionRows,
    WJoin,
)
from windrow.plan.nodes import Node, Scan, children
from windrow.plan.statistics import Statistics


def by_cost(spec: Spec, options: Options, numbers: Numbers, machine: Machine) -> Spec:
    """The spec with its window joins estimated, and changed where another plan is cheaper."""

    def below(child: Spec) -> Spec:
        return by_cost(child, options, numbers, machine)

    if isinstance(spec, ScanStream | ScanTable):
        return spec
    if isinstance(spec, PairJoinSpec):
        return replace(spec, left=below(spec.left), right=below(spec.right))
    if isinstance(spec, WJoin):
        join = replace(spec, inputs=tuple(map(below, spec.inputs)))
        return planned(join, options, numbers, machine)
    if isinstance(spec, UnionRows):
        return replace(spec, inputs=tuple(map(below, spec.inputs)))
    if isinstance(spec, SetOp):
        inputs = tuple(map(below, spec.inputs))
        return replace(spec, inputs=inputs, expected=tuple(numbers.held(child) for child in inputs))
    return replace(spec, input=below(spec.input))


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
