"""What the planner estimates of a window join: numbers, their origin, costs of plans; and how EXPLAIN says it.

Costs are shares of one core where event time is that of clocks, and time of processor per unit of
event time where it is not; then how many rows a core keeps up with.
Estimates are shown with two figures: they are not worth more. Figures too small or too large to act
on are shown by a limit (`under 0.01% of a core`, `over 1,000 cores`), never with an exponent.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from windrow.physical.explain.facts import Fact
from windrow.physical.structures import NAMES
from windrow.plan.catalog import USUAL_UNIT, ticks_per_unit
from windrow.plan.statistics import ASSUMED, HINT, Figure

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode
    from windrow.physical.query import PhysicalQuery


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


ONE_PLAN = Estimate(reason="a join of what is alive has one plan, and no cost model")


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


@dataclass(frozen=True)
class TotalCost:
    """What all window joins of a query cost, where that is known.

    Attributes:
        time_type: of the event time that rates are per tick of.
        rows: that come to them from streams, per tick.
        seconds: of processor per tick.
        is_paced: whether rows come by the clock; else as fast as they are taken.
        times_as_fast: by how much all rates may be multiplied until they keep one core busy; None
            where that is not known.
    """

    time_type: str
    rows: float
    seconds: float
    is_paced: bool
    times_as_fast: float | None

    @classmethod
    def of(cls, query: PhysicalQuery) -> TotalCost | None:
        """That of a query; None where some join of it is not estimated, or there is none."""
        root = query.root
        joins = [node for node in root.walk() if node.is_priced]
        estimates = [join.estimate for join in joins]
        if not joins or any(one is None or not one.plans for one in estimates):
            return None
        return cls(
            clock_of(root, query.time_type),
            sum(map(_arriving, joins)),
            sum(one.plans[0].seconds for one in estimates if one is not None),
            query.is_paced,
            query.times_as_fast,
        )

    @property
    def cores(self) -> float | None:
        """How many cores it keeps busy; None where event time is not that of clocks."""
        return as_cores(self.seconds, self.time_type)

    @property
    def rows_of_one_core(self) -> float | None:
        """Rows per tick at which one core is busy; None where that is not known."""
        return None if self.times_as_fast is None else self.rows * self.times_as_fast

    @property
    def rows_per_second(self) -> float | None:
        """Rows that come in a second; None where event time is not that of clocks."""
        ticks = ticks_per_second(self.time_type)
        return None if ticks is None else self.rows * ticks

    @property
    def most_rows_per_second(self) -> float | None:
        """Those that one core keeps up with, or gets through; None where that is not known."""
        ticks = ticks_per_second(self.time_type)
        if self.rows_of_one_core is not None and ticks is not None:
            return self.rows_of_one_core * ticks
        return self.rows / self.seconds if self.seconds and not self.is_paced else None

    def __str__(self) -> str:
        load = f"{_load(self.seconds, self.time_type)} for the window joins"
        if not self.rows or not self.seconds:
            return load
        load += f", at {show_rate(self.rows, self.time_type)}"
        if self.rows_of_one_core is not None:
            most = show_rate(self.rows_of_one_core, self.time_type)
            return f"{load}; one core keeps up with about {most} in the same mix"
        if not self.is_paced:  # rows per tick stay as they are, however fast ticks go by
            most = f"about {show_count(self.most_rows_per_second or 0)} such rows per second"
            return f"{load}; one core gets through {most}"
        return load


def unknown_cost(root: PhysicalNode) -> str:
    """Why the cost of a query is not known, or what to give to know it."""
    joins = [node for node in root.walk() if node.is_priced]
    if not joins:
        others = " and ".join(root.spoken_names)
        return f"not estimated: {NO_WINDOW_JOIN if not others else f'{others} has no cost model'}"
    estimates = [join.estimate for join in joins if join.estimate]
    reasons = [one.reason for one in estimates if one.reason]
    if reasons:
        return f"not estimated: {reasons[0]}"
    missing = [name for one in estimates for name in one.missing]
    return f"not estimated: give {', '.join(dict.fromkeys(missing))}"


def clock_of(root: PhysicalNode, time_type: str) -> str:
    """The type of event time that the rates of a query are told by."""
    return time_type if time_type in USUAL_UNIT else root.scans[0].time_type


def as_cores(seconds: float, time_type: str) -> float | None:
    """How many cores so many seconds of processor per tick are; None where ticks are not time."""
    ticks = ticks_per_second(time_type)
    return None if ticks is None else seconds * ticks


def ticks_per_second(time_type: str) -> float | None:
    """Of event time that is that of clocks; None where it is not."""
    unit = USUAL_UNIT[time_type]
    return _ticks(time_type) / _SECONDS[unit] if unit in _SECONDS else None


def has_stated_rates(root: PhysicalNode) -> bool:
    """Whether the costs of the joins of a query rest on numbers that the user has stated."""
    estimates = [node.estimate for node in root.walk() if node.is_priced and node.estimate]
    return any(figure.source == HINT for one in estimates for _, figure in one.known)


def is_over_a_core(cores: float) -> bool:
    """Whether so many cores, as they are shown, are more than one."""
    return cores >= 1.05


def show_cores(cores: float) -> str:
    """So many cores, more than one, in a few words."""
    return f"over {MOST_CORES:,.0f} cores" if cores > MOST_CORES else f"{show_count(cores)} cores"


def _arriving(join: PhysicalNode) -> float:
    """Rows that come to a join from streams, not from another join, per tick."""
    known = dict(join.estimate.known) if join.estimate is not None else {}
    rates = [known.get(f"rate({alias})") for alias in join.aliases_of_streams]
    return sum(rate.value for rate in rates if rate is not None)


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
