"""Contestants are run in slices, and what they did is added up."""

from __future__ import annotations

import numpy as np
import pytest
from unit.experiments.standing_in import EVERY_PAIR

from windrow.experiments.board import TOUCHED, WORK, Board
from windrow.experiments.contest import (
    BEW,
    BEW_GRAPH,
    BEW_HASH,
    CLOSURE,
    FEW,
    FEW_HASH,
    GCA,
    HW,
    LCA,
    NLW,
    RIPPLE,
    XJOIN,
    count,
    joined,
    measure,
    uniform,
)
from windrow.experiments.turns import turn_by_turn
from windrow.experiments.workloads.streams import SECOND, Streams
from windrow.experiments.workloads.synthetic import synthetic
from windrow.plan.windows import Bound

TWO = synthetic([40, 30], values=3, seconds=3, seed=5)
WINDOW = SECOND // 2
SWEEPS = (FEW, FEW_HASH, GCA, LCA)
ON_ARRIVAL = (BEW, BEW_HASH, NLW, HW, XJOIN, RIPPLE, CLOSURE, BEW_GRAPH)


def pairs_by_brute_force(streams: Streams, window: int) -> int:
    near = abs(streams.times[0][:, None] - streams.times[1][None, :]) <= window
    return int((near & (streams.keys[0][:, None] == streams.keys[1][None, :])).sum())


def test_a_run_is_cut_into_slices_whose_counts_add_up():
    whole = measure(EVERY_PAIR, uniform(2, WINDOW), TWO, TWO.live(), every=10_000)
    sliced = measure(EVERY_PAIR, uniform(2, WINDOW), TWO, TWO.live(), every=50)
    assert len(whole.inputs) == 1
    assert sliced.inputs[:-1].tolist() == [50] * (len(sliced.inputs) - 1)
    assert sliced.inputs.sum() == TWO.tuples
    assert np.array_equal(sliced.counts.sum(axis=0), whole.counts[0])


def test_a_slice_ends_at_the_mark():
    join = uniform(2, WINDOW)
    series = measure(EVERY_PAIR, join, TWO, TWO.live(), every=50, mark=70)
    assert series.inputs[:4].tolist() == [50, 20, 50, 50]
    counted = count(EVERY_PAIR, join, TWO, TWO.live(), every=50)
    assert np.array_equal(counted.counts.sum(axis=0), series.counts.sum(axis=0))
    assert series.inputs.sum() == TWO.tuples


def test_work_is_comparisons_and_look_ups():
    series = measure(EVERY_PAIR, uniform(2, WINDOW), TWO, TWO.live(), every=50)
    assert series.work.sum() == 2 * series.touched.sum() + TWO.tuples
    assert series.per_tuple(series.touched) == pytest.approx(series.touched.sum() / TWO.tuples)
    assert series.cost_s > 0


@pytest.mark.parametrize("algorithm", [EVERY_PAIR, *ON_ARRIVAL, *SWEEPS], ids=lambda a: a.name)
@pytest.mark.parametrize("order", ["live", "replayed"])
def test_every_contestant_finds_what_brute_force_finds(algorithm, order):
    turns = getattr(TWO, order)()
    is_ended = algorithm in SWEEPS
    series = measure(algorithm, uniform(2, WINDOW), TWO, turns, every=37, is_ended=is_ended)
    assert series.found == pairs_by_brute_force(TWO, WINDOW)


def test_windows_that_are_not_stated_are_implied():
    join = joined([Bound(0, 1, 5, 5), Bound(1, 2, 0, 7)], 3)
    assert join.closed.tolist() == [[0, 5, 12], [5, 0, 7], [5, 0, 0]]
    assert (join.stated < 10**9).tolist() == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]


def test_the_board_reads_cases_off_its_measurements():
    told: list[str] = []
    board = Board(told.append)
    board.run("two", (EVERY_PAIR, BEW), uniform(2, WINDOW), TWO, TWO.live(), every=50)
    assert told == [f"two: {name}, {TWO.tuples} tuples" for name in ("every pair", "bew")]
    case = board.versus("two", BEW, EVERY_PAIR, TOUCHED)
    assert case.large > case.small > 0
    assert board.figure("two", "bew", WORK) > 0
    assert [row[1] for row in board.table().rows] == ["every pair", "bew"]
    assert len(board.series_table().rows) == 2 * len(board.series("two", "bew").inputs)
    assert board.has("two")
    assert not board.has("three")


def test_on_arrival_a_tuple_is_joined_in_its_own_turn():
    turns = turn_by_turn(BEW_HASH, uniform(2, WINDOW), TWO)
    assert turns.done.tolist() == list(range(TWO.tuples))
    whole = measure(BEW_HASH, uniform(2, WINDOW), TWO, TWO.live())
    assert turns.units.sum() == whole.work.sum() + TWO.tuples


def test_a_sweep_joins_a_tuple_in_its_turn_or_in_a_later_one():
    turns = turn_by_turn(FEW_HASH, uniform(2, WINDOW), TWO)
    done = turns.done >= 0
    assert np.all(turns.done[done] >= np.flatnonzero(done))
    assert np.any(turns.done[done] > np.flatnonzero(done))
    assert done.mean() > 0.8
