"""Divides the processor: which arrivals probe.

The output is a sum of the effective rates, each times the combinations that one probe meets, and
the rates are bounded by one sum and by floors and caps: a linear program. With one row beside the
bounds its optimum needs no simplex: serve the streams in the order of what a probe of theirs meets,
each up to its cap. For two streams that is the paper's rule: probe the bigger window.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.allocation.dividing import Pot, in_order, pot
from windrow.allocation.loads import Load
from windrow.allocation.output import products_of_others


def rates_pot(loads: Sequence[Load], service_rate: float) -> Pot:
    """The probes that there are to divide."""
    return pot(
        "probes per unit of time",
        service_rate,
        [one.least_rate for one in loads],
        [one.rate for one in loads],
    )


def best_rates(divided: Pot, windows: Sequence[float], loads: Sequence[Load]) -> tuple[float, ...]:
    """The effective rates that give the most results over these windows; equals in their order."""
    others = products_of_others(windows)
    met = [load.meets * product for load, product in zip(loads, others, strict=True)]
    return in_order(divided, sorted(range(len(windows)), key=lambda stream: -met[stream]))
