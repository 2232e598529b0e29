"""Estimates are right in the mean, and their intervals hold what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from twins.shedding import population

from windrow.operators.shedding.estimates import (
    Found,
    estimated_average,
    estimated_count,
    estimated_recall,
    estimated_sum,
    estimated_variance,
)

RUNS = 400
NORMAL_95 = 2 * 1.96
WORKLOADS = {
    "memory short": population(
        1, tuples=(3_000, 3_000), keys=40, window=0.02, kept=(0.4, 0.2), probed=(1.0, 1.0)
    ),
    "both short, skewed keys": population(
        2,
        tuples=(4_000, 2_000),
        keys=200,
        window=0.02,
        kept=(0.5, 0.7),
        probed=(0.3, 0.6),
        skew=0.8,
    ),
    "three streams": population(
        3,
        tuples=(1_200, 1_200, 1_200),
        keys=24,
        window=0.02,
        kept=(0.6, 0.8, 0.7),
        probed=(0.5, 0.6, 1.0),
    ),
}


def truths(whole):
    """Per aggregate: the true value, and the deviation of its estimate."""
    count, total = float(len(whole.values)), float(whole.values.sum())
    average = total / count
    ones = np.ones(len(whole.values))
    return {
        "count": (count, math.sqrt(whole.true_variance(ones))),
        "sum": (total, math.sqrt(whole.true_variance(whole.values))),
        "avg": (average, math.sqrt(whole.true_variance(whole.values - average)) / count),
    }


def estimates(whole, seed):
    found, values = whole.shed(seed)
    return {
        "count": estimated_count(found),
        "sum": estimated_sum(found, values),
        "avg": estimated_average(found, values),
    }


@pytest.mark.parametrize("name", WORKLOADS)
def test_intervals_hold_the_truth_and_are_no_wider_than_they_must_be(name):
    whole = WORKLOADS[name]
    runs = [estimates(whole, seed) for seed in range(RUNS)]
    for aggregate, (truth, deviation) in truths(whole).items():
        made = [run[aggregate] for run in runs]
        held = np.mean([one.low <= truth <= one.high for one in made])
        widths = np.array([one.width for one in made]) / (NORMAL_95 * deviation)
        assert 0.93 <= held <= 0.98, f"{aggregate}: the interval holds the truth in {held:.1%}"
        assert widths.mean() <= 1.1, f"{aggregate}: {widths.mean():.2f} times as wide on average"
        assert np.quantile(widths, 0.95) <= 1.5, f"{aggregate}: {np.quantile(widths, 0.95):.2f}"


@pytest.mark.parametrize("name", WORKLOADS)
def test_totals_and_their_variance_are_right_in_the_mean(name):
    whole = WORKLOADS[name]
    count, deviation = truths(whole)["count"]
    found = [whole.shed(seed)[0] for seed in range(RUNS)]
    mean = np.mean([estimated_count(one).value for one in found])
    assert abs(mean - count) < 4 * deviation / math.sqrt(RUNS)
    variances = [estimated_variance(one, np.ones(len(one))).value for one in found]
    assert np.mean(variances) == pytest.approx(deviation**2, rel=0.1)


def test_recall_is_what_was_found_of_what_there_is():
    whole = WORKLOADS["both short, skewed keys"]
    found, _ = whole.shed(1)
    assert estimated_recall(found) == pytest.approx(len(found) / len(whole.values), rel=0.15)


def test_a_join_that_sheds_nothing_is_certain():
    found = Found((np.array([1, 1, 2]), np.array([5, 6, 5])), (np.ones(3), np.ones(3)))
    values = np.array([1.0, 2.0, 6.0])
    made = [estimated_count(found), estimated_sum(found, values), estimated_average(found, values)]
    assert [(one.low, one.value, one.high) for one in made] == [(n, n, n) for n in (3.0, 9.0, 3.0)]
    assert estimated_recall(found) == 1


def test_the_variance_of_two_streams_by_hand():
    # Tuple 1 met 5 and 6, tuple 2 met 5; kept with 1/2, probed with 1/4: each stands for 8.
    found = Found((np.array([1, 1, 2]), np.array([5, 6, 5])), (np.full(3, 0.5), np.full(3, 0.25)))
    of_kept = (16**2 + 8**2) * 0.5
    of_probes = (16**2 + 8**2) * 0.75
    in_both = 3 * 8**2 * 0.5 * 0.75
    variance = estimated_variance(found, np.ones(3)).value
    assert variance == pytest.approx(of_kept + of_probes - in_both)


def test_a_chance_that_was_lowered_widens_the_interval():
    draws = (np.array([1, 1]), np.array([5, 6]))
    level = Found(draws, (np.array([0.5, 0.5]), np.ones(2)))
    lowered = Found(draws, (np.array([0.5, 0.25]), np.ones(2)))
    assert estimated_count(lowered).value == 2 + 4
    assert estimated_count(lowered).width > estimated_count(level).width


def test_without_a_combination_nothing_is_known():
    nothing = Found((np.zeros(0, np.int64),) * 2, (np.zeros(0),) * 2)
    values = np.zeros(0)
    assert estimated_count(nothing).low == 0
    for one in (
        estimated_count(nothing),
        estimated_sum(nothing, values),
        estimated_average(nothing, values),
    ):
        assert one.high == math.inf
    assert estimated_recall(nothing) == 1
