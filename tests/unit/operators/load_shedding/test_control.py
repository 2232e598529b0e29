"""What each input gets, pane by pane: never more than there is, everything where that suffices."""

from __future__ import annotations

from dataclasses import replace

import pytest
from case_share import share_of
from cases.shed_joins import WINDOW, node
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.errors import DataError
from windrow.operators.load_shedding.control import Control
from windrow.operators.load_shedding.counted import TimeSpan
from windrow.physical.load_shedding.limits import (
    STRATEGIES,
    Least,
    Shedding,
    block_panes,
    counted_ticks,
)

PANE = WINDOW // 8
COUNTS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=30)
LIMITS = st.builds(
    Shedding,
    memory=st.none() | st.integers(2, 300).map(float),
    service_rate=st.none() | st.floats(0.001, 8),
    strategy=st.sampled_from(STRATEGIES),
    least_windows=st.just((Least(0.1, is_share=True),) * 2) | st.just(()),
    least_rates=st.just((Least(0.1, is_share=True),) * 2) | st.just(()),
    is_estimated=st.booleans(),
)


@pytest.mark.law
@settings(max_examples=share_of(100), deadline=None, derandomize=True)
@given(LIMITS, COUNTS)
def test_no_more_is_given_than_there_is_over_any_span(limit, panes):
    control = Control(node(), limit)
    probed = []
    for number, arrived in enumerate(panes):
        given_ = control.divide(number, arrived, 1)
        full = control.counted.full
        assert all(0 <= n <= own for n, own in zip(given_.probes, arrived, strict=True))
        assert all(0 <= n <= own for n, own in zip(given_.windows, full, strict=True))
        assert limit.memory is None or sum(given_.windows) <= limit.memory
        if limit.memory is None or sum(full) <= limit.memory:
            assert given_.windows == full
        probed.append(sum(given_.probes))
        if limit.service_rate is not None:
            for first in range(len(probed)):
                span = (len(probed) - first) * PANE
                saved = max(limit.service_rate * WINDOW, 2)
                assert sum(probed[first:]) <= limit.service_rate * span + saved + 1e-6


@pytest.mark.law
@settings(max_examples=share_of(50), deadline=None, derandomize=True)
@given(LIMITS, COUNTS)
def test_who_is_restored_goes_on_as_if_it_had_never_stopped(limit, panes):
    control, resumed = Control(node(), limit), Control(node(), limit)
    for number, arrived in enumerate(panes):
        before, resumed = resumed, Control(node(), limit)
        resumed.restore(before.snapshot())
        assert resumed.divide(number, arrived, 1) == control.divide(number, arrived, 1)


def test_a_burst_that_a_lull_makes_up_for_is_probed_with_in_full():
    control = Control(node(), Shedding(service_rate=1.0))
    assert control.divide(0, (40, 40), 1).probes == (40, 40)
    # All tokens are gone: what comes in one pane are those of its length.
    assert sum(control.divide(1, (40, 40), 1).probes) == PANE
    # Eight panes later there is a window's worth again.
    assert control.divide(9, (40, 40), 1).probes == (40, 40)


@pytest.mark.parametrize(
    ("strategy", "windows"),
    [("best", (100, 0)), ("equal", (50, 50)), ("rates", (20, 80)), ("inverse", (80, 20))],
)
def test_windows_are_divided_by_the_strategy(strategy, windows):
    control = Control(node(), Shedding(memory=100.0, strategy=strategy))
    for number in range(8):
        control.divide(number, (20, 80), 1)
    assert control.divide(8, (20, 80), 1).windows == windows


def test_memory_in_bytes_holds_as_many_tuples_as_fit():
    control = Control(node(), Shedding(memory=1_000.0, is_in_bytes=True, strategy="equal"))
    assert control.divide(0, (20, 20), 100).windows == (5, 5)


def test_where_totals_are_estimated_every_input_probes():
    limit = Shedding(service_rate=0.3, least_rates=(Least(0.1, is_share=True),) * 2,
                     is_estimated=True)  # fmt: skip
    control = Control(node(), limit)
    shares = [control.divide(number, (50, 50), 1).probes for number in range(20)]
    assert all(min(probes) >= 1 for probes in shares)
    assert sum(map(sum, shares)) <= 0.3 * (20 * PANE + WINDOW)
    # Eight of each where there are so many.
    plenty = replace(limit, service_rate=3.0)
    assert Control(node(), plenty).divide(0, (500, 500), 1).probes == (24, 216)
    least = replace(plenty, least_rates=())
    assert Control(node(), least).divide(0, (500, 500), 1).probes == (8, 232)


@pytest.mark.parametrize("may_skip", [True, False])
def test_slow_streams_all_probe_where_a_window_brings_less_than_a_token(may_skip):
    control = Control(node(), Shedding(service_rate=0.01, may_skip=may_skip))
    # Two tuples in 400 ticks, for which there are four tokens.
    for first in range(0, 400, 40):
        assert control.divide(first, (1, 0), 1).probes == (1, 0)
        assert control.divide(first + 1, (0, 1), 1).probes == (0, 1)


@pytest.mark.law
@pytest.mark.parametrize(("retention", "pane"), [(80, 10), (100, 12), (7, 1), (5_000, 12), (0, 1)])
def test_what_is_counted_is_no_more_than_what_explain_takes_it_for(retention, pane):
    block = block_panes(retention, pane)
    counted = [
        (number + 1 - (number * pane - retention) // (pane * block) * block) * pane
        for number in range(200)
    ]
    assert max(counted) == counted_ticks(retention, pane)


def test_a_rate_that_must_not_be_exceeded_is_told():
    control = Control(node(), Shedding(service_rate=2.0, may_skip=False))
    control.divide(0, (80, 80), 1)
    with pytest.raises(DataError) as caught:
        control.divide(1, (15, 15), 1)
    assert str(caught.value) == (
        "DataError[service-rate-exceeded]: the streams bring 30 tuples within 10 ticks, and the "
        "service rate of 2 per tick has 20 probes left for them\n"
        "  in the join of a, b; probes of a lull are saved up, a window's worth or one per stream\n"
        "  hint: raise service_rate, or set on_service_rate to 'shed' for a part of the answer"
    )


@pytest.mark.parametrize(("window", "probes"), [(0, (0, 20)), (1, (0, 20)), (80, (20, 0))])
def test_probes_go_to_the_stream_that_comes_last_of_its_instants_where_that_finds_more(
    window, probes
):
    # Windows of few ticks: of an instant those of the second input come last. Where its tuples are
    # the first of their pane, those of the other meet more.
    control = Control(node(window=window), Shedding(service_rate=20.0 if window < 2 else 2.0))
    pane = 1 if window < 2 else PANE
    for number in range(10):
        start = number * pane
        spans = [TimeSpan(start + pane - 1, start + pane - 1), TimeSpan(start, start)]
        given_ = control.divide(number, (20, 20), 1, spans=spans)
    assert given_.probes == probes


def test_rates_that_are_equal_but_for_chance_do_not_change_who_is_kept():
    control = Control(node(), Shedding(memory=100.0))
    panes = [(20, 22), (22, 20)] * 20
    windows = [control.divide(at, arrived, 1).windows for at, arrived in enumerate(panes)]
    assert len(set(windows[10:])) == 1
    # A rate that has clearly changed does.
    for number in range(40, 60):
        after = control.divide(number, (60, 20), 1).windows
    assert after == (0, 100)
