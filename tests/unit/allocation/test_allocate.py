"""The best allocation is that of a grid search, for two streams that of the paper."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from windrow.allocation.loads import (
    Allocation,
    AllocationError,
    Case,
    Resources,
    StreamLoad,
    case_of,
    expected_recall,
    output_rate,
)
from windrow.allocation.strategies import allocate

STEPS = {2: 60, 3: 30, 4: 12}
"""How finely the grid divides what each stream may have, by number of streams."""

NEAR = {2: 1.0001, 3: 1.01, 4: 1.05}
"""How far above the best on the grid the best of all may lie: the grid is coarse, and not blind."""


def divisions(amount, floors, caps):
    """Divisions on a grid, a row each: all streams but one have grid values, that one the rest."""
    streams, found = len(caps), []
    axes = [
        np.linspace(low, high, STEPS[streams] + 1) for low, high in zip(floors, caps, strict=True)
    ]
    for rest in range(streams):
        others = [axes[at] for at in range(streams) if at != rest]
        shares = np.stack(np.meshgrid(*others, indexing="ij"), axis=-1).reshape(-1, streams - 1)
        shares = np.insert(shares, rest, amount - shares.sum(axis=1), axis=1)
        fits = (shares[:, rest] >= floors[rest]) & (shares[:, rest] <= caps[rest])
        found.append(shares[fits])
    return np.concatenate(found)


def best_on_grid(loads, resources):
    rates, windows, meets = np.array([(own.rate, own.window, own.meets) for own in loads]).T[
        :, None
    ]
    case = case_of(loads, resources)
    if case in (Case.processor, Case.both):
        least = [one.least_rate for one in loads]
        rates = divisions(resources.service_rate, least, rates[0])
        rates = rates[:: max(1, len(rates) // 2_000)]
    if case in (Case.memory, Case.both):
        least = [one.least_window for one in loads]
        windows = divisions(resources.memory, least, windows[0])
    streams = range(len(loads))
    met = np.stack([np.delete(windows, at, axis=1).prod(axis=1) for at in streams], axis=1)
    return (rates * meets @ met.T).max()


def drawn(streams, seed, *, with_minima):
    """Streams; of some draws a probe of the one meets more than one of the other, or nothing."""
    dice = random.Random(seed)
    loads = []
    for _ in range(streams):
        rate, window = dice.uniform(1, 100), dice.uniform(10, 1_000)
        least = (rate * 0.1, window * 0.1) if with_minima else (0.0, 0.0)
        meets = dice.choice((0.0, dice.random(), 1.0)) if seed else 1.0
        loads.append(StreamLoad(rate, window, *least, meets=meets))
    service_rate = sum(one.rate for one in loads) * dice.uniform(0.2, 0.9)
    memory = sum(one.window for one in loads) * dice.uniform(0.2, 0.9)
    return loads, service_rate, memory


def check_within(loads, resources, allocation):
    """Nobody gets more than it can use or less than it requires, and no more than there is."""
    for one, rate, window in zip(loads, allocation.rates, allocation.windows, strict=True):
        assert one.least_rate - 1e-9 <= rate <= one.rate
        assert one.least_window - 1e-9 <= window <= one.window
    if resources.service_rate is not None:
        assert sum(allocation.rates) <= resources.service_rate * (1 + 1e-9)
    if resources.memory is not None:
        assert sum(allocation.windows) <= resources.memory * (1 + 1e-9)


@pytest.mark.parametrize("streams", [2, 3, 4])
@pytest.mark.parametrize("short", ["processor", "memory", "both"])
@pytest.mark.parametrize("with_minima", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_no_division_on_a_grid_gives_more(streams, short, with_minima, seed):
    loads, service_rate, memory = drawn(streams, seed, with_minima=with_minima)
    resources = Resources(
        memory=None if short == "processor" else memory,
        service_rate=None if short == "memory" else service_rate,
    )
    found = allocate(loads, resources)
    check_within(loads, resources, found)
    best = best_on_grid(loads, resources)
    found_then = output_rate(found, loads=loads)
    assert found_then >= best * (1 - 1e-9)
    assert found_then <= best * (NEAR[streams] if short != "both" else 1.1)


@pytest.mark.parametrize("streams", [3, 4, 6])
@pytest.mark.parametrize("seed", range(5))
def test_no_small_exchange_of_memory_gains(streams, seed):
    loads, _, memory = drawn(streams, seed, with_minima=True)
    found = allocate(loads, Resources(memory=memory))
    output = output_rate(found, loads=loads)
    for giver, taker in itertools.permutations(range(streams), 2):
        windows = list(found.windows)
        step = min(
            memory * 1e-4,
            windows[giver] - loads[giver].least_window,
            loads[taker].window - windows[taker],
        )
        windows[giver] -= step
        windows[taker] += step
        changed = Allocation(found.rates, tuple(windows))
        assert output_rate(changed, loads=loads) <= output * (1 + 1e-9)


def test_what_fits_is_given_whole():
    loads = [StreamLoad(10, 100), StreamLoad(20, 50)]
    resources = Resources(memory=150, service_rate=30)
    assert case_of(loads, resources) is Case.nothing
    assert allocate(loads, resources) == Allocation((10, 20), (100, 50))
    assert allocate(loads, Resources()) == Allocation((10, 20), (100, 50))


@pytest.mark.parametrize(
    ("resources", "case"),
    [
        (Resources(service_rate=29), Case.processor),
        (Resources(memory=149), Case.memory),
        (Resources(memory=149, service_rate=29), Case.both),
        (Resources(memory=149, service_rate=30), Case.memory),
    ],
)
def test_the_four_cases_are_told_apart(resources, case):
    assert case_of([StreamLoad(10, 100), StreamLoad(20, 50)], resources) is case


def test_a_short_processor_probes_the_bigger_window():
    loads = [StreamLoad(200, 500), StreamLoad(300, 1_000)]
    assert allocate(loads, Resources(service_rate=100)).rates == (100, 0)
    assert allocate(loads[::-1], Resources(service_rate=100)).rates == (0, 100)


def test_what_the_favored_stream_cannot_use_goes_to_the_other():
    loads = [StreamLoad(60, 500), StreamLoad(300, 1_000)]
    assert allocate(loads, Resources(service_rate=100)).rates == (60, 40)


def test_the_minimum_of_the_papers_example_is_kept():
    loads = [StreamLoad(200, 500, least_rate=10), StreamLoad(300, 1_000, least_rate=10)]
    assert allocate(loads, Resources(service_rate=100)).rates == (90, 10)


def test_short_memory_keeps_the_slower_stream():
    loads = [StreamLoad(10, 1_000), StreamLoad(50, 1_000)]
    assert allocate(loads, Resources(memory=1_000)).windows == (1_000, 0)
    least = [StreamLoad(10, 1_000, least_window=100), StreamLoad(50, 1_000, least_window=100)]
    assert allocate(least, Resources(memory=1_000)).windows == (900, 100)


def test_when_both_are_short_one_stream_probes_and_the_other_is_kept():
    loads = [StreamLoad(20, 100), StreamLoad(20, 100)]
    found = allocate(loads, Resources(memory=100, service_rate=10))
    assert found == Allocation((10, 0), (0, 100))
    assert output_rate(found, 0.01) == pytest.approx(10)  # sigma * mu * M: none can give more


def test_the_recall_is_the_share_that_is_kept_times_the_share_that_probes():
    loads = [StreamLoad(10, 100), StreamLoad(20, 50)]
    # A to B: 10 * 50 = 500; B to A: 20 * 100 = 2000.
    found = Allocation(rates=(5, 20), windows=(25, 50))
    expected = (500 * (5 / 10) * (50 / 50) + 2_000 * (20 / 20) * (25 / 100)) / 2_500
    assert expected_recall(loads, found) == pytest.approx(expected)
    assert expected_recall(loads, allocate(loads, Resources())) == 1.0


def test_a_join_without_results_loses_none():
    assert (
        expected_recall([StreamLoad(0, 100), StreamLoad(0, 100)], Allocation((0, 0), (0, 0))) == 1.0
    )


def test_nothing_at_all_can_be_divided():
    loads = [StreamLoad(10, 100), StreamLoad(20, 50), StreamLoad(5, 5)]
    assert allocate(loads, Resources(memory=0, service_rate=0)) == Allocation((0,) * 3, (0,) * 3)


def test_minima_beyond_what_there_is_are_refused():
    loads = [StreamLoad(200, 500, least_rate=60), StreamLoad(300, 1_000, least_rate=60)]
    with pytest.raises(AllocationError) as raised:
        allocate(loads, Resources(service_rate=100))
    assert str(raised.value) == (
        "AllocationError[least-too-much]: the streams require 120 probes per unit of time at "
        "least, and there are 100\n"
        "  every stream gets its minimum before anything else is divided\n"
        "  hint: lower the minima of some streams, or allow more"
    )


def test_a_minimum_beyond_the_stream_itself_is_all_of_it():
    loads = [StreamLoad(5, 500, least_rate=50), StreamLoad(300, 1_000)]
    assert allocate(loads, Resources(service_rate=40)).rates == (5, 35)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: StreamLoad(-1, 10),
            "AllocationError[bad-allocation-number]: rate is -1\n  hint: it must be 0 or more",
        ),
        (
            lambda: StreamLoad(1, float("inf")),
            "AllocationError[bad-allocation-number]: window is inf\n  hint: it must be 0 or more",
        ),
        (
            lambda: Resources(service_rate=-5),
            "AllocationError[bad-allocation-number]: service rate is -5\n"
            "  hint: it must be 0 or more",
        ),
    ],
)
def test_numbers_that_cannot_be_are_refused(make, message):
    with pytest.raises(AllocationError) as raised:
        make()
    assert str(raised.value) == message
