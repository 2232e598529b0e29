"""The recall that a join which sheds expects is the one that comes about, over many seeds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations as combinations_of
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from cases.shed_joins import WINDOW, node

from windrow.allocation.loads import Resources, StreamLoad, expected_recall
from windrow.allocation.strategies import allocate
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import Counters
from windrow.operators.load_shedding.control import Division
from windrow.operators.load_shedding.counted import Blocks, PaneRecall, TimeSpan
from windrow.operators.load_shedding.join import ShedJoinOp
from windrow.physical.load_shedding.limits import Shedding
from windrow.schema import MAX_TICK

pytestmark = pytest.mark.slow

SPAN, PARTS, KEYS, TIMES = 240, 31, 10, 4
"""One run of so many times the tuples tells as much as so many runs, and takes one run's panes."""

CASES = {
    "memory": ((8, 2), {"memory": 160}, 1),
    "memory by rates": ((8, 2), {"memory": 160, "strategy": "rates"}, 1),
    "little memory": ((8, 2), {"memory": 80, "strategy": "equal"}, 4),
    "processor": ((4, 8), {"service_rate": 3.0}, 1),
    "both": ((8, 4), {"memory": 320, "service_rate": 4.0}, 1),
    "three streams": ((4, 1, 2), {"memory": 160, "strategy": "equal"}, 1),
    "three streams, both":
        ((1, 2, 4), {"memory": 300, "strategy": "inverse", "service_rate": 3.0}, 1),
}  # fmt: skip
"""Rates, what there is, and in how many runs: several of few tuples, or one of as many."""

TIED = {
    "an instant, processor": (0, 1, {"service_rate": 24.0}, 0.72),
    "an instant, memory": (0, 1, {"memory": 40}, 0.97),
    "two days, processor": (1, 1, {"service_rate": 24.0}, 0.49),
    "two days, both": (1, 1, {"memory": 80, "service_rate": 32.0}, 0.60),
    "four days, memory": (3, 1, {"memory": 160}, 0.65),
    "two seconds of 50 ticks": (100, 50, {"service_rate": 0.48}, 0.45),
}
"""Window, ticks between instants, what there is, and the share that the right division finds."""


@cache
def drawn(rates, seed, span=SPAN, apart=1, keys=KEYS):
    """Streams of random tuples in the order of time, at instants that are so far apart."""
    dice = np.random.default_rng(seed)
    made = []
    for name, rate in zip("abc", rates, strict=False):
        many = int(rate * span)
        columns = {
            f"{name}.k": pa.array(dice.integers(0, keys, many)),
            f"{name}.v": pa.array(np.arange(many)),
        }
        times = np.sort(dice.integers(0, span, many)) * apart
        made.append(ChangeBatch(pa.record_batch(columns), times))
    return tuple(made)


@cache
def combinations(rates, seed, span=SPAN, apart=1, keys=KEYS, window=WINDOW):
    """How many there are, by comparing all with all of a key."""
    streams, total = drawn(rates, seed, span, apart, keys), 0
    for key in range(keys):
        times = [own.times[own.columns.column(0).to_numpy() == key] for own in streams]
        are_near = [
            (np.abs(one[:, None] - other) <= window).astype(np.float32)
            for one, other in combinations_of(times, 2)
        ]
        if len(streams) == 2:
            total += are_near[0].sum()
        else:
            total += np.sum((are_near[0] @ are_near[2]) * are_near[1])
    return total


def run(operator, streams, span=SPAN, parts=PARTS):
    """Takes streams in parts that are no panes: arrivals wait, and take room from windows."""
    for low, high in pairwise(np.linspace(0, span, parts + 1).astype(int).tolist()):
        pushed = [
            own.take(np.flatnonzero((own.times >= low) & (own.times < high))) for own in streams
        ]
        list(operator.push(pushed))
        list(operator.advance(high if high < span else MAX_TICK))
        list(operator.settle())
    return operator.counters


def shares(rates, limits, runs=1, times=TIMES):
    """Which share of all combinations is found, and was to be, in so many runs of together so much."""
    found, expected = [], []
    times //= runs
    there_is = {name: limits[name] * times for name in limits if name != "strategy"}
    rates = tuple(rate * times for rate in rates)
    for seed in range(runs):
        drawn_by = rates, seed, SPAN, 1, KEYS * times
        operator = ShedJoinOp(
            replace(node(len(rates)), shedding=Shedding(seed=seed, **{**limits, **there_is}))
        )
        counted = run(operator, drawn(*drawn_by))
        found.append(counted.shed_found / combinations(*drawn_by))
        expected.append(counted.shed_expected / counted.shed_estimated)
    return np.mean(found), np.mean(expected)


