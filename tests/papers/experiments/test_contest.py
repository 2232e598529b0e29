"""Contestants are run in slices, and what they did is added up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases.standing_in import EVERY_PAIR, FORGETFUL, forgetful

from windrow.errors import InternalError
from windrow.kernels.tuple_at_a_time.tape import REFINED
from windrow.plan.windows import Bound
from windrow_papers.experiments.board import TOUCHED, WORK, Board
from windrow_papers.experiments.contest import (
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
from windrow_papers.experiments.experiment import Size
from windrow_papers.experiments.turns import turn_by_turn
from windrow_papers.experiments.wjoin import path, response, throughput
from windrow_papers.experiments.workloads.streams import SECOND, Streams
from windrow_papers.experiments.workloads.synthetic import synthetic

pytestmark = pytest.mark.slow

TWO = synthetic([40, 30], values=3, seconds=3, seed=5)
WINDOW = SECOND // 2
SWEEPS = (FEW, FEW_HASH, GCA, LCA)
ON_ARRIVAL = (BEW, BEW_HASH, NLW, HW, XJOIN, RIPPLE, CLOSURE, BEW_GRAPH)


def pairs_by_brute_force(streams: Streams, window: int) -> int:
    near = abs(streams.times[0][:, None] - streams.times[1][None, :]) <= window
    return int((near & (streams.keys[0][:, None] == streams.keys[1][None, :])).sum())


@pytest.mark.law
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


@pytest.mark.law
@pytest.mark.parametrize("algorithm", [EVERY_PAIR, *ON_ARRIVAL, *SWEEPS], ids=lambda a: a.name)
@pytest.mark.parametrize("order", ["live", "replayed"])
def test_every_contestant_finds_what_brute_force_finds(algorithm, order):
    turns = getattr(TWO, order)()
    series = measure(algorithm, uniform(2, WINDOW), TWO, turns, every=37)
    assert series.found == pairs_by_brute_force(TWO, WINDOW)


@pytest.mark.parametrize("algorithm", SWEEPS, ids=lambda a: a.name)
def test_what_a_sweep_does_when_streams_have_ended_is_measured_only_when_asked(algorithm):
    """The end belongs to the last slice, or to none; the results are all there either way."""
    join = uniform(2, WINDOW)
    lasting, ended = (
        measure(algorithm, join, TWO, TWO.live(), every=37, is_ended=is_ended)
        for is_ended in (False, True)
    )
    assert np.array_equal(lasting.counts[:-1], ended.counts[:-1])
    assert lasting.counts[-1].sum() < ended.counts[-1].sum()
    assert (lasting.given_late > 0, ended.given_late) == (True, 0)
    assert lasting.found == ended.found


def test_contestants_that_disagree_raise_and_nothing_is_published():
    board = Board(lambda _: None)
    with pytest.raises(InternalError, match=r"two: combinations given differ: bew \d"):
        board.run("two", (BEW, FORGETFUL), uniform(2, WINDOW), TWO, TWO.live())
    board = Board(lambda _: None)
    board.run("one", (BEW,), uniform(2, WINDOW), TWO, TWO.live())
    board.run("another", (FORGETFUL,), uniform(2, WINDOW), TWO, TWO.live())


def test_throughput_and_response_compare_no_algorithms_that_disagree(monkeypatch):
    method = replace(throughput.METHODS[0], few=FORGETFUL)
    with pytest.raises(InternalError, match="nested loop, 2 streams: combinations given differ"):
        throughput._cost_ratio(method, 2, 20.0)
    chosen = response.SIZES[Size.tiny]
    join = uniform(response.STREAMS, SECOND)
    monkeypatch.setattr(response, "BEW_HASH", replace(BEW_HASH, make=forgetful(BEW_HASH.make)))
    with pytest.raises(InternalError, match="calibrating: combinations given differ"):
        response._calibrated(chosen, join, lambda _: None)
    with pytest.raises(InternalError, match=r"0\.50 of the saturation: combinations given differ"):
        response._point(chosen, join, 0.5, (1.0, 1.0), lambda _: None)


@pytest.mark.law
def test_along_a_path_both_algorithms_find_what_follows_it_one_way_or_the_other():
    streams = synthetic([60.0] * 4, values=3, seconds=2, seed=3)
    board = Board(lambda _: None)
    path._measure(board, "small", streams, streams.live(), 50)
    expected = followed_paths(streams, path.WINDOW)
    assert expected > 20
    assert board.series("small", "nlw").found == expected
    assert board.series("small", "lca").found == expected
    refined = int(board.series("small", "lca").counts[:, REFINED].sum())
    assert refined > expected


def followed_paths(streams: Streams, window: int) -> int:
    """Combinations along the streams, and back, by plain loops."""
    rows = [
        list(zip(times.tolist(), keys.tolist(), strict=True))
        for times, keys in zip(streams.times, streams.keys, strict=True)
    ]

    def onward(time: int, key: int, rest: list[list[tuple[int, int]]]) -> int:
        if not rest:
            return 1
        steps = [at for at, own in rest[0] if own == key and 0 <= at - time <= window]
        return sum(onward(at, key, rest[1:]) for at in steps)

    return sum(onward(time, key, way[1:]) for way in (rows, rows[::-1]) for time, key in way[0])


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
