"""Divides memory: how many tuples of each window are kept.

The output is a sum of products of windows:

    f(w) = sum over i of  rate[i] * product over j != i of  w[j],   sum of w = memory, floors, caps

For two streams it is linear, and the rule is the paper's: keep the slower stream. For more it is
not, and a vertex is no longer best (a window of nothing joins with nothing). But f is an elementary
symmetric polynomial of degree n - 1 in w[i] / rate[i], whose (n - 1)-th root is concave where all
w are positive: a point that no exchange between two streams improves is the best of all.

An exchange moves memory from one window to another:

    w[i] + t, w[j] - t    f = f0 + slope * t - bend * t^2      bend: the combinations with both

a parabola, whose top is known. Exchanges are made until none gains; each time between the stream
whose window gains the most by a tuple and the one whose window loses the least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from windrow.optimize.allocation.dividing import Pot, in_proportion, pot
from windrow.optimize.allocation.loads import Load
from windrow.optimize.allocation.output import products_of_others

_MOST_EXCHANGES = 10_000
_NEGLIGIBLE = 1e-13
"""A gain that is such a share of the output, or less, is none."""


def windows_pot(loads: Sequence[Load], memory: float) -> Pot:
    """The tuples that there are to divide."""
    return pot(
        "tuples of memory",
        memory,
        [one.least_window for one in loads],
        [one.window for one in loads],
    )


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
    slopes = [_slope(windows, rates, stream) for stream in range(len(windows))]
    takers = [at for at, window in enumerate(windows) if window < divided.caps[at]]
    givers = [at for at, window in enumerate(windows) if window > divided.floors[at]]
    if not takers or not givers:
        return False
    taker = max(takers, key=lambda at: slopes[at])
    giver = min(givers, key=lambda at: slopes[at])
    slope = slopes[taker] - slopes[giver]
    output = sum(map(math.prod, zip(rates, products_of_others(windows), strict=True)))
    room = min(divided.caps[taker] - windows[taker], windows[giver] - divided.floors[giver])
    if taker == giver or slope * room <= _NEGLIGIBLE * output or slope <= 0:
        return False
    bend = _with_both(windows, rates, taker, giver)
    step = min(room, slope / (2 * bend)) if bend > 0 else room
    if step == room == windows[giver] - divided.floors[giver]:
        windows[giver] = divided.floors[giver]  # to the very end, whatever rounding says
    else:
        windows[giver] -= step
    windows[taker] = min(windows[taker] + step, divided.caps[taker])
    return True


def _slope(windows: Sequence[float], rates: Sequence[float], stream: int) -> float:
    """What one more tuple in a stream's window adds to the output."""
    without = [window for at, window in enumerate(windows) if at != stream]
    others = [rate for at, rate in enumerate(rates) if at != stream]
    return sum(map(math.prod, zip(others, products_of_others(without), strict=True)))


def _with_both(windows: Sequence[float], rates: Sequence[float], one: int, other: int) -> float:
    """The output per tuple in the one window and tuple in the other."""
    rest = [at for at in range(len(windows)) if at not in (one, other)]
    kept = [windows[at] for at in rest]
    return sum(
        rates[at] * product for at, product in zip(rest, products_of_others(kept), strict=True)
    )