@pytest.mark.law
@pytest.mark.parametrize("case", CASES)
def test_the_recall_that_is_expected_comes_about(case):
    found, expected = shares(*CASES[case])
    assert found < 0.8
    assert expected == pytest.approx(found, rel=0.03)


@pytest.mark.parametrize(
    ("rates", "least"), [((4, 4), 0.9), ((8, 2), 0.9), ((8, 4), 0.9), ((4, 1, 2), 0.85)]
)
def test_half_of_the_memory_finds_what_the_best_division_of_it_would(rates, least):
    # Though arrivals wait and take room, and at equal rates the slower stream is another by chance.
    memory = sum(rates) * WINDOW // 2
    loads = [StreamLoad(rate, rate * WINDOW) for rate in rates]
    best = expected_recall(loads, allocate(loads, Resources(memory)))
    found = {
        strategy: shares(rates, {"memory": memory, "strategy": strategy})[0]
        for strategy in ("best", "equal")
    }
    assert found["best"] > least * best
    assert found["best"] > 0.99 * found["equal"]


@pytest.mark.parametrize("case", TIED)
def test_recall_is_right_where_most_tuples_share_their_instants(case):
    # Tuples of 40 instants. Those of b come after those of a at the same one, and find more.
    window, apart, limits, share = TIED[case]
    told = []
    for seed in range(3):
        drawn_by = (32, 32), seed, 40, apart, 2 * KEYS
        operator = ShedJoinOp(replace(node(window=window), shedding=Shedding(seed=seed, **limits)))
        own = run(operator, drawn(*drawn_by), 40 * apart, 11)
        told.append((own.shed_found / combinations(*drawn_by, window),
                     1_000 * own.shed_found / own.shed_estimated,
                     own.shed_expected / own.shed_estimated))  # fmt: skip
    found, estimated, expected = np.mean(told, axis=0)
    assert found == pytest.approx(share, rel=0.05)
    assert expected == pytest.approx(found, rel=0.03)
    assert estimated == pytest.approx(found, rel=0.05)


def test_the_only_instant_is_probed_with_the_stream_that_comes_last():
    operator = ShedJoinOp(replace(node(), shedding=Shedding(service_rate=0.1)))
    list(operator.push(drawn((40, 40), 0, 1)))
    list(operator.advance(MAX_TICK))
    # Eight tokens, of 80 arrivals.
    assert operator.counters.shed_found == pytest.approx(
        8 / 40 * combinations((40, 40), 0, 1), rel=0.3
    )


def test_recall_is_right_where_panes_have_few_tuples_and_few_of_them_could_wait():
    # Four tuples per pane, of which 25 panes wait; memory has room for a third of them.
    told = []
    for seed in range(40):
        operator = ShedJoinOp(replace(node(), shedding=Shedding(seed=seed, memory=32)))
        list(operator.push(drawn((0.2, 0.2), seed)))
        list(operator.settle())
        list(operator.advance(MAX_TICK))
        own = operator.counters
        told.append((own.shed_found, own.shed_estimated / 1_000, own.shed_expected / 1_000,
                     combinations((0.2, 0.2), seed)))  # fmt: skip
    found, estimated, expected, there_are = np.sum(told, axis=0)
    assert found < 0.3 * there_are
    assert estimated == pytest.approx(there_are, rel=0.1)
    assert expected == pytest.approx(found, rel=0.1)


def test_panes_without_a_probe_count_with_the_others():
    # About every other pane has one probe, of 160 arrivals.
    found, expected = shares((8, 8), {"service_rate": 0.06}, TIMES)
    assert expected == pytest.approx(found, rel=0.1)


@pytest.mark.parametrize("matching", [0.02, 0.5])
def test_panes_that_find_more_by_chance_do_not_count_for_more(matching):
    # Of 20 arrivals a few probe a window of 40 tuples, of which some are kept: other ones per pane.
    dice = np.random.default_rng(1)
    recall, counters, reached = PaneRecall(node()), Counters(), 0
    nothing, pane = Blocks(np.zeros(0), np.zeros(0), np.zeros((3, 0))), TimeSpan(0, 9)
    for _ in range(2_000):
        probes, kept = dice.integers(1, 20), dice.integers(1, 40)
        window = Blocks(np.array([-50.0]), np.array([-40.0]), np.array([[40.0], [40.0], [kept]]))
        found = dice.binomial(probes * kept, matching)
        recall.found(0, np.full((1, found), probes * kept / 800))
        division = Division((20, 0), (probes, 0), (0, kept), (pane, pane))
        recall.count(counters, division, (True, True), (nothing, window))
        reached += probes * kept
    whole = 2_000 * 20 * 40
    assert counters.shed_estimated / 1_000 == pytest.approx(whole * matching, rel=0.04)
    assert counters.shed_expected / counters.shed_estimated == pytest.approx(
        reached / whole, rel=0.02
    )
