"""Arrivals that wait: of a pane that was thinned a random sample is left, by a chance that is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.load_shedding.arrivals import WaitingRows
from windrow.operators.load_shedding.draws import Losses
from windrow.schema import Schema

PANE, ROWS, SEEDS = 10, 60, 400


def rows(first: int, count: int) -> ChangeBatch:
    """Rows of the pane from 0 on, two at a time alike but for the columns that are not compared."""
    numbers = np.arange(first, first + count)
    columns = pa.record_batch({"k": pa.array(numbers // 2 % 5), "n": pa.array(numbers)})
    return ChangeBatch(columns, numbers % PANE)


def left_of(seed: int, *, stopped: bool = False) -> tuple[list[int], float, int]:
    """Which of three parts are left, thinned after each, by which chance, and of how many."""
    losses = Losses(Schema(()), 2)
    arrivals = WaitingRows([["k"], ["k"]], PANE, seed)
    for first in range(0, ROWS, 20):
        arrivals.take(0, rows(first, 20), losses)
        arrivals.settle()
        arrivals.thin(15, losses)
        assert arrivals.stored <= 15
        if stopped:
            kept = arrivals.snapshot()
            arrivals = WaitingRows([["k"], ["k"]], PANE, seed)
            arrivals.restore(*kept)
    assert arrivals.first == 0
    waited = arrivals.pop(0, 0)
    assert arrivals.stored == 0
    return waited.rows.columns.column("n").to_pylist(), waited.chance, waited.arrived


@pytest.mark.law
def test_what_is_left_is_a_uniform_sample_whenever_its_rows_came():
    times_left, weights = np.zeros(ROWS), np.zeros(ROWS)
    for seed in range(SEEDS):
        left, chance, arrived = left_of(seed)
        assert arrived == ROWS
        assert 0 < len(left) <= 15
        times_left[left] += 1
        weights[left] += 1 / chance
    share = times_left / SEEDS
    # Over seeds a row is left in a quarter of the cases, give or take 4.5 deviations.
    assert np.abs(share - 15 / ROWS).max() < 4.5 * np.sqrt(0.25 * 0.75 / SEEDS)
    by_part = share.reshape(3, 20).mean(axis=1)
    assert np.abs(by_part - 15 / ROWS).max() < 0.02
    # Each stands for 1 / its chance rows: in the mean, for one.
    assert weights.sum() / SEEDS == pytest.approx(ROWS, rel=0.02)


@pytest.mark.law
@pytest.mark.parametrize("seed", range(5))
def test_who_is_left_is_the_same_after_a_restart(seed):
    assert left_of(seed) == left_of(seed, stopped=True)


def test_a_pane_of_which_nothing_is_left_is_still_counted():
    losses = Losses(Schema(()), 2)
    arrivals = WaitingRows([["k"], ["k"]], PANE, 0)
    arrivals.take(1, rows(0, 20), losses)
    arrivals.settle()
    assert arrivals.thin(0, losses) == 20
    assert arrivals.first == 0
    assert arrivals.take(1, rows(20, 4), losses) == 4
    waited = arrivals.pop(1, 0)
    assert (waited.rows, waited.arrived, waited.chance) == (None, 24, 0.0)
