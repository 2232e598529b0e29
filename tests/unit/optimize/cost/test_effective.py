"""What is left of a workload decides the structures."""

from __future__ import annotations

from windrow.allocation.loads import Allocation, Resources, StreamLoad
from windrow.allocation.strategies import allocate
from windrow.optimize.cost.structures import Direction, Sizes, Structure
from windrow.optimize.load_shedding.expected import effective_directions
from windrow_papers.cost.combinations import PAPER, cheapest


def test_arrivals_that_do_not_probe_are_still_kept():
    streams = [StreamLoad(10, 100), StreamLoad(50, 200)]
    into_a, into_b = effective_directions(streams, Allocation((0, 50), (60, 200)))
    assert into_a == Direction(60, probes=50, arrivals=6)
    assert into_b == Direction(200, probes=0, arrivals=50)


def test_an_empty_window_loses_nothing():
    into_a, _ = effective_directions(
        [StreamLoad(10, 0), StreamLoad(50, 200)], Allocation((10, 50), (0, 200))
    )
    assert into_a == Direction(0, probes=50, arrivals=10)


def test_a_window_that_nobody_probes_any_more_is_a_buffer():
    streams = [StreamLoad(500, 5_000), StreamLoad(500, 8_000)]
    found = allocate(streams, Resources(service_rate=300))
    assert found.rates == (300, 0)
    into_a, into_b = effective_directions(streams, found)
    assert cheapest(into_a, PAPER, Sizes()) is Structure.buffer
    assert cheapest(into_b, PAPER, Sizes()) is Structure.hash
