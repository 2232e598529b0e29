"""What a join that sheds is expected to give, and the workload that is left for it.

The allocation comes first, by the rates that are known. How windows are looked up, and in which
order, is then chosen for what is left: the arrivals that probe, and the tuples that are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.allocation.best import allocate
from windrow.allocation.loads import Allocation, Case, Load, Resources, case_of
from windrow.allocation.output import expected_recall
from windrow.allocation.strategies import BY_NAME, allocate_by
from windrow.optimize.cost.directions import cheapest
from windrow.optimize.cost.effective import effective_directions
from windrow.optimize.cost.joins import Joined, output
from windrow.optimize.cost.structures import Sizes
from windrow.optimize.cost.weights import Weights
from windrow.optimize.joined import Sized
from windrow.physical.shedding import BEST, Expected, Least, Shedding, counted_ticks
from windrow.physical.specs import WJoin

NEARLY_ALL = 0.99
"""What is expected at most where all fits that is held, but not all that is counted: a stream may
get more than it holds, and another less.
"""


def with_expected(spec: WJoin, rates: Sequence[float], weights: Weights) -> WJoin:
    """The join with what it is expected to shed at some rates per tick.

    Left out where memory is in bytes: how many tuples that is shows as they come.
    """
    shedding = spec.shedding
    if shedding is None or (shedding.memory is not None and shedding.is_in_bytes):
        return spec
    resources = Resources(shedding.memory, shedding.service_rate if shedding.may_skip else None)
    retention = [max(0, spec.retention(at)) for at in range(len(rates))]
    # Memory is divided by what is counted, which begins with a block. What lies before the window
    # is not held any more when a pane is decided.
    counted = _loads(shedding, rates, [counted_ticks(own, spec.pane) for own in retention])
    loads = _loads(shedding, rates, [own + spec.pane for own in retention])
    divided = _allocation(shedding, counted, resources)
    kept = tuple(min(load.window, own) for load, own in zip(loads, divided.windows, strict=True))
    allocation = Allocation(divided.rates, kept)
    case = case_of(counted, resources)
    recall = 1.0 if case is Case.nothing else min(NEARLY_ALL, expected_recall(loads, allocation))
    expected = Expected(
        case=case.value,
        rates=tuple(rates),
        windows=tuple(load.window for load in loads),
        probing=allocation.rates,
        kept=kept,
        recall=recall,
        structures=_structures(spec, loads, allocation, weights),
    )
    return replace(spec, shedding=replace(shedding, expected=expected))


def _loads(shedding: Shedding, rates: Sequence[float], ticks: Sequence[int]) -> list[Load]:
    """The streams, with the tuples that arrive in so many ticks."""
    return [
        Load(rate, rate * long, _least(shedding.least_rates, at, shedding.service_rate),
             _least(shedding.least_windows, at, shedding.memory))
        for at, (rate, long) in enumerate(zip(rates, ticks, strict=True))
    ]  # fmt: skip


def effective(join: Sized, spec: WJoin) -> Sized:
    """The streams as a join keeps them and probes with them; the same where nothing is expected."""
    expected = None if spec.shedding is None else spec.shedding.expected
    if expected is None:
        return join
    ways = tuple(_left_of(way, expected) for way in join.ways)
    widest = _left_of(join.widest, expected)
    found = min(sum(map(output, ways)), output(widest))
    return replace(join, ways=ways, widest=widest, output=found)


def _left_of(joined: Joined, expected: Expected) -> Joined:
    kept = [
        rate * (part / full if full else 1.0)
        for rate, part, full in zip(joined.rates, expected.kept, expected.windows, strict=True)
    ]
    return replace(joined, rates=tuple(kept), probing=expected.probing)


def _structures(
    spec: WJoin, loads: Sequence[Load], allocation: Allocation, weights: Weights
) -> tuple[str, ...]:
    """What each window costs least in, as it is kept and probed."""
    if len(loads) != 2 or not spec.classes:
        return ()
    directions = effective_directions(loads, allocation)
    return tuple(cheapest(own, weights, Sizes()).name for own in directions)


def _allocation(shedding: Shedding, loads: Sequence[Load], resources: Resources) -> Allocation:
    if shedding.strategy == BEST:
        return allocate(loads, resources)
    strategy = BY_NAME[shedding.strategy]
    return allocate_by(loads, resources, processor=strategy, memory=strategy)


def _least(least: Sequence[Least], at: int, whole: float | None) -> float:
    return least[at].of(whole) if least and whole is not None else 0.0
