"""How many results a join gives per unit of time."""

from __future__ import annotations

import math

from windrow.optimize.cost.structures import CostError
from windrow_papers.cost.combinations import Workload


def output_rate(workload: Workload, selectivity: float) -> float:
    """Equation 12: each arrival meets the other window, and a share of it matches.

    Examples:
        >>> output_rate(Workload(rate_a=800, rate_b=200, window_a=100, window_b=200), 0.01)
        1800.0
    """
    if not (math.isfinite(selectivity) and 0 <= selectivity <= 1):
        raise CostError.bad_number("the selectivity", selectivity, "between 0 and 1")
    meetings = workload.rate_a * workload.window_b + workload.rate_b * workload.window_a
    return selectivity * meetings


def selectivity_of_keys(keys_a: float, keys_b: float) -> float:
    """The share of pairs that match: one in as many as the window with more keys has of them.

    Examples:
        >>> selectivity_of_keys(200, 100)
        0.005
    """
    for name, keys in (("keys of A", keys_a), ("keys of B", keys_b)):
        if not (math.isfinite(keys) and keys >= 1):
            raise CostError.bad_number(f"the number of {name}", keys, "1 or more")
    return min(1 / keys_a, 1 / keys_b)
