"""The allocation that gives the most results: the four cases of the paper's table 2."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from windrow.allocation.dividing import ROUNDING, Pot, in_order
from windrow.allocation.loads import Allocation, Case, Load, Resources, case_of, everything
from windrow.allocation.memory import best_windows, windows_pot
from windrow.allocation.output import meeting_rates, output_rate
from windrow.allocation.processor import best_rates, rates_pot


def allocate(loads: Sequence[Load], resources: Resources) -> Allocation:
    """What each stream gets, so that the expected output is the largest.

    Nothing short: everything. The processor short: probe the bigger window. Memory short: keep the
    slower stream. Both: probe with the one stream and keep the other.

    Examples:
        >>> streams = [Load(rate=800, window=500), Load(rate=200, window=1_000)]
        >>> allocate(streams, Resources(service_rate=100)).rates
        (100.0, 0.0)

    Raises:
        AllocationError: the streams' minima are more than there is.
    """
    full = everything(loads)
    match case_of(loads, resources):
        case Case.nothing:
            return full
        case Case.processor:
            rates = rates_pot(loads, _there(resources.service_rate))
            return Allocation(best_rates(rates, full.windows, loads), full.windows)
        case Case.memory:
            windows = windows_pot(loads, _there(resources.memory))
            return Allocation(full.rates, best_windows(windows, meeting_rates(loads, full.rates)))
        case Case.both:
            return _allocate_both(
                rates_pot(loads, _there(resources.service_rate)),
                windows_pot(loads, _there(resources.memory)),
                loads,
            )


def _allocate_both(rates: Pot, windows: Pot, loads: Sequence[Load]) -> Allocation:
    """The best windows for every corner of the rates, and the best of these.

    For given windows the best rates are a corner of what is allowed, so that one of the corners is
    best of all.
    """
    tried = [
        Allocation(corner, best_windows(windows, meeting_rates(loads, corner)))
        for corner in _corners(rates)
    ]
    return max(tried, key=lambda own: output_rate(own, loads=loads))


def _corners(divided: Pot) -> list[tuple[float, ...]]:
    """Divisions of all there is: some streams have their cap, one the rest, the others their floor.

    The order is that of the streams, so that of equals the first stream probes the most.
    """
    streams = range(len(divided.caps))
    corners = {
        in_order(divided, [*capped, between])
        for many in streams
        for capped in combinations(streams, many)
        for between in streams
        if between not in capped
    }
    whole = divided.amount * (1 - ROUNDING)
    return sorted((corner for corner in corners if sum(corner) >= whole), reverse=True)


def _there(amount: float | None) -> float:
    assert amount is not None, "what is short has an amount"
    return amount
