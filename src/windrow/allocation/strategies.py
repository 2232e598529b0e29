"""Ways to divide: the one with the most results (the paper's table 2), and others (figures 5 to 7).

A strategy divides probes, or memory. Whatever it says, no stream gets more than it can use or less
than it requires, and what one leaves goes to the others.

| strategy | processor | memory |
|---|---|---|
| `equally` | equal | equal |
| `by_rates` | in proportion to the arrival rates | in proportion to the rates |
| `by_windows` | in proportion to the windows | in proportion to the windows |
| `inverse_to_rates` | in proportion to 1 / rate | in proportion to 1 / rate |

Each stream gets its floor at least and its cap at most.

**Memory**, as how many tuples of each window are kept. The output is a sum of products of windows:

    f(w) = sum over i of  rate[i] * product over j != i of  w[j],   sum of w = memory, floors, caps

For two streams it is linear, and the rule is the paper's: keep the slower stream. For more it is
not, and a vertex is no longer best (a window of nothing joins with nothing). But f is an elementary
symmetric polynomial of degree n - 1 in w[i] / rate[i], whose (n - 1)-th root is concave where all
w are positive: a point that no exchange between two streams improves is the best of all.

An exchange moves memory from one window to another:

    w[i] + t, w[j] - t    f = f0 + slope * t - bend * t^2      bend: the combinations with both

a parabola, whose top is known. Exchanges are made until none gains; each time between the stream
whose window gains the most by a tuple and the one whose window loses the least.

**The processor**, as which arrivals probe. The output is a sum of the effective rates, each times
the combinations that one probe meets, and the rates are bounded by one sum and by floors and caps:
a linear program. With one row beside the bounds its optimum needs no simplex: serve the streams in
the order of what a probe of theirs meets, each up to its cap. For two streams that is the paper's
rule: probe the bigger window.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, combinations
from typing import NamedTuple

from windrow.allocation.loads import (
    Allocation,
    AllocationError,
    Case,
    Resources,
    StreamLoad,
    case_of,
    everything,
    meeting_rates,
    output_rate,
    products_of_others,
)

ROUNDING = 1e-12
"""Sums of floats that differ by such a share of them are equal."""


@dataclass(frozen=True)
class Pot:
    """An amount to divide.

    Attributes:
        what: what it is, for messages.
        amount: how much there is.
        floors: what each stream gets at least.
        caps: what each can use at most.
    """

    what: str
    amount: float
    floors: tuple[float, ...]
    caps: tuple[float, ...]


def pot(what: str, amount: float, floors: Sequence[float], caps: Sequence[float]) -> Pot:
    """A pot; a floor above what a stream can use is lowered to that.

    Raises:
        AllocationError: the floors together are more than there is.
    """
    held = tuple(min(floor, cap) for floor, cap in zip(floors, caps, strict=True))
    if sum(held) > amount * (1 + ROUNDING):
        raise AllocationError(
            "least-too-much",
            f"the streams require {sum(held):g} {what} at least, and there are {amount:g}",
            reason="every stream gets its minimum before anything else is divided",
            hint="lower the minima of some streams, or allow more",
        )
    return Pot(what, amount, held, tuple(caps))


def in_order(divided: Pot, order: Sequence[int]) -> tuple[float, ...]:
    """Floors first; then each stream in turn takes all that it can use."""
    shares = list(divided.floors)
    left = divided.amount - sum(shares)
    for stream in order:
        taken = min(left, divided.caps[stream] - shares[stream])
        # A sum may round to a hair above the cap that it should end at.
        shares[stream] = min(shares[stream] + taken, divided.caps[stream])
        left -= taken
    return tuple(shares)


def in_proportion(divided: Pot, weights: Sequence[float]) -> tuple[float, ...]:
    """Shares in proportion to weights, as far as floors and caps allow.

    There is one level such that every stream gets its weight times the level, raised to its floor
    or lowered to its cap, and all together use up the pot:

        share |        cap ____
              |       /              share = clip(weight * level, floor, cap)
              |______/ floor         corners at floor / weight and cap / weight
              +----------- level
    """

    def shares(level: float) -> tuple[float, ...]:
        limits = zip(weights, divided.floors, divided.caps, strict=True)
        return tuple(min(max(weight * level, floor), cap) for weight, floor, cap in limits)

    if not any(weight > 0 for weight in weights):
        return in_proportion(divided, [1.0] * len(weights))
    reachable = sum(
        cap if weight > 0 else floor
        for weight, floor, cap in zip(weights, divided.floors, divided.caps, strict=True)
    )
    corners = sorted(
        {
            bound / weight
            for weight, *bounds in zip(weights, divided.floors, divided.caps, strict=True)
            for bound in bounds
            if weight > 0
        }
    )
    if reachable <= divided.amount:
        return shares(corners[-1])
    used = [sum(shares(corner)) for corner in corners]
    if divided.amount <= used[0]:
        return shares(corners[0])
    # Between two corners what is used grows evenly.
    at = bisect_right(used, divided.amount, hi=len(used) - 1)
    rise = (corners[at] - corners[at - 1]) / (used[at] - used[at - 1])
    return shares(corners[at - 1] + (divided.amount - used[at - 1]) * rise)


_MOST_EXCHANGES = 10_000
_NEGLIGIBLE = 1e-10
"""A gain that is such a share of the output, or less, is none."""


def windows_pot(loads: Sequence[StreamLoad], memory: float) -> Pot:
    """The tuples that there are to divide."""
    least, most = [one.least_window for one in loads], [one.most_kept for one in loads]
    return pot("tuples of memory", memory, least, most)


def best_windows(divided: Pot, rates: Sequence[float]) -> tuple[float, ...]:
    """The windows that give the most results at these effective rates."""
    # Equal shares: no window is empty, so that the slopes say which way to go.
    windows = list(in_proportion(divided, [1.0] * len(rates)))
    for _ in range(_MOST_EXCHANGES):
        if not _exchange(windows, divided, rates):
            break
    return tuple(windows)


def _exchange(windows: list[float], divided: Pot, rates: Sequence[float]) -> bool:
    """Makes the exchange between the best pair; False when it gains nothing."""
    slopes = _slopes(windows, rates)
    # Who is a hair from its end has nothing to give or take, and would end all exchanges.
    below, above = 1 - ROUNDING, 1 + ROUNDING
    takers = [at for at, window in enumerate(windows) if window < divided.caps[at] * below]
    givers = [at for at, window in enumerate(windows) if window > divided.floors[at] * above]
    if not takers or not givers:
        return False
    taker = max(takers, key=lambda at: slopes[at])
    giver = min(givers, key=lambda at: slopes[at])
    slope = slopes[taker] - slopes[giver]
    room = min(divided.caps[taker] - windows[taker], windows[giver] - divided.floors[giver])
    if slope <= 0 or slope * room <= _NEGLIGIBLE * _join(windows, rates).output:
        return False
    rest = [at for at in range(len(windows)) if at not in (taker, giver)]
    bend = _join([windows[at] for at in rest], [rates[at] for at in rest]).output
    step = min(room, slope / (2 * bend)) if bend > 0 else room
    # To the very end, whatever rounding says.
    windows[giver] = max(windows[giver] - step, divided.floors[giver])
    windows[taker] = min(windows[taker] + step, divided.caps[taker])
    return True


class _Joined(NamedTuple):
    """Some of the streams: combinations of their windows' tuples, and the output of their join."""

    combinations: float
    output: float

    def with_also(self, other: _Joined) -> _Joined:
        """Both together: an arrival of the one meets every combination of the other."""
        return _Joined(
            self.combinations * other.combinations,
            self.output * other.combinations + other.output * self.combinations,
        )


