"""The workload that is left of a join of two streams once an allocation sheds the rest.

Structures are chosen for this one: a window that is hardly probed any more is no longer worth a
tree, whatever its stream's rate was.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.allocation.loads import Allocation, Load
from windrow.optimize.cost.directions import Direction


def effective_directions(
    loads: Sequence[Load], allocation: Allocation
) -> tuple[Direction, Direction]:
    """Window A as it is kept and probed, and window B.

    Arrivals that do not probe are still kept; of a window that is kept in part, the same part of
    the arrivals comes in.

    Examples:
        >>> streams = [Load(rate=10, window=100), Load(rate=50, window=100)]
        >>> into_a, into_b = effective_directions(streams, Allocation((0, 50), (60, 40)))
        >>> into_a
        Direction(window=60, probes=50, arrivals=6.0)
    """
    (load_a, load_b), (rate_a, rate_b) = loads, allocation.rates
    window_a, window_b = allocation.windows
    return (
        Direction(window_a, probes=rate_b, arrivals=load_a.rate * _kept(load_a, window_a)),
        Direction(window_b, probes=rate_a, arrivals=load_b.rate * _kept(load_b, window_b)),
    )


def _kept(load: Load, window: float) -> float:
    """The share of a window that is kept; all of an empty one."""
    return window / load.window if load.window else 1.0
