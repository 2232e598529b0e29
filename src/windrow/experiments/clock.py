"""A simulated clock: a tuple waits until the operator is free, and the operator takes its time.

    arrives     a1   a2 a3            a4
    service     [--1--][---2---][-3-] [4]          -> time
    response    |=====|
                     |=========|        waiting and service together
                        |============|

What a tuple's service takes is counted work times a cost per unit of work, calibrated in the same
run. Rates that no present machine would call high saturate an operator once units cost more:
`slowed` says how much more than here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Seconds = NDArray[np.float64]

STEADY_AFTER = 0.4
"""The share of a run that fills the windows and is left out."""


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


def utilization(arrivals_s: Seconds, service_s: Seconds) -> float:
    """How much of the time the operator is busy once windows are full; above 1 no queue drains."""
    steady = int(len(arrivals_s) * STEADY_AFTER)
    span = arrivals_s[-1] - arrivals_s[steady]
    return float(service_s[steady:].sum() / span)


def saturation(load: Callable[[float], float], guess: float, *, steps: int = 8) -> float:
    """The rate at which the load reaches 1.

    Args:
        load: the utilization at a rate; it grows like a power of the rate, or nearly so.
        guess: where to begin.
        steps: how often the load is measured at most.
    """
    rate, found = guess, load(guess)
    power = 2.0  # nested loops: twice the rate is twice the tuples, each meeting twice as many
    for _ in range(steps - 1):
        if abs(np.log(found)) < 0.01:
            break
        following = rate * float(np.clip(found ** (-1 / power), 0.1, 10.0))
        measured = load(following)
        if following != rate and measured != found:
            power = float(np.clip(np.log(measured / found) / np.log(following / rate), 1.0, 8.0))
        rate, found = following, measured
    return float(rate * found ** (-1 / power))