_NOTHING = _Joined(1.0, 0.0)


def _join(windows: Sequence[float], rates: Sequence[float]) -> _Joined:
    """Streams, one after the other."""
    return reduce(_Joined.with_also, map(_Joined, windows, rates), _NOTHING)


def _slopes(windows: Sequence[float], rates: Sequence[float]) -> list[float]:
    """What one more tuple in each window adds to the output: the output of all other streams.

    From both ends, so that nothing is divided by a window that may be empty.
    """
    each = list(map(_Joined, windows, rates))
    before = [*accumulate(each, _Joined.with_also, initial=_NOTHING)]
    behind = [*accumulate(reversed(each), _Joined.with_also, initial=_NOTHING)]
    return [before[at].with_also(behind[len(each) - 1 - at]).output for at in range(len(each))]


def rates_pot(loads: Sequence[StreamLoad], service_rate: float) -> Pot:
    """The probes that there are to divide."""
    least, most = [one.least_rate for one in loads], [one.rate for one in loads]
    return pot("probes per unit of time", service_rate, least, most)


def best_rates(
    divided: Pot, windows: Sequence[float], loads: Sequence[StreamLoad]
) -> tuple[float, ...]:
    """The effective rates that give the most results over these windows; equals in their order."""
    others = products_of_others(windows)
    met = [load.meets * product for load, product in zip(loads, others, strict=True)]
    return in_order(divided, sorted(range(len(windows)), key=lambda stream: -met[stream]))


def allocate(loads: Sequence[StreamLoad], resources: Resources) -> Allocation:
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


def _allocate_both(rates: Pot, windows: Pot, loads: Sequence[StreamLoad]) -> Allocation:
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


Strategy = Callable[[Pot, Sequence[StreamLoad]], tuple[float, ...]]
"""Divides what there is among streams."""


def equally(divided: Pot, loads: Sequence[StreamLoad]) -> tuple[float, ...]:
    """As much to each."""
    return in_proportion(divided, [1.0] * len(loads))


def by_rates(divided: Pot, loads: Sequence[StreamLoad]) -> tuple[float, ...]:
    """In proportion to the arrival rates."""
    return in_proportion(divided, [one.rate for one in loads])


def by_windows(divided: Pot, loads: Sequence[StreamLoad]) -> tuple[float, ...]:
    """In proportion to the full windows."""
    return in_proportion(divided, [one.window for one in loads])


def inverse_to_rates(divided: Pot, loads: Sequence[StreamLoad]) -> tuple[float, ...]:
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
    loads: Sequence[StreamLoad],
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
