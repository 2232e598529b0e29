"""Other ways to divide, for comparison: those of the paper's figures 5 to 7.

A strategy divides probes, or memory. Whatever it says, no stream gets more than it can use or less
than it requires, and what one leaves goes to the others.

| strategy | processor | memory |
|---|---|---|
| `favoring(stream)` | MaxA, MaxB of figure 5 | of figures 6 and 7 |
| `equally` | equal | equal |
| `by_rates` | in proportion to the arrival rates | in proportion to the rates |
| `by_windows` | in proportion to the windows | in proportion to the windows |
| `inverse_to_rates` | in proportion to 1 / rate | in proportion to 1 / rate |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from windrow.allocation.dividing import Pot, in_order, in_proportion
from windrow.allocation.loads import Allocation, Load, Resources, everything
from windrow.allocation.memory import windows_pot
from windrow.allocation.processor import rates_pot

Strategy = Callable[[Pot, Sequence[Load]], tuple[float, ...]]
"""Divides what there is among streams."""


def favoring(stream: int) -> Strategy:
    """As much as possible to one stream, then to the others in their order."""

    def divide(divided: Pot, loads: Sequence[Load]) -> tuple[float, ...]:
        return in_order(divided, [stream, *(at for at in range(len(loads)) if at != stream)])

    return divide


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
