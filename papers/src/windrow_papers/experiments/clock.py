"""A simulated clock: a tuple waits until the operator is free, and the operator takes its time.

    arrives     a1   a2 a3            a4
    service     [--1--][---2---][-3-] [4]          -> time
    response    |=====|
                     |=========|        waiting and service together
                        |============|

What a tuple's service takes is counted work times a cost per unit of work, calibrated in the same
run. The clock may be set slower than this machine, so that rates which are low here saturate an
operator: costs are compared with each other, never with a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Seconds = NDArray[np.float64]

STEADY_AFTER = 0.4
"""The share of a run that fills the windows and is left out."""

NEAR_ENOUGH = 0.02
"""How far a load may be from 1, as a logarithm, to be taken as the saturation."""


def responses(arrivals_s: Seconds, ready_s: Seconds, service_s: Seconds) -> Seconds:
    """From each tuple's arrival to the end of its service, tuples served in the order given.

    Args:
        arrivals_s: when each tuple arrives.
        ready_s: when it may be served at the earliest: at its arrival, or later.
        service_s: how long it is served.
    """
    # finish[i] = max(finish[i - 1], ready[i]) + service[i], without a loop: the latest start of a
    # busy stretch plus all service since.
    served = np.cumsum(service_s)
    begun = np.maximum.accumulate(ready_s - (served - service_s))
    return begun + served - arrivals_s


@dataclass(frozen=True)
class Limit:
    """Where an operator is saturated.

    Attributes:
        rate: the rate at which the load is 1.
        power: near it, the load grows like this power of the rate.
    """

    rate: float
    power: float

    def at_cost(self, times: float) -> float:
        """The rate at which the load is 1 when every unit of work costs so many times as much."""
        return float(self.rate * times ** (-1 / self.power))


def saturation(load: Callable[[float], float], guess: float, *, steps: int = 6) -> Limit:
    """The rate at which the load reaches 1.

    Args:
        load: the share of its time that the operator is busy at a rate, above 1 when no queue
            drains; it grows like a power of the rate, or nearly so.
        guess: where to begin.
        steps: how often the load is measured at most.
    """
    rate, found = guess, load(guess)
    power = 2.0  # nested loops: twice the rate is twice the tuples, each meeting twice as many
    for _ in range(steps - 1):
        if abs(np.log(found)) < NEAR_ENOUGH:
            break
        following = rate * float(np.clip(found ** (-1 / power), 0.1, 10.0))
        measured = load(following)
        slope = np.log(measured / found) / np.log(following / rate)
        power = float(np.clip(slope, 1.0, 8.0))
        rate, found = following, measured
    return Limit(float(rate * found ** (-1 / power)), power)
