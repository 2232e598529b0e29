"""What the planner estimates of a window join: numbers, their origin, costs of plans; and how EXPLAIN says it.

Costs are shares of one core where event time is that of clocks, and time of processor per unit of
event time where it is not; then how many rows a core takes in a second, which holds for both.
Estimates are shown with two figures: they are not worth more. Figures too small or too large to act
on are shown by a limit (`under 0.01% of a core`, `over 1,000 cores`), never with an exponent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from windrow.physical.explain.facts import Fact
from windrow.physical.structures import NAMES
from windrow.plan.catalog import USUAL_UNIT, ticks_per_unit
from windrow.plan.statistics import ASSUMED, HINT, Figure

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
"""The least share of a core that the summary tells; plans are compared as times per second below it."""

MOST_CORES = 1000.0
"""More cores than these are not told apart."""

LEAST_SHOWN, MOST_SHOWN = 1e-9, 1e12
"""The least and the largest number that are shown by their figures."""

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))

_SECONDS = {"second": 1, "day": 24 * 60 * 60}
"""Of the units of event time that are those of clocks."""


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
    seconds = _seconds(joins)
    kind = _kind(root, time_type)
    rows = sum(_arriving(join) for join in joins)
    return f"{_load(seconds, kind)} for the window joins{_capacity(rows, seconds, kind)}"


def cores_needed(root: PhysicalNode, time_type: str) -> float | None:
    """How many cores the window joins of a query keep busy at the rates that the user has stated.

    None where that is not known, or event time is not that of clocks.
    """
    joins = [node for node in root.walk() if node.is_priced]
    figures = [figure for join in joins if join.estimate for _, figure in join.estimate.known]
    kind = _kind(root, time_type)
    if not any(figure.source == HINT for figure in figures) or USUAL_UNIT[kind] not in _SECONDS:
        return None
    return _seconds(joins) * _ticks(kind) / _SECONDS[USUAL_UNIT[kind]]


def is_over_a_core(cores: float) -> bool:
    """Whether so many cores, as they are shown, are more than one."""
    return cores >= 1.05


def show_cores(cores: float) -> str:
    """So many cores, more than one, in a few words."""
    return f"over {MOST_CORES:,.0f} cores" if cores > MOST_CORES else f"{show_count(cores)} cores"


def _seconds(joins: Sequence[PhysicalNode]) -> float:
    """Of processor per tick, for some joins."""
    return sum(
        join.estimate.plans[0].seconds for join in joins if join.estimate and join.estimate.plans
    )


def _kind(root: PhysicalNode, time_type: str) -> str:
    return root.scans[0].time_type if time_type not in USUAL_UNIT else time_type


def _arriving(join: PhysicalNode) -> float:
    """Rows that come to a join from streams, not from another join, per tick."""
    known = dict(join.estimate.known) if join.estimate is not None else {}
    rates = [known.get(f"rate({alias})") for alias in join.aliases_of_streams]
    return sum(rate.value for rate in rates if rate is not None)


def _capacity(rows: float, seconds: float, time_type: str) -> str:
    """How many rows come, and how many one core could take."""
    if not rows or not seconds:
        return ""
    most = rows / seconds
    taken = f"about {show_count(most)} rows" if most >= 1 else "less than one row"
    return f", at {show_rate(rows, time_type)}; one core takes {taken} per second"


def _load(seconds: float, time_type: str) -> str:
    """The cost in the summary: a share of a core, or cores, by the clock; else time per unit."""
    own = seconds * _ticks(time_type)
    if USUAL_UNIT[time_type] == "second" and own < LEAST_SHARE:
        return f"under {100 * LEAST_SHARE:g}% of a core"
    return _per_unit(seconds, time_type)


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
            ", ".join(f"{plan.name}: {_short(plan.seconds, time_type)}" for plan in line)
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
    return f"{_per_unit(plan.seconds, time_type)}{note}"


def _per_unit(seconds: float, time_type: str) -> str:
    """The cost with what it is a share of."""
    own, unit = seconds * _ticks(time_type), USUAL_UNIT[time_type]
    if unit != "second" or own < LEAST_SHARE:
        return f"{_time(own)} of processor time per {unit}"
    return show_cores(own) if is_over_a_core(own) else f"{show_count(100 * own)}% of a core"


def _short(seconds: float, time_type: str) -> str:
    """The same without, where many stand in a line."""
    return _per_unit(seconds, time_type).partition(" of ")[0]


def _ticks(time_type: str) -> float:
    ticks = ticks_per_unit(USUAL_UNIT[time_type], time_type)
    assert ticks is not None
    return ticks


def _time(seconds: float) -> str:
    size, unit = next((one for one in _UNITS if seconds >= one[0]), _UNITS[-1])
    return f"{show_count(seconds / size)} {unit}" if seconds >= size else f"under 1 {unit}"


def show_count(number: float) -> str:
    """A number with two figures, or whole where it has more before the point.

    Examples:
        >>> show_count(123456), show_count(0.000034567), show_count(1e300)
        ('120,000', '0.000035', 'over 1,000,000,000,000')
    """
    if number > MOST_SHOWN:
        return f"over {MOST_SHOWN:,.0f}"
    if 0 < number < LEAST_SHOWN:
        return f"under {Decimal(LEAST_SHOWN):.9f}"
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{Decimal(f'{rounded:g}'):f}"
