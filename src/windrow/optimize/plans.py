"""The plans of a window join: which could run, what each costs, and which one is taken.

The plan that the conditions alone suggest (`choose`) stays unless another one costs less by
`CLEARLY`, every number that says so is known and not assumed, and results come as early.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.optimize.cost.directions import Direction, direction_cost
from windrow.optimize.cost.joins import (
    Condition,
    Joined,
    Key,
    Work,
    ahead_of,
    backward_join,
    best_orders,
    output,
    pipeline,
)
from windrow.optimize.cost.kernels import (
    CALLED,
    COMPARED,
    IN_BLOCKS,
    KERNELS,
    REFERENCE,
    machine_factor,
)
from windrow.optimize.cost.structures import Sizes, Structure
from windrow.optimize.cost.weights import Weights
from windrow.optimize.numbers import ASSUMED, Numbers
from windrow.optimize.shares import shares
from windrow.optimize.shed_plans import effective, with_expected
from windrow.physical.algorithms import ASYMMETRIC, BY_NAME, DEFAULT, HASH, NESTED_LOOP, SWEEP
from windrow.physical.estimates import Estimate, PlanCost
from windrow.physical.options import Options
from windrow.physical.pipeline import pipeline_order
from windrow.physical.routes import predicate_inputs, probe_order
from windrow.physical.specs import WJoin
from windrow.physical.structures import BUFFER, SIZES, served_range
from windrow.plan.exprs import Expr
from windrow.plan.statistics import Figure

CLEARLY = 0.8
"""Another plan is taken where it costs at most this share of the one that it replaces."""

US = 1e-6
WAITS = "answers once the watermark has passed"


@dataclass(frozen=True)
class Plan:
    """A way to run a join, and what it costs in seconds of processor per tick."""

    name: str
    spec: WJoin
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class Machine:
    """What operations cost here.

    Attributes:
        weights: of the window structures, in microseconds.
        source: whose they are, for EXPLAIN.
    """

    weights: Weights = REFERENCE
    source: str = "built in; windrow cost --calibrate measures this machine"


REFERENCE_MACHINE = Machine()


def planned(spec: WJoin, options: Options, numbers: Numbers, machine: Machine) -> WJoin:
    """The join by the plan to take, with its estimate; as it was where too little is known."""
    if spec.kind != "inner" or spec.counts is not None or spec.alternative is not None:
        return spec
    rates = [numbers.rate(child) for child in spec.inputs]
    missing = [
        numbers.missing(child)
        for child, rate in zip(spec.inputs, rates, strict=True)
        if rate is None
    ]
    if missing:
        wanted = tuple(dict.fromkeys(filter(None, missing)))
        return replace(spec, estimate=Estimate(missing=wanted))
    known, joined = _joined(spec, [rate for rate in rates if rate is not None], numbers)
    if spec.shedding is not None:
        spec = with_expected(spec, joined.rates, machine.weights)
        joined = effective(joined, spec)
    plans = sorted(_plans(spec, joined, machine), key=lambda plan: plan.seconds)
    first = next(plan for plan in plans if plan.spec.runs_like(spec))
    is_asked = bool(options.asked_algorithm or options.order or _is_bound(spec, options))
    is_known = all(ASSUMED not in figure.source for _, figure in known)
    taken = first if is_asked or not is_known else _cheapest(plans, first)
    shown = [PlanCost(plan.name, plan.seconds, plan.note) for plan in plans if plan is not taken]
    estimate = Estimate(
        known=known,
        output=output(joined),
        plans=(PlanCost(taken.name, taken.seconds), *shown),
        weights=machine.source,
        is_decisive=is_known and not is_asked,
    )
    return replace(taken.spec, estimate=estimate)


def _is_bound(spec: WJoin, options: Options) -> bool:
    """Whether memory is bounded: what a plan holds beside the rows is not estimated.

    A join that sheds keeps to its memory by any of its plans, and waits for its rates alone.
    """
    is_unknown = spec.shedding is not None and spec.shedding.expected is None
    return is_unknown or (options.memory is not None and not options.sheds_memory)


def _cheapest(plans: list[Plan], first: Plan) -> Plan:
    """The plan to take in place of the first: in another order, or another one, if clearly cheaper.

    An order is weighed with the loops as they are: that is surer than a change of the loops.
    """
    able = [plan for plan in plans if not plan.note]
    alike = next(plan for plan in able if _loops(plan.spec) == _loops(first.spec))
    taken = alike if alike.seconds <= CLEARLY * first.seconds else first
    return able[0] if able[0].seconds <= CLEARLY * taken.seconds else taken


def _loops(spec: WJoin) -> tuple[str, str]:
    return spec.algorithm, spec.method


def _joined(
    spec: WJoin, rates: list[Figure], numbers: Numbers
) -> tuple[tuple[tuple[str, Figure], ...], Joined]:
    """The streams of a join for the cost model, and the numbers by name."""
    known = [(f"rate({alias})", rate) for alias, rate in zip(spec.aliases, rates, strict=True)]
    keys = []
    for key in spec.classes:
        different: list[float | None] = [None] * len(spec.inputs)
        for at in key.inputs:
            column = key.columns[at]
            assert column is not None
            found = numbers.different(spec.inputs[at], column)
            known.append((f"keys({column})", found))
            different[at] = found.value
        keys.append(Key(tuple(different)))
    passing = shares(spec, numbers)
    known += [(f"share({p.text})", f) for p, f in zip(spec.predicates, passing, strict=True)]
    tests = [
        Condition(inputs, figure.value, _test_us(predicate))
        for inputs, figure, predicate in zip(
            predicate_inputs(spec), passing, spec.predicates, strict=True
        )
    ]
    ahead = tuple(map(numbers.ahead, spec.inputs))
    values = tuple(rate.value for rate in rates)
    return tuple(known), Joined(values, spec.graph.upper, tuple(keys), tuple(tests), ahead)


def _test_us(predicate: Expr) -> float:
    if predicate.comparisons:
        return COMPARED
    return CALLED if predicate.calls else IN_BLOCKS


def _plans(spec: WJoin, joined: Joined, machine: Machine) -> list[Plan]:
    """Every plan that can run this join, the one at hand among them."""
    factor = machine_factor(machine.weights) * US
    plans = []
    methods = BY_NAME[DEFAULT].methods if spec.classes else (NESTED_LOOP,)
    if spec.shedding is not None:
        return [plan for own in methods for plan in _backward_plans(spec, joined, own, factor)]
    for method in methods:
        plans += _backward_plans(spec, joined, method, factor)
        plans.append(_sweep_plan(spec, joined, method, factor))
    for name in ("hw", "nlw") if spec.classes else ("nlw",):
        plans.append(_pipeline_plan(spec, joined, name, factor))
    if len(spec.inputs) == 2:
        plans += _structure_plans(spec, joined, machine)
    if any(plan.spec.runs_like(spec) for plan in plans):
        return plans
    return [*plans, _like_backward(spec, joined, factor)]


def _backward_plans(spec: WJoin, joined: Joined, method: str, factor: float) -> list[Plan]:
    """Backward evaluation in the order that windows suggest, and in the one that costs least."""
    name, is_hashed = f"{DEFAULT}-{method}", method == HASH
    given = replace(spec, algorithm=DEFAULT, method=method, structures=())
    usual = [probe_order(given, start) for start in joined.streams]
    work = backward_join(joined, usual, is_hashed=is_hashed)
    label = f"{name}, in the order asked for" if spec.orders else name
    plans = [Plan(label, given, KERNELS[name].us(work) * factor)]
    best = best_orders(joined)
    if len(joined.rates) > 2 and not spec.orders and list(map(list, best)) != usual:
        work = backward_join(joined, best, is_hashed=is_hashed)
        own = replace(given, orders=best)
        plans.append(Plan(f"{name}, ordered by cost", own, KERNELS[name].us(work) * factor))
    return plans


def _sweep_plan(spec: WJoin, joined: Joined, method: str, factor: float) -> Plan:
    name = f"few-{method}"
    own = replace(spec, algorithm="few", method=method, structures=(), orders=())
    orders = [probe_order(own, start) for start in joined.streams]
    work = backward_join(joined, orders, is_hashed=method == HASH)
    return Plan(name, own, KERNELS[name].us(work) * factor, WAITS)


def _pipeline_plan(spec: WJoin, joined: Joined, name: str, factor: float) -> Plan:
    method = BY_NAME[name].methods[0]
    own = replace(spec, algorithm=name, method=method, structures=(), orders=())
    work = pipeline(joined, pipeline_order(own), is_hashed=method == HASH)
    return Plan(name, own, KERNELS[name].us(work) * factor)


def _structure_plans(spec: WJoin, joined: Joined, machine: Machine) -> list[Plan]:
    """Two windows, each in every structure that can serve the join's conditions."""
    names = list(SIZES)
    if not spec.classes:
        names = [BUFFER] if served_range(spec) is None else [n for n in names if n != HASH]
    method = BY_NAME[ASYMMETRIC].methods[0 if spec.classes else -1]
    sides = [[(name, _side(joined, at, name, machine)) for name in names] for at in (0, 1)]
    loops = KERNELS[ASYMMETRIC].us(_matched(joined)) * machine_factor(machine.weights)
    plans = []
    for left, cost_left in sides[0]:
        for right, cost_right in sides[1]:
            own = replace(
                spec, algorithm=ASYMMETRIC, method=method, structures=(left, right), orders=()
            )
            seconds = (loops + cost_left + cost_right) * US
            plans.append(Plan(f"{left}/{right}", own, seconds))
    return plans


