"""Ways to divide: the one with the most results (the paper's table 2), and others (figures 5 to 7).

A strategy divides probes, or memory. Whatever it says, no stream gets more than it can use or less
than it requires, and what one leaves goes to the others.

| strategy | processor | memory |
|---|---|---|
| `equally` | equal | equal |
| `by_rates` | in proportion to the arrival rates | in proportion to the rates |
| `by_windows` | in proportion to the windows | in proportion to the windows |
| `inverse_to_rates` | in proportion to 1 / rate | in proportion to 1 / rate |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from windrow.allocation.dividing import (
    ROUNDING,
    Pot,
    best_rates,
    best_windows,
    in_order,
    in_proportion,
    rates_pot,
    windows_pot,
)
from windrow.allocation.loads import (
    Allocation,
    Case,
    Load,
    Resources,
    case_of,
    everything,
    meeting_rates,
    output_rate,
)


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


Strategy = Callable[[Pot, Sequence[Load]], tuple[float, ...]]
"""Divides what there is among streams."""


def equally(divided: Pot, loads: Sequence[Load]) -> tuple[float, ...]:
    """As much to each."""
    return in_proportion(divided, [1.0] * len(loads))


def by_rates(divided: Pot, loads: Sequence[Load]) -> tuple[float, ...]:
    """In proportion to the arrival rates."""
    return in_proportion(divided, [one.rate for one in loads])


def by_windows(divided: Pot, loads: Sequence[Load]) -> tuple[float, ...]:
    """In proportion to the full windows."""
    return in_proportion(divided, [one.window for one in loads])


def inverse_to_rates(divided: Pot, loads: Sequence[Load]) -> tuple[float, ...]:
    """The slower a stream, the more; one that never arrives counts as the slowest of the others."""
    slowest = min((one.rate for one in loads if one.rate > 0), default=1.0)
    return in_proportion(divided, [1 / (one.rate or slowest) for one in loads])


BY_NAME: Mapping[str, Strategy] = {
    "equal": equally,
    "rates": by_rates,
    "windows": by_windows,
    "inverse": inverse_to_rates,
}


def allocate_by(
    loads: Sequence[Load],
    resources: Resources,
    *,
    processor: Strategy = equally,
    memory: Strategy = equally,
) -> Allocation:
    """What each stream gets when strategies divide what is short, or has an amount.

    Examples:
        >>> streams = [Load(rate=800, window=100), Load(rate=200, window=200)]
        >>> allocate_by(streams, Resources(service_rate=100), processor=by_rates).rates
        (80.0, 20.0)

    Raises:
        AllocationError: the streams' minima are more than there is.
    """
    full = everything(loads)
    rates, windows = full.rates, full.windows
    if resources.service_rate is not None:
        rates = processor(rates_pot(loads, resources.service_rate), loads)
    if resources.memory is not None:
        windows = memory(windows_pot(loads, resources.memory), loads)
    return Allocation(rates, windows)
