"""How many results an allocation gives, and which share of all results that is.

The last tuple of a combination to arrive finds the others in their windows. With n streams

    output = selectivity * sum over i of  rate[i] * product over j != i of  window[j]

which is the paper's equation 12 for two. Where a window is a random part of the full one, and the
arrivals that probe are a random part of all, each combination is found with the probability that
its last tuple probes and its others were kept. So the same formula with the effective rates and the
kept windows is the expected output, and its ratio to the full one the expected recall.

Where a probe meets a share of those in the windows only, for what is of its own instant may count as
later, its rate counts with that share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from windrow.allocation.loads import Allocation, Load, everything


def output_rate(
    allocation: Allocation, selectivity: float = 1.0, loads: Sequence[Load] = ()
) -> float:
    """The expected results per unit of time.

    Args:
        allocation: what each stream gets.
        selectivity: the share of all combinations that match.
        loads: the streams, which know what a probe meets; none where it meets all.

    Examples:
        >>> output_rate(Allocation(rates=(100.0, 0.0), windows=(500.0, 1000.0)), 0.01)
        1000.0
    """
    rates = meeting_rates(loads, allocation.rates) if loads else allocation.rates
    others = products_of_others(allocation.windows)
    found: float = sum(map(mul, rates, others))
    return selectivity * found


def expected_recall(loads: Sequence[Load], allocation: Allocation) -> float:
    """The expected share of the results of the full join; 1 where that has none."""
    full = output_rate(everything(loads), loads=loads)
    return output_rate(allocation, loads=loads) / full if full > 0 else 1.0


def meeting_rates(loads: Sequence[Load], rates: Sequence[float]) -> list[float]:
    """Effective rates, each with the share of the others' combinations that a probe meets."""
    return [load.meets * rate for load, rate in zip(loads, rates, strict=True)]


def products_of_others(windows: Sequence[float]) -> list[float]:
    """For each stream, the combinations of tuples in the other streams' windows.

    Without a division, which an empty window would spoil.
    """
    return [math.prod(windows[:at]) * math.prod(windows[at + 1 :]) for at in range(len(windows))]
