"""A million insertions and expirations: variances, extremes, medians, distinct values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from twins.aggregate import in_order, spread

from windrow.kernels import distinct_values, extremes, sliding_variance
from windrow.kernels.exact_sum import double_span
from windrow.kernels.ordered_values import COMPARED, NODE_CELLS, Texts
from windrow.kernels.versions import OPENING, Events, versions_of

ROWS, WINDOW = 500_000, 1_000
NO_TEXTS = Texts(np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(1, np.int64))
ALL_VALID = np.ones(ROWS, np.bool_)


@pytest.fixture(scope="module")
def versions():
    """Rows one tick apart in one group, each alive for WINDOW ticks."""
    times = np.arange(ROWS, dtype=np.int64)
    slots = np.zeros(ROWS, np.int64)
    events = Events(times, times + WINDOW, times.copy(), slots, np.ones(ROWS, np.int8))
    return versions_of(events, np.full(1, OPENING))


def sampled(versions, values):
    """Some versions, with the values alive in each."""
    for version in [*range(1, 40), *range(40, len(versions.slots), 40_009)]:
        time = int(versions.times[version])
        alive = values[max(0, time - WINDOW + 1) : min(time, ROWS - 1) + 1].tolist()
        if alive:
            yield version, alive


def variances(versions, values):
    low, high = double_span(values.view(np.int64), ALL_VALID)
    width = high + 1 - low
    sums = sliding_variance.Moments(
        np.zeros((1, width), np.int64), np.zeros((1, 2 * width + 1), np.int64), 32 * low
    )
    counts, asked = np.zeros((1, 4), np.int64), np.ones(4, np.bool_)
    found = sliding_variance.slide_variances(versions, values, ALL_VALID, counts, sums, asked)
    assert not counts.any()
    assert not sums.limbs.any()
    assert not sums.squares.any()
    return found


@pytest.mark.parametrize("kind", ["very different sizes", "a small spread on a large offset"])
def test_after_a_million_slides_every_variance_is_still_the_exact_one(versions, kind):
    random = np.random.default_rng(9)
    if kind == "very different sizes":
        values = random.standard_normal(ROWS) * 10.0 ** random.integers(-12, 13, ROWS)
    else:
        values = 2.0**52 + random.integers(0, 3, ROWS)
    counts, results = variances(versions, values)
    names = {"var_pop": 0, "var_samp": 1, "stddev_pop": 2, "stddev_samp": 3}
    for version, alive in sampled(versions, values):
        assert counts[version] == len(alive)
        for name, column in names.items():
            expected = spread(name, alive)
            assert expected is None or results[version, column] == expected, (version, name)


def test_a_variance_beyond_all_doubles_has_a_root_within_them(versions):
    _, results = variances(versions, np.where(np.arange(ROWS) % 2, 1e300, -1e300))
    assert results[5_000, sliding_variance.VAR_POP] == math.inf
    assert results[5_000, sliding_variance.STDDEV_POP] == 1e300
    _, results = variances(versions, np.where(np.arange(ROWS) % 2, 1e-300, -1e-300))
    assert results[5_000, sliding_variance.VAR_POP] == 0.0
    assert results[5_000, sliding_variance.STDDEV_POP] == 1e-300


def test_least_greatest_and_middle_values_are_those_of_a_sorted_list(versions):
    values = np.random.default_rng(10).integers(-400, 400, ROWS)
    coded = extremes.Coded(values, np.zeros(ROWS, np.int64), ALL_VALID, NO_TEXTS)
    meta, roots = np.zeros(3, np.int64), np.zeros(1, np.int64)
    nodes = np.zeros((0, NODE_CELLS), np.int64)
    asked = np.ones(4, np.bool_)
    picked, _ = extremes.slide_order(versions, coded, nodes, meta, roots, asked)
    assert picked.is_whole
    assert not roots.any()
    for version, alive in sampled(versions, values):
        middle = picked.words[version, 2:].mean()
        found = (picked.words[version, 0], picked.words[version, 1], middle)
        assert found == tuple(in_order(name, alive) for name in ("min", "max", "median"))
    for turn, column in ((1, 0), (-1, 1)):
        cells = np.zeros((0, extremes.CELL_PARTS), np.int64)
        meta, sides = np.zeros(3, np.int64), np.zeros((1, 2), np.int64)
        found, cells = extremes.slide_extremes(versions, coded, cells, meta, sides, WINDOW, turn)
        assert np.array_equal(found.valid, picked.counts > 0)
        assert np.array_equal(found.words, picked.words[:, column])
        # Each value is compared with those that it outdoes, and with one more.
        assert meta[COMPARED] <= 2 * ROWS
        assert len(cells) < 2 * WINDOW
        assert not sides.any()


def test_copies_count_once_until_the_last_one_goes(versions):
    words = np.random.default_rng(11).integers(0, 700, ROWS)
    cells, meta = np.zeros((0, distinct_values.CELL_PARTS), np.int64), np.zeros(2, np.int64)
    found, cells = distinct_values.distinct_versions(versions, words, ALL_VALID, cells, meta)
    assert found.is_whole
    counted = np.concatenate([[0], np.cumsum(found.versions.event_signs, dtype=np.int64)])
    for version, alive in sampled(versions, words):
        assert counted[found.versions.first_event[version + 1]] == len(set(alive))
    assert meta[distinct_values.USED] == 0
    assert len(cells) <= 4 * 700
    # Two events per row, and few cells beyond the first for each.
    assert meta[distinct_values.PROBES] < 4 * ROWS
