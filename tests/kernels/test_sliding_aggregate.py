"""A million slides leave no error behind."""

from __future__ import annotations

import math

import numpy as np
import pytest

from windrow.kernels import sliding_aggregate as kernels
from windrow.kernels.versions import OPENING, Events, versions_of

ROWS, WINDOW = 500_000, 1_000
BOTH = kernels.WantedResults(sum=True, mean=True)


def slides():
    """Rows one tick apart in one group, each alive for WINDOW ticks; then the versions."""
    times = np.arange(ROWS, dtype=np.int64)
    rows = np.arange(ROWS, dtype=np.int64)
    slots = np.zeros(ROWS, np.int64)
    return versions_of(
        Events(times, times + WINDOW, rows, slots, np.ones(ROWS, np.int8)), np.full(1, OPENING)
    )


def test_after_a_million_slides_every_double_is_still_the_exact_one():
    random = np.random.default_rng(7)
    print("seed 7")  # noqa: T201 - shown when the test fails
    values = random.standard_normal(ROWS) * 10.0 ** random.integers(-12, 13, ROWS)
    valid = np.ones(ROWS, np.bool_)
    limbs, counts = np.zeros((1, 66), np.int64), np.zeros((1, 4), np.int64)
    versions = slides()
    found = kernels.slide_doubles(
        versions, values, kernels.Counting(valid, valid), counts, limbs, 0, BOTH
    )
    assert len(versions.event_rows) == 2 * ROWS
    for version in [*range(0, len(versions.slots), 40_009), len(versions.slots) - 2]:
        time = int(versions.times[version])
        if version == 0:
            continue
        alive = values[max(0, time - WINDOW + 1) : min(time, ROWS - 1) + 1]
        assert found.counts[version] == len(alive)
        assert found.sums[version] == math.fsum(alive)
    assert found.sums[-1] == 0.0
    assert not limbs.any()
    assert not counts.any()


def test_a_nan_and_an_infinity_leave_no_trace():
    values = np.full(ROWS, 0.1)
    values[[10, 20_000, 300_000]] = [math.nan, math.inf, -math.inf]
    limbs, counts = np.zeros((1, 66), np.int64), np.zeros((1, 4), np.int64)
    versions = slides()
    valid = np.ones(ROWS, np.bool_)
    found = kernels.slide_doubles(
        versions, values, kernels.Counting(valid, valid), counts, limbs, 0, BOTH
    )
    strange = ~np.isfinite(found.sums)
    assert np.count_nonzero(strange) == 3 * WINDOW
    assert found.sums[versions.times == 100_000][0] == math.fsum([0.1] * WINDOW)
    assert not counts.any()


@pytest.mark.parametrize("kind", ["integers", "decimals"])
def test_after_a_million_slides_whole_numbers_are_still_exact(kind):
    random = np.random.default_rng(8)
    values = random.integers(-(2**52), 2**52, ROWS)
    valid = random.random(ROWS) < 0.9
    versions, counts = slides(), np.zeros(1, np.int64)
    if kind == "integers":
        limbs = np.zeros((1, 3), np.int64)
        found = kernels.slide_integers(
            versions, values, kernels.Counting(valid, valid), counts, limbs, BOTH
        )
        sums = found.sums
        assert found.fits.all()
    else:
        limbs = np.zeros((1, 5), np.int64)
        words = np.stack([values, values >> 63], axis=1)
        bound = np.array([0, 0, 0, 1 << 20], np.uint64)
        rules = kernels.DecimalRules(bound, bound, 10_000)
        found = kernels.slide_decimals(
            versions, words, kernels.Counting(valid, valid), counts, limbs, rules, BOTH
        )
        sums = found.sums[:, 0]
        assert np.array_equal(found.sums[:, 1], sums >> 63)
    totals = np.concatenate([[0], np.cumsum(np.where(valid, values, 0))])
    times = versions.times[1:]
    starts = np.clip(times - WINDOW + 1, 0, ROWS)
    assert np.array_equal(sums[1:], totals[np.clip(times + 1, 0, ROWS)] - totals[starts])
    assert not limbs.any()
