"""What a join that sheds is expected to give, and the workload that is left for it.

The allocation comes first, by the rates that are known. How windows are looked up, and in which
order, is then chosen for what is left: the arrivals that probe, and the tuples that are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.allocation.best import allocate
from windrow.allocation.loads import Allocation, Load, Resources, case_of
from windrow.allocation.output import expected_recall
from windrow.allocation.strategies import BY_NAME, allocate_by
from windrow.optimize.cost.directions import cheapest
from windrow.optimize.cost.effective import effective_directions
from windrow.optimize.cost.joins import Joined, output
from windrow.optimize.cost.structures import Sizes
from windrow.optimize.cost.weights import Weights
from windrow.optimize.joined import Sized
from windrow.physical.shedding import BEST, Expected, Least, Shedding
from windrow.physical.specs import WJoin


def with_expected(spec: WJoin, rates: Sequence[float], weights: Weights) -> WJoin:
    """The join with what it is expected to shed at some rates per tick.

    Left out where memory is in bytes: how many tuples that is shows as they come.
    """
    shedding = spec.shedding
    if shedding is None or (shedding.memory is not None and shedding.is_in_bytes):
        return spec
    windows = [max(0, spec.retention(at)) * rate for at, rate in enumerate(rates)]
    loads = [
        Load(rate, window, _least(shedding.least_rates, at, shedding.service_rate),
             _least(shedding.least_windows, at, shedding.memory))
        for at, (rate, window) in enumerate(zip(rates, windows, strict=True))
    ]  # fmt: skip
    allocation = _allocation(shedding, loads)
    expected = Expected(
        case=case_of(loads, Resources(shedding.memory, shedding.service_rate)).value,
        rates=tuple(rates),
        windows=tuple(windows),
        probing=allocation.rates,
        kept=allocation.windows,
        recall=expected_recall(loads, allocation),
        structures=_structures(spec, loads, allocation, weights),
    )
    return replace(spec, shedding=replace(shedding, expected=expected))


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


def _allocation(shedding: Shedding, loads: Sequence[Load]) -> Allocation:
    resources = Resources(shedding.memory, shedding.service_rate if shedding.may_skip else None)
    if shedding.strategy == BEST:
        return allocate(loads, resources)
    strategy = BY_NAME[shedding.strategy]
    return allocate_by(loads, resources, processor=strategy, memory=strategy)


def _least(least: Sequence[Least], at: int, whole: float | None) -> float:
    return least[at].of(whole) if least and whole is not None else 0.0
