"""How much faster all streams may come until the window joins of a query keep one core busy.

What a window by time holds grows with the rates, and what its tuples meet with it: a join of two
streams that come twice as fast costs up to four times as much, one of three up to eight times. So
no cost at one rate tells that at another: the plan that is taken is priced again, at rates that are
all so many times as high, until it costs one core.

    cores, as a logarithm            the taken plan, steeper where windows fill
      |                          /
    1 |-----------------------x
      |               _ - '                each step lies where a line through the two before meets 1,
      |_________________________           and within the bounds found so far
         1                    most     times as fast
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import exp, log

from windrow.optimize.choose.plans import Machine, cost_of
from windrow.optimize.cost.statistics import PlanStatistics, sized
from windrow.physical.estimates import PlanCost, as_cores, clock_of
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin

MOST_STEPS = 12
"""Times that a plan is priced again: by far most are found in five."""

MOST_SECANTS = 7
"""Steps by secants; then the bounds are halved. A tree that grows by a level costs more at once."""

NEAR = 0.02
"""How far from one core the cost found may be, or how far apart the bounds, as logarithms."""

MOST = 40.0
"""The logarithm of a factor that is looked for at most."""

LEAST_SLOPE = 0.5
"""No plan costs so much less per row at higher rates."""


def is_paced(root: PhysicalNode, time_type: str, numbers: PlanStatistics) -> bool:
    """Whether rows come by the clock, at the rates that a plan is priced by.

    Those of tables that are there as a whole, and of which nobody has said how fast they come, are taken as
    fast as they can be; and so is what has plain numbers for times.
    """
    if as_cores(1.0, clock_of(root, time_type)) is None:
        return False
    is_stated = any(numbers.has_stated_rate(scan.stream) for scan in root.scans)
    return is_stated or not numbers.is_bounded(root)


def most_times_as_fast(
    root: PhysicalNode, time_type: str, numbers: PlanStatistics, machine: Machine
) -> float | None:
    """How many times as fast all streams may come, in the same mix, until one core is busy.

    None where the costs of the plan are not known, where rows do not come by the clock, and where a join
    sheds: it does no more the more comes.
    """
    if not is_paced(root, time_type, numbers):
        return None
    joins = [node for node in root.walk() if isinstance(node, MultiJoin)]
    if not joins or any(join.workload for join in joins):
        return None
    if any(join.estimate is None or not join.estimate.plans for join in joins):
        return None

    clock = clock_of(root, time_type)

    def load(times: float) -> float | None:
        """The logarithm of the cores that the plan takes at other rates."""
        faster = priced(root, replace(numbers, speed=times), machine)
        cores = as_cores(
            sum(node.estimate.plans[0].seconds for node in faster.walk() if node.estimate),
            clock,
        )
        return log(cores) if cores else None

    return _where_zero(load)


def priced(node: PhysicalNode, numbers: PlanStatistics, machine: Machine) -> PhysicalNode:
    """The same plan, with what it would cost by other numbers: that alone, nothing is chosen."""
    own = node.with_inputs([priced(child, numbers, machine) for child in node.inputs])
    if not isinstance(own, MultiJoin) or own.estimate is None:
        return own
    rates = [numbers.rate(child) for child in own.inputs]
    known = [rate for rate in rates if rate is not None]
    assert len(known) == len(rates), "it was estimated"
    join = sized(own, known, numbers)
    plan = PlanCost(own.plan_name, cost_of(own, join, machine))
    return replace(own, estimate=replace(own.estimate, output=join.output, plans=(plan,)))


def _where_zero(load: Callable[[float], float | None]) -> float | None:
    """Where a load that grows with the rates is 0; None where that is not found."""
    below, above = -MOST, MOST
    at, slope, value = 0.0, 2.0, load(1.0)
    for step in range(MOST_STEPS):
        if value is None:
            return None
        if abs(value) <= NEAR:
            return exp(at)
        below, above = (at, above) if value < 0 else (below, at)
        if above - below <= NEAR:
            return exp(below)
        after = at - value / slope
        if step > MOST_SECANTS or not below < after < above:
            after = (below + above) / 2
        found = load(exp(after))
        if found is not None:
            slope = max(LEAST_SLOPE, (found - value) / (after - at))
        at, value = after, found
    return None
