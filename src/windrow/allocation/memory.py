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

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from typing import NamedTuple

from windrow.allocation.dividing import ROUNDING, Pot, in_proportion, pot
from windrow.allocation.loads import Load

_MOST_EXCHANGES = 10_000
_NEGLIGIBLE = 1e-10
"""A gain that is such a share of the output, or less, is none."""


def windows_pot(loads: Sequence[Load], memory: float) -> Pot:
    """The tuples that there are to divide."""
    return pot(
        "tuples of memory",
        memory,
        [one.least_window for one in loads],
        [one.most_kept for one in loads],
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
