"""What it costs to take up a state in every micro-batch, as the workers of a streaming query do.

The rows that are held come from the worker's cache as they are. Backward evaluation looks tuples up
by indexes that stay with them. Every other plan lays the rows out anew, tuple by tuple, and puts
each into its structure, or builds the combinations anew that a pipeline keeps:

    micro-batch     |------------|------------|        ahead / rate ticks
    held before it  [=====window=====]                 laid out once per micro-batch
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.optimize.cost.joins import Joined
from windrow.optimize.cost.kernels import machine_factor
from windrow.optimize.cost.structures import Sizes, Structure, touches
from windrow.optimize.cost.weights import Weights

LAID_OUT = 0.3
"""Microseconds to lay out a row: measured 0.15 by an equality, 0.45 by a band."""

ONCE = 2_000.0
"""Microseconds that taking up a state takes whatever it holds."""


def restores(joined: Joined) -> float:
    """How often per tick: a micro-batch is as long as its rows take to come."""
    ticks = [rows / rate for rows, rate in zip(joined.ahead, joined.rates, strict=True) if rate]
    longest = max(ticks, default=0.0)
    return 1 / longest if longest else 0.0


def restoring_us(
    joined: Joined, weights: Weights, structures: Sequence[str], replayed_us: float
) -> float:
    """Microseconds per tick for laying out the rows held in every micro-batch.

    Args:
        joined: the streams.
        weights: of the structures.
        structures: of each stream's window, where they have any.
        replayed_us: what it takes per tick of rows to build anew what is kept beside them.
    """
    reaches = [max(0, *joined.upper[stream]) for stream in joined.streams]
    held = [rate * reach for rate, reach in zip(joined.rates, reaches, strict=True)]
    us = (ONCE + LAID_OUT * sum(held)) * machine_factor(weights) + replayed_us * max(reaches)
    for name, rows in zip(structures, held, strict=False):
        one = Structure[name]
        us += rows * touches(one, rows, Sizes()).update * weights.of(one).update
    return us * restores(joined)