def _side(joined: Joined, at: int, name: str, machine: Machine) -> float:
    """Microseconds per tick that one window costs in a structure, probed by the other stream."""
    other = 1 - at
    length = joined.upper[at][other] + min(0, joined.upper[other][at])
    direction = Direction(
        window=joined.rates[at] * max(0, length) + ahead_of(joined, at),
        probes=joined.rates[other],
        arrivals=joined.rates[at],
    )
    return direction_cost(Structure[name], direction, machine.weights, Sizes())


def _matched(joined: Joined) -> Work:
    """The work of the loops around structures, which hand on the tuples that keys allow."""
    work = backward_join(joined, ((1,), (0,)), is_hashed=True)
    testing = sum(test.us for test in joined.tests) * work.found
    return replace(work, touched=work.found, testing=testing)


def _like_backward(spec: WJoin, joined: Joined, factor: float) -> Plan:
    """An algorithm that the user asked for and no kernel was measured of: as nested loops."""
    name = f"few-{spec.method}" if BY_NAME[spec.algorithm].kind == SWEEP else "nlw"
    orders = [probe_order(spec, start) for start in joined.streams]
    work = backward_join(joined, orders, is_hashed=spec.method == HASH)
    note = f"as {name}: no kernel of its own was measured"
    return Plan(spec.algorithm, spec, KERNELS[name].us(work) * factor, note)
