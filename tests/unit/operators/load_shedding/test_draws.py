"""Draws follow from rows and seed alone, and are as random as they should be."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.load_shedding.draws import Purpose, draws_of, row_words

ROWS = 20_000


def rows(count=ROWS):
    return [pa.array(np.arange(count) % 97)], np.arange(count) // 3


def draws(seed=7, stream=0, purpose=Purpose.keep):
    return draws_of(row_words(*rows()), seed, stream, purpose)


@pytest.mark.law
def test_a_draw_depends_on_the_row_not_on_its_place():
    (keys,), times = rows()
    order = np.random.default_rng(1).permutation(ROWS)
    shuffled = draws_of(row_words([keys.take(order)], times[order]), 7, 0, Purpose.keep)
    assert np.array_equal(shuffled, draws()[order])


@pytest.mark.law
def test_rows_of_other_instants_do_not_matter():
    (keys,), times = rows()
    half = draws_of(row_words([keys[: ROWS // 2]], times[: ROWS // 2]), 7, 0, Purpose.keep)
    assert np.array_equal(half, draws()[: ROWS // 2])


def test_equal_rows_are_drawn_apart():
    words = row_words([pa.array([5] * 1_000)], np.zeros(1_000, np.int64))
    assert len(np.unique(words)) == 1_000
    drawn = draws_of(words, 7, 0, Purpose.keep) < 0.3
    assert 250 < drawn.sum() < 350


def test_nulls_are_values_like_others():
    words = row_words([pa.array([None, 1, None], pa.int64())], np.zeros(3, np.int64))
    assert len(np.unique(words)) == 3


@pytest.mark.law
def test_draws_are_uniform():
    shares, _ = np.histogram(draws(), bins=20, range=(0, 1))
    chi_square = np.sum((shares - ROWS / 20) ** 2) / (ROWS / 20)
    assert chi_square < 43.8  # 19 degrees of freedom: exceeded once in a thousand


@pytest.mark.law
def test_seeds_streams_and_purposes_draw_independently():
    plain = draws()
    for other in (draws(seed=8), draws(seed=-7), draws(stream=1), draws(purpose=Purpose.probe)):
        assert abs(np.corrcoef(plain, other)[0, 1]) < 0.03


def test_no_rows_have_no_draws():
    words = row_words([pa.array([], pa.int64())], np.zeros(0, np.int64))
    assert len(draws_of(words, 1, 0, Purpose.keep)) == 0
