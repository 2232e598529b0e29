"""The plans of a window join: which could run, what each costs, and which one is taken.

The plan that the conditions alone suggest (`choose`) stays unless another one costs less by
`CLEARLY`, every number that says so is known and not assumed, and results come as early. Where all
inputs are there as a whole, nobody waits for the first results: there it does not count when they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from windrow.optimize.cost.joins import (
    Joined,
    Key,
    Work,
    ahead_of,
    backward_join,
    best_orders,
    best_pipeline,
    pipeline,
    sweep_join,
    untested_join,
)
from windrow.optimize.cost.statistics import PlanStatistics, Sized, sized
from windrow.optimize.cost.structures import (
    KERNELS,
    REFERENCE,
    Direction,
    Structure,
    Weights,
    direction_cost,
    machine_factor,
    restoring_us,
)
from windrow.physical.algorithms import (
    ALGORITHMS,
    ASYMMETRIC,
    DEFAULT,
    HASH,
    NESTED_LOOP,
    PIPELINE,
    SWEEP,
)
from windrow.physical.estimates import ONE_PLAN, Estimate, PlanCost
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.options import Options
from windrow.physical.probe_orders import pipeline_order, probe_order
from windrow.physical.structures import BUFFER, NAMES, USUAL, served_range
from windrow.plan.statistics import Figure
from windrow.registry import load


def structure_costs(node: TimeJoin, join: Sized, weights: Weights) -> list[tuple[TimeJoin, float]]:
    """The join by every pair of structures that can serve its conditions, in microseconds per tick."""
    names = list(NAMES)
    if not node.classes:
        names = [BUFFER] if served_range(node) is None else [n for n in names if n != HASH]
    cases = join.directions or ((_direction(join.widest, 0), _direction(join.widest, 1)),)
    sides = [
        [(name, fmean(direction_cost(Structure[name], case[at], weights, node.sizes) for case in cases))
         for name in names]
        for at in (0, 1)
    ]  # fmt: skip
    kernel = KERNELS[f"shed-{ASYMMETRIC}" if node.is_limited else ASYMMETRIC]
    matched = _matched(join.widest, in_blocks=not node.is_limited)
    loops = kernel.us(matched) * machine_factor(weights)
    method = ALGORITHMS[ASYMMETRIC].methods[0 if node.classes else -1]
    return [
        (node.by(ASYMMETRIC, method, structures=(left, right)), loops + cost_left + cost_right)
        for left, cost_left in sides[0]
        for right, cost_right in sides[1]
    ]


def _direction(joined: Joined, at: int) -> Direction:
    """One of two windows, and what happens to it in a tick."""
    other = 1 - at
    length = joined.upper[at][other] + min(0, joined.upper[other][at])
    return Direction(
        window=joined.rates[at] * max(0, length) + ahead_of(joined, at),
        probes=joined.rates[other],
        arrivals=joined.rates[at],
    )


def _matched(joined: Joined, *, in_blocks: bool) -> Work:
    """The work of the loops around structures, which hand on the tuples that keys allow."""
    work = backward_join(joined, ((1,), (0,)), is_hashed=True)
    testing = work.found * sum(test.us_in_blocks if in_blocks else test.us for test in joined.tests)
    return replace(work, touched=work.found, testing=testing)


CLEARLY = 0.8
"""Another plan is taken where it costs at most this share of the one that it replaces."""

BY_ORDER = 0.95
"""The same of another order by the same loops: what is counted of it is surer, and measured so."""

US = 1e-6
WAITS = "answers once the watermark has passed"


@dataclass(frozen=True)
class PricedPlan:
    """A way to run a join, and what it costs in seconds of processor per tick.

    `note` says why it is never taken by itself; "" where cost alone decides.
    """

    node: MultiJoin
    seconds: float
    note: str = ""

    @property
    def name(self) -> str:
        """As options would ask for it."""
        return self.node.plan_name


@dataclass(frozen=True)
class Machine:
    """What operations cost here.

    Attributes:
        weights: of the window structures, in microseconds.
        source: whose they are, for EXPLAIN.
    """

    weights: Weights = REFERENCE
    source: str = "built in; windrow cost --calibrate measures this machine"

    @property
    def seconds_per_us(self) -> float:
        """The seconds that it takes here to do what took a microsecond where kernels were measured."""
        return machine_factor(self.weights) * US


REFERENCE_MACHINE = Machine()


def planned(
    node: MultiJoin, options: Options, numbers: PlanStatistics, machine: Machine
) -> MultiJoin:
    """The join by the plan to take, with its estimate; as it was where too little is known."""
    rates = [numbers.rate(child) for child in node.inputs]
    if node.has_one_plan and None not in rates:
        return replace(node, estimate=ONE_PLAN)
    known_rates = [rate for rate in rates if rate is not None]
    if len(known_rates) < len(rates):
        return replace(node, estimate=_not_estimated(node, rates, numbers))
    join = sized(node, known_rates, numbers)
    if node.workload:
        node, join = load(node.workload)(node, join)
    plans = _plans(node, join, machine, is_bounded=numbers.is_bounded(node))
    if numbers.is_restored:
        plans = [_restored(plan, join.widest, machine) for plan in plans]
    plans = sorted(plans, key=lambda plan: plan.seconds)
    first = next(plan for plan in plans if _is_first(plan, node, options))
    estimate = Estimate(known=join.known, output=join.output, weights=_weights(node, machine))
    open_ = (
        [plan for plan in plans if _is_open(plan, first, options)]
        if not estimate.is_guessed
        else []
    )
    taken = _cheapest(open_, first)
    shown = [PlanCost(plan.name, plan.seconds, plan.note) for plan in plans if plan is not taken]
    plans_shown = (PlanCost(taken.name, taken.seconds), *shown)
    return replace(
        taken.node, estimate=replace(estimate, plans=plans_shown, is_decisive=bool(open_))
    )


def _is_first(plan: PricedPlan, node: MultiJoin, options: Options) -> bool:
    """Whether a plan, by its cost the first of its kind, is the one to begin with.

    That is the plan at hand. The structures of two streams that shed are chosen after the
    allocation: by what they cost for the tuples that are kept, and for those that probe.
    """
    is_asked = (
        options.structure or options.order or options.join_algorithm not in {None, ASYMMETRIC}
    )
    is_left = node.is_for_what_is_left and len(node.inputs) == 2
    if not is_left or is_asked or _is_bound(node, options):
        return plan.node.runs_like(node)
    return plan.node.is_in_structures


def plan_names(node: MultiJoin, machine: Machine, *, is_bounded: bool = False) -> tuple[str, ...]:
    """The plans that may be taken by their cost, whatever the numbers are, by their kinds."""
    size = len(node.inputs)
    even = Joined((1.0,) * size, node.graph.upper, (Key((1.0,) * size),) * len(node.classes))
    plans = _plans(node, Sized((), (even,), even, 0.0), machine, is_bounded=is_bounded)
    names = [name for plan in plans if not plan.note for name in plan.node.plan_kinds]
    return tuple(dict.fromkeys(names))


def _restored(plan: PricedPlan, joined: Joined, machine: Machine) -> PricedPlan:
    """The plan with what it costs to take up a state in every micro-batch."""
    if plan.node.is_backward:
        return plan
    assert isinstance(plan.node, TimeJoin), "other joins are by backward evaluation alone"
    is_pipeline = plan.node.chosen.kind == PIPELINE
    replayed_us = plan.seconds / US if is_pipeline else 0.0
    us = restoring_us(joined, machine.weights, plan.node.structures, replayed_us)
    return replace(plan, seconds=plan.seconds + us * US)


def _not_estimated(
    node: MultiJoin, rates: Sequence[Figure | None], numbers: PlanStatistics
) -> Estimate:
    """What would have to be given for an estimate, or why nothing helps."""
    missing = []
    for child, alias, rate in zip(node.inputs, node.aliases, rates, strict=True):
        if rate is None:
            missing.append(numbers.missing(child))
            if not missing[-1]:
                return Estimate(reason=f"how many rows {alias} has is not known beforehand")
    return Estimate(missing=tuple(dict.fromkeys(missing)))


def _is_open(plan: PricedPlan, first: PricedPlan, options: Options) -> bool:
    """Whether a plan may be taken in place of the first one: what the user asks for is not."""
    if plan.note or options.order or options.structure or _is_bound(first.node, options):
        return False
    if options.join_algorithm == ASYMMETRIC:  # in which structures, it does not say
        return plan.node.is_in_structures
    return options.join_algorithm is None


def _is_bound(node: MultiJoin, options: Options) -> bool:
    """Whether memory is bounded: what a plan holds beside the rows is not estimated.

    A join that sheds keeps to its memory by any of its plans, and waits for its rates alone.
    """
    is_unknown = node.is_limited and not node.is_for_what_is_left
    return is_unknown or (options.memory is not None and not options.sheds_memory)


def _weights(node: MultiJoin, machine: Machine) -> str:
    """Where the weights are from, and what sizes they were measured for, if others are used."""
    if node.has_usual_sizes:
        return machine.source
    return f"{machine.source} (with buckets of {USUAL.bucket} and nodes of {USUAL.node})"


def _cheapest(plans: list[PricedPlan], first: PricedPlan) -> PricedPlan:
    """The plan to take in place of the first: in another order, or another one, if clearly cheaper."""
    if not plans:
        return first
    alike = next((plan for plan in plans if _loops(plan.node) == _loops(first.node)), first)
    taken = alike if alike.seconds <= BY_ORDER * first.seconds else first
    return plans[0] if plans[0].seconds <= CLEARLY * taken.seconds else taken


def _loops(node: MultiJoin) -> tuple[str, str]:
    return node.algorithm, node.method


def _plans(node: MultiJoin, join: Sized, machine: Machine, *, is_bounded: bool) -> list[PricedPlan]:
    """Every plan that can run this join, the one at hand among them."""
    plans = _backward_plans(node, join, machine)
    for name in node.alternatives:
        plans += _plans_by(name, node, join, machine, note="" if is_bounded else WAITS)
    if any(plan.node.runs_like(node) for plan in plans):
        return plans
    return [*plans, _like_another(node, join, machine)]


def cost_of(node: MultiJoin, join: Sized, machine: Machine) -> float:
    """What a join costs by the plan that it has, in seconds of processor per tick."""
    if node.is_backward:  # priced by itself: the best order of many streams takes long to find
        return _backward_plan(node, join, machine).seconds
    plans = _plans_by(node.algorithm, node, join, machine)
    like = next((plan for plan in plans if plan.node.runs_like(node)), None)
    return (like or _like_another(node, join, machine)).seconds


def _plans_by(
    name: str, node: MultiJoin, join: Sized, machine: Machine, note: str = ""
) -> list[PricedPlan]:
    """The plans of an algorithm beside the usual one; none where it cannot run, or has no costs."""
    if name not in node.alternatives:
        return []
    algorithm = ALGORITHMS[name]
    if algorithm.kind == SWEEP:
        return [_sweep_plan(node, join, method, machine, note) for method in _methods(node)]
    if algorithm.kind == PIPELINE and (node.classes or not algorithm.needs_key):
        return _pipeline_plans(node, join, name, machine)
    if name == ASYMMETRIC and len(node.inputs) == 2:
        assert isinstance(node, TimeJoin), f"no {node.about} is by structures"
        costs = structure_costs(node, join, machine.weights)
        return [PricedPlan(own, us * US) for own, us in costs]
    return []


def _methods(node: MultiJoin) -> Sequence[str]:
    """How tuples may be looked up."""
    return ALGORITHMS[DEFAULT].methods if node.classes else (NESTED_LOOP,)


def _backward_plans(node: MultiJoin, join: Sized, machine: Machine) -> list[PricedPlan]:
    """Backward evaluation in the usual order or the one asked for, and in that which costs least."""
    orders = node.orders if node.is_backward else ()
    plans = []
    for method in _methods(node):
        own = node.by(DEFAULT, method, orders)
        plans.append(_backward_plan(own, join, machine))
        best = best_orders(*join.ways)
        usual = [tuple(probe_order(own, start)) for start in join.widest.streams]
        if len(node.inputs) > 2 and list(best) != usual:
            plans.append(_backward_plan(replace(own, orders=best), join, machine))
    return plans


def _backward_plan(own: MultiJoin, join: Sized, machine: Machine) -> PricedPlan:
    work = Work()
    for graph, way in zip(own.ways, join.ways, strict=True):
        turned = replace(own, graph=graph)
        orders = [probe_order(turned, start) for start in way.streams]
        work += backward_join(way, orders, is_hashed=own.method == HASH)
    return PricedPlan(own, KERNELS[f"{DEFAULT}-{own.method}"].us(work) * machine.seconds_per_us)


def _sweep_plan(
    node: MultiJoin, join: Sized, method: str, machine: Machine, note: str
) -> PricedPlan:
    own = node.by("few", method)
    orders = [probe_order(own, start) for start in join.widest.streams]
    work = sweep_join(join.widest, orders, is_hashed=method == HASH)
    return PricedPlan(own, KERNELS[f"few-{method}"].us(work) * machine.seconds_per_us, note)


def _pipeline_plans(node: MultiJoin, join: Sized, name: str, machine: Machine) -> list[PricedPlan]:
    """A pipeline in the usual order or the one asked for, and in that which costs least."""
    method = ALGORITHMS[name].methods[0]
    orders = node.orders if node.algorithm == name else ()
    own = node.by(name, method, orders)
    nodes = [own]
    if len(node.inputs) > 2:
        best = best_pipeline(join.widest, KERNELS[name].us, is_hashed=method == HASH)
        if best != pipeline_order(own):
            nodes.append(replace(own, orders=(best,)))
    return [_pipeline_plan(one, join, machine) for one in nodes]


def _pipeline_plan(own: MultiJoin, join: Sized, machine: Machine) -> PricedPlan:
    work = pipeline(join.widest, pipeline_order(own), is_hashed=own.method == HASH)
    return PricedPlan(own, KERNELS[own.algorithm].us(work) * machine.seconds_per_us)


def _like_another(node: MultiJoin, join: Sized, machine: Machine) -> PricedPlan:
    """An algorithm that the user asked for and no kernel was measured of: as one that was."""
    name = f"few-{node.method}" if node.chosen.kind == SWEEP else "nlw"
    usual = replace(node, orders=())
    orders = [probe_order(usual, start) for start in join.widest.streams]
    work = untested_join(join.widest, orders, is_hashed=node.method == HASH)
    note = f"as {name}: no kernel of its own was measured"
    return PricedPlan(node, KERNELS[name].us(work) * machine.seconds_per_us, note)


def by_cost(
    node: PhysicalNode, options: Options, numbers: PlanStatistics, machine: Machine
) -> PhysicalNode:
    """The node with its window joins estimated, and changed where another plan is cheaper."""
    own = node.with_inputs([by_cost(child, options, numbers, machine) for child in node.inputs])
    if isinstance(own, MultiJoin):
        return planned(own, options, numbers, machine)
    if isinstance(own, SetOp):
        return replace(own, expected=tuple(numbers.held(child) for child in own.inputs))
    return own
