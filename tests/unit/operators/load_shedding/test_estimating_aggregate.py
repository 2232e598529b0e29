"""Estimates are right in the mean, and their intervals hold what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases.estimates import ASKED, aggregate, combinations, marks, shown
from twins.shedding import population

from windrow.schema import MAX_TICK

pytestmark = pytest.mark.slow

RUNS = 400
NORMAL_95 = 2 * 1.96
WORKLOADS = {
    "memory short": {
        "tuples": (3_000, 3_000), "keys": 40, "window": 0.02,
        "kept": (0.4, 0.2), "probed": (1.0, 1.0),
    },
    "both short, skewed keys": {
        "tuples": (4_000, 2_000), "keys": 200, "window": 0.02, "skew": 0.8,
        "kept": (0.5, 0.7), "probed": (0.3, 0.6),
    },
    "three streams": {
        "tuples": (1_200, 1_200, 1_200), "keys": 24, "window": 0.02,
        "kept": (0.6, 0.8, 0.7), "probed": (0.5, 0.6, 1.0),
    },
}  # fmt: skip


def runs_of(whole):
    """Per aggregate the estimates, low and high ends of 400 runs: each seed is a group."""
    found = [whole.found(seed) for seed in range(RUNS)]
    rows = np.concatenate(found)
    seeds = np.repeat(np.arange(RUNS), [len(own) for own in found])
    operator = aggregate((("count", None), ("sum", "y"), ("avg", "y")), inputs=len(whole.members))
    batch = combinations(
        seeds,
        whole.values[rows],
        [own[rows] for own in whole.draws],
        [own[rows] for own in whole.chances],
        np.zeros(len(rows)),
        np.ones(len(rows)),
    )
    list(operator.push([batch]))
    made = np.array([row for _, _, row in shown(operator.advance(1))])
    assert len(made) == RUNS
    return {
        name: made[:, 3 * i + 1 : 3 * i + 4].T for i, name in enumerate(("count", "sum", "avg"))
    }


@pytest.mark.law
@pytest.mark.parametrize("name", WORKLOADS)
def test_intervals_hold_the_truth_and_are_no_wider_than_they_must_be(name):
    whole = population(list(WORKLOADS).index(name) + 1, **WORKLOADS[name])
    runs = runs_of(whole)
    for function, (truth, deviation) in whole.truths().items():
        values, lows, highs = runs[function]
        held = np.mean((lows <= truth) & (truth <= highs))
        widths = (highs - lows) / (NORMAL_95 * deviation)
        assert 0.93 <= held <= 0.98, f"{function}: the interval holds the truth in {held:.1%}"
        assert widths.max() <= 1.5, f"{function}: {widths.max():.2f} times as wide at most"
        assert abs(widths.mean() - 1) <= 0.05, f"{function}: {widths.mean():.2f} on average"
        assert abs(values.mean() - truth) < 4 * deviation / math.sqrt(RUNS), function


def test_a_join_that_sheds_nothing_is_answered_exactly():
    dice = np.random.default_rng(5)
    times = dice.integers(0, 50, 300)
    values = [None if n == 0 else n * 0.1 for n in dice.integers(0, 9, 300)]
    certain = [np.ones(300), np.ones(300)]
    rows = combinations(
        dice.integers(0, 4, 300), values, dice.integers(0, 20, (2, 300)), certain, times, times + 7
    )
    for is_keyed in (True, False):
        exact, estimated = (aggregate(inputs=n, is_keyed=is_keyed) for n in (0, 2))
        for operator in (exact, estimated):
            list(operator.push([rows]))
        keys = int(is_keyed)
        thrice = [
            (time, sign, (*row[:keys], *(value for value in row[keys:] for _ in range(3))))
            for time, sign, row in shown(exact.advance(MAX_TICK))
        ]
        assert shown(estimated.advance(MAX_TICK)) == thrice


def one_version(keys, values, draws, chances, asked=ASKED):
    operator = aggregate(asked, inputs=len(draws))
    rows = combinations(keys, values, draws, chances, np.zeros(len(keys)), np.ones(len(keys)))
    list(operator.push([rows]))
    (change,) = shown(operator.advance(1))
    return change[2][1:]


def test_the_variance_of_two_streams_by_hand():
    # Tuple 1 met 5 and 6, tuple 2 met 5; kept with 1/2, probed with 1/4: each stands for 8.
    draws, chances = [[1, 1, 2], [5, 6, 5]], [[0.5] * 3, [0.25] * 3]
    of_kept = (16**2 + 8**2) * 0.5
    of_probes = (16**2 + 8**2) * 0.75
    in_both = 3 * 8**2 * 0.5 * 0.75
    value, low, high = one_version([0] * 3, [1.0] * 3, draws, chances, (("sum", "y"),))
    assert value == 24
    # One degree of freedom counts as three, of which Student's quantile is expanded.
    margin = 3.0643 * math.sqrt(of_kept + of_probes - in_both)
    assert [value - low, high - value] == pytest.approx([margin, margin], rel=1e-4)


def test_a_chance_that_was_lowered_widens_the_interval():
    draws = [[1, 1], [5, 6]]
    level = one_version([0, 0], [1.0, 1.0], draws, [[0.5, 0.5], [1.0, 1.0]])
    lowered = one_version([0, 0], [1.0, 1.0], draws, [[0.5, 0.25], [1.0, 1.0]])
    assert lowered[0] == 2 + 4
    assert lowered[2] - lowered[1] > level[2] - level[1]


def test_without_a_value_nothing_is_known_of_it():
    made = one_version([0], [None], [[1], [2]], [[0.5], [1.0]])
    assert made[:2] == (2.0, 1.0)
    assert made[3:] == (0.0, 0.0, None, *(None,) * 6)


def test_the_one_group_without_keys_is_zero_for_sure_only_while_nothing_was_shed():
    operator = aggregate((("count", None),), is_keyed=False)
    chances = [[1.0, 0.5], [1.0, 1.0]]
    rows = combinations([0, 0], [1.0, 1.0], [[1, 2], [3, 4]], chances, [0, 5], [1, 6])
    list(operator.push([rows]))
    came = [row for _, sign, row in shown(operator.advance(MAX_TICK)) if sign > 0]
    assert [came[0], came[1], came[3]] == [(1, 1, 1), (0, 0, 0), (0, 0, None)]
    assert came[2][:2] == (2, 1)


@pytest.mark.parametrize("value", [math.inf, 1e200, 1e-200])
def test_values_that_cannot_be_squared_have_no_interval_while_they_are_there(value):
    operator = aggregate((("sum", "y"),))
    draws, chances = [[1, 2], [3, 4]], [[0.5, 0.5], [1.0, 1.0]]
    list(operator.push([combinations([0, 0], [value, 4.0], draws, chances, [1, 0], [3, 9])]))
    came = {time: row[1:] for time, sign, row in shown(operator.advance(5)) if sign > 0}
    alone = one_version([0], [4.0], [[2], [4]], [[0.5], [1.0]], (("sum", "y"),))
    assert came == {0: alone, 1: (2 * value + 8, None, None), 3: alone}


def test_values_that_have_gone_leave_no_trace():
    dice = np.random.default_rng(8)
    draws = np.stack([np.arange(40) // 4, np.arange(40) % 4])
    chances = [np.full(40, 0.3), np.full(40, 0.7)]
    is_zero = np.arange(40) % 3 == 0
    values = np.where(is_zero, 0.0, dice.lognormal(3.0, 2.0, 40))
    ends = np.where(is_zero, 99, dice.integers(1, 9, 40))
    operator = aggregate((("sum", "y"), ("avg", "y")))
    list(operator.push([combinations([0] * 40, values, draws, chances, np.zeros(40), ends)]))
    *_, (_, _, row) = shown(operator.advance(50))
    assert row == (0, *[0.0] * 6)


def test_averages_of_large_values_that_differ_little_keep_their_interval():
    dice = np.random.default_rng(3)
    draws = dice.integers(0, 20, (2, 200))
    small = dice.normal(0.0, 1.0, 200)
    chances = [np.full(200, 0.5), np.full(200, 0.25)]
    asked = (("avg", "y"),)
    near, far = (one_version([0] * 200, small + shift, draws, chances, asked) for shift in (0, 1e9))
    assert far[2] - far[1] == pytest.approx(near[2] - near[1], rel=1e-3)
    assert one_version([0] * 200, [7.7] * 200, draws, chances, asked) == (7.7, 7.7, 7.7)


@pytest.mark.parametrize("is_keyed", [True, False])
def test_what_was_found_for_sure_is_all_only_while_nothing_may_be_missing(is_keyed):
    operator = aggregate((("count", None), ("sum", "y"), ("avg", "y")), is_keyed=is_keyed)
    certain = [[1.0], [1.0]]
    list(operator.push([combinations([0], [4.0], [[1], [2]], certain, [0], [90])]))
    # Of the group nothing is found any more; spans that meet are one.
    list(operator.push([marks([(30, 50), (40, 60)])]))
    changes = [(time, sign, row[is_keyed:]) for time, sign, row in shown(operator.advance(100))]
    sure, unsure = (1, 1, 1, 4, 4, 4, 4, 4, 4), (1, 1, None, 4, None, None, 4, None, None)
    assert changes[:5] == [
        (0, 1, sure), (30, -1, sure), (30, 1, unsure), (60, -1, unsure), (60, 1, sure),
    ]  # fmt: skip
    assert changes[5] == (90, -1, sure)


def test_an_interval_that_tells_of_what_is_missing_stays_where_something_may_be():
    rows = combinations([0], [4.0], [[1], [2]], [[0.5], [1.0]], [0], [90])
    with_marks, without = (aggregate((("count", None), ("sum", "y"))) for _ in range(2))
    for operator in (with_marks, without):
        list(operator.push([rows]))
    list(with_marks.push([marks([(30, 50)])]))
    assert shown(with_marks.advance(100)) == shown(without.advance(100))


def test_marks_without_a_group_give_nothing():
    operator = aggregate()
    list(operator.push([marks([(30, 50)])]))
    assert not shown(operator.advance(40))
    assert not shown(operator.advance(MAX_TICK))
    assert operator.due() == MAX_TICK
