"""What the planner estimates of a window join: numbers, their origin, costs of plans; and how EXPLAIN says it.

Costs are shares of one core where event time is that of clocks, and time of processor per unit of
event time where it is not; then how many rows a core takes in a second, which holds for both.
Estimates are shown with two figures: they are not worth more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.explain.facts import Fact
from windrow.physical.structures import NAMES
from windrow.plan.catalog import USUAL_UNIT, ticks_per_unit
from windrow.plan.statistics import ASSUMED, Figure

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode


CHANGED = 4.0
"""Numbers that have become so many times as high, or as low, are a reason to plan again."""


def is_near(number: float, planned: float) -> bool:
    """Whether a number is still about what a plan was made for."""
    return planned / CHANGED <= number <= planned * CHANGED


@dataclass(frozen=True)
class PlanCost:
    """A plan and what it costs.

    Attributes:
        name: as `algorithm` or `structure` would ask for it.
        seconds: of processor per tick of event time.
        note: why it is not taken though it may cost less; "" where cost alone decides.
    """

    name: str
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class Estimate:
    """What is known of a join, and what its plans cost.

    Attributes:
        known: the numbers that costs were made from, each with its name: "rate(a)", "keys(a.k)",
            "share(a.x < b.x)".
        missing: what would have to be given for an estimate: "rate= of a" for instance.
        reason: why there is none, where nothing that could be given would help.
        output: results per tick.
        plans: all that could run, the one taken first, the others by their cost.
        weights: whose costs of single operations these are.
        is_decisive: whether costs decided; else the user did, or some number was assumed.
    """

    known: tuple[tuple[str, Figure], ...] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""
    output: float = 0.0
    plans: tuple[PlanCost, ...] = ()
    weights: str = ""
    is_decisive: bool = False

    @property
    def is_guessed(self) -> bool:
        """Whether some number was assumed."""
        return any(ASSUMED in figure.source for _, figure in self.known)


ONE_PLAN = Estimate(reason="a join of what is alive has one plan")


ORDERED = ", ordered by cost"
"""What the kind of a plan ends with whose order is not the usual one."""


def is_of_structures(name: str) -> bool:
    """Whether a name of a plan is a pair of structures."""
    return set(name.split("/")) <= set(NAMES)


PER_LINE = 4
"""Combinations of structures that share a line: there are sixteen."""

NO_WINDOW_JOIN = "the query joins no streams by windows"

LEAST_SHARE = 1e-4
"""The least share of a core that is told as one: smaller ones are told as time per second."""

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def total_cost(root: PhysicalNode, time_type: str) -> str:
    """The cost of all window joins of a query, or what to give to know it."""
    joins = [node for node in root.walk() if node.is_priced]
    if not joins:
        others = " and ".join(root.spoken_names)
        return f"not estimated: {NO_WINDOW_JOIN if not others else f'{others} has no cost model'}"
    estimates = [join.estimate for join in joins]
    missing = [name for one in estimates if one for name in one.missing]
    reasons = [one.reason for one in estimates if one and one.reason]
    if reasons:
        return f"not estimated: {reasons[0]}"
    if missing:
        return f"not estimated: give {', '.join(dict.fromkeys(missing))}"
    costs = [one.plans[0].seconds for one in estimates if one and one.plans]
    kind = root.scans[0].time_type if time_type not in USUAL_UNIT else time_type
    rows = sum(_arriving(join) for join in joins)
    cost = " of ".join(_per_unit(sum(costs), kind))
    return f"{cost} for the window joins{_capacity(rows, sum(costs), kind)}"


def _arriving(join: PhysicalNode) -> float:
    """Rows that come to a join from streams, not from another join, per tick."""
    known = dict(join.estimate.known) if join.estimate is not None else {}
    rates = [known.get(f"rate({alias})") for alias in join.aliases_of_streams]
    return sum(rate.value for rate in rates if rate is not None)


def _capacity(rows: float, seconds: float, time_type: str) -> str:
    """How many rows come, and how many one core could take."""
    if not rows or not seconds:
        return ""
    arriving, most = show_rate(rows, time_type), show_count(rows / seconds)
    return f", at {arriving}; one core takes about {most} rows per second"


def estimate_facts(node: PhysicalNode, time_type: str) -> list[Fact]:
    """The numbers, the output rate, and what each plan costs."""
    estimate = node.estimate
    if estimate is None or not estimate.plans:
        return []
    taken, *others = estimate.plans
    pairs = [plan for plan in others if is_of_structures(plan.name)]
    rejected = [f"{plan.name}: {_cost(plan, time_type)}" for plan in others if plan not in pairs]
    for start in range(0, len(pairs), PER_LINE):
        line = pairs[start : start + PER_LINE]
        rejected.append(
            ", ".join(f"{plan.name}: {_per_unit(plan.seconds, time_type)[0]}" for plan in line)
        )
    return [
        ("estimated", [*_numbers(estimate, time_type), f"costs: {estimate.weights}"]),
        ("output", [show_rate(estimate.output, time_type)]),
        ("cost", [f"{taken.name}: {_cost(taken, time_type)}"]),
        ("rejected", rejected),
    ]


def show_rate(per_tick: float, time_type: str) -> str:
    """A number per tick as people read it: per second, or per day or tick."""
    return f"{show_count(per_tick * _ticks(time_type))} per {USUAL_UNIT[time_type]}"


def _numbers(estimate: Estimate, time_type: str) -> list[str]:
    lines = []
    for name, figure in estimate.known:
        value = f"{show_count(figure.value)}"
        if name.startswith("rate("):
            value = show_rate(figure.value, time_type)
        lines.append(f"{name} = {value} ({figure.source})")
    return lines


def _cost(plan: PlanCost, time_type: str) -> str:
    note = f"; {plan.note}" if plan.note else ""
    return f"{' of '.join(_per_unit(plan.seconds, time_type))}{note}"


def _per_unit(seconds: float, time_type: str) -> tuple[str, str]:
    """The figure, and what it is one of."""
    own = seconds * _ticks(time_type)
    if USUAL_UNIT[time_type] == "second" and own >= LEAST_SHARE:
        return f"{show_count(100 * own)}%", "a core"
    return _time(own), f"processor per {USUAL_UNIT[time_type]}"


def _ticks(time_type: str) -> float:
    ticks = ticks_per_unit(USUAL_UNIT[time_type], time_type)
    assert ticks is not None
    return ticks


def _time(seconds: float) -> str:
    size, unit = next((one for one in _UNITS if seconds >= one[0]), _UNITS[-1])
    return f"{show_count(seconds / size)} {unit}"


def show_count(number: float) -> str:
    """A number with two figures, or whole where it has more before the point."""
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"
