"""Each loop counts exactly what a plain twin of it does: claims are decided by counts."""

from __future__ import annotations

from functools import cache
from math import inf

import numpy as np
import pytest
from twins.join_work import (
    BewGraphTwin,
    BewHashTwin,
    Bounds,
    ClosureTwin,
    Input,
    LoopTwin,
    RippleTwin,
)
from twins.pipeline_work import FewTwin, PipelineTwin

from windrow.kernels.bew_period import MOST
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    FOUND,
    KEY_TESTS,
    PROBES,
    TIME_TESTS,
    TOUCHED,
    UPDATES,
    WINDOW_TESTS,
    Tape,
    TupleConditions,
)
from windrow_papers.kernels import runs
from windrow_papers.kernels.bew import BewNestedLoop
from windrow_papers.kernels.closure import Closure
from windrow_papers.kernels.loop_machine import order_by_keys
from windrow_papers.kernels.runs import run_few

pytestmark = pytest.mark.slow

CASES = range(12)
WINDOW = 9
CLEAN_EVERY = 7
JOINING = {PROBES, TOUCHED, WINDOW_TESTS, KEY_TESTS, DROPS, FOUND}
"""What every loop that tests windows counts."""


@cache
def given(number: int, *, is_uniform: bool) -> Input:
    """2 to 4 streams, ascending in time, live or polled in turn."""
    rng = np.random.default_rng(number)
    size = 2 + number % 3
    streams = [
        [(int(time), int(rng.integers(0, 3))) for time in np.cumsum(rng.integers(1, 6, 14))]
        for _ in range(size)
    ]
    turns = [stream for stream in range(size) for _ in streams[stream]]
    if number % 2:
        turns = list(range(size)) * 14
    else:
        times = [row[0] for stream in streams for row in stream]
        turns = [turns[n] for n in np.argsort(times, kind="stable")]
    stated: Bounds = [[inf] * size for _ in range(size)]
    for stream in range(size):
        stated[stream][stream] = 0
        for other in range(stream):
            if is_uniform or other == stream - 1:
                stated[other][stream] = WINDOW if is_uniform else 6 + other
                stated[stream][other] = WINDOW if is_uniform else 3 * stream
    closed = [list(line) for line in stated]
    for via in range(size):
        for a in range(size):
            for b in range(size):
                closed[a][b] = min(closed[a][b], closed[a][via] + closed[via][b])
    return Input(streams, turns, closed, stated)


def tape(own: Input) -> Tape:
    rows = [row for stream in own.streams for row in stream]
    return Tape(
        np.array([time for time, _ in rows], np.int64),
        np.array([[key] for _, key in rows], np.uint64),
        np.cumsum([0, *map(len, own.streams)]).astype(np.int64),
    )


def conditions(bounds: Bounds) -> TupleConditions:
    ticks = [[MOST if bound == inf else int(bound) for bound in line] for line in bounds]
    return TupleConditions(np.array(ticks, np.int64), np.ones((len(bounds), 1), np.bool_))


def by_kernel(algorithm: str, own: Input) -> list[int]:
    tuples, closed, turns = tape(own), conditions(own.closed), np.array(own.turns, np.int64)
    if algorithm == "bew-graph":
        run = runs.run_bew_graph(tuples, conditions(own.stated), turns, reach=closed.upper)
    elif algorithm == "closure":
        run = runs.run_closure(tuples, closed, turns)
    elif algorithm == "ripple":
        run = runs.run_ripple(tuples, closed, turns, clean_every=CLEAN_EVERY)
    elif algorithm == "nlw":
        run = runs.run_nlw(tuples, closed, turns)
    elif algorithm == "hw":
        run = runs.run_hw(tuples, closed, turns)
    elif algorithm == "xjoin":
        run = runs.run_xjoin(tuples, closed, turns, clean_every=CLEAN_EVERY)
    else:
        method = "hash" if algorithm.endswith("hash") else "nested-loop"
        make = run_few if algorithm.startswith("few") else runs.run_bew
        run = make(tuples, closed, turns, method=method)
    return run.work.tolist()


def by_twin(algorithm: str, own: Input) -> list[int]:
    if algorithm in ("nlw", "hw", "xjoin"):
        return PipelineTwin(algorithm, own, CLEAN_EVERY).run()
    if algorithm.startswith("few"):
        return FewTwin(own, WINDOW, is_hashed=algorithm.endswith("hash")).run()
    if algorithm == "ripple":
        return RippleTwin(own, CLEAN_EVERY).run()
    twins = {
        "bew": LoopTwin, "bew-hash": BewHashTwin, "bew-graph": BewGraphTwin, "closure": ClosureTwin,
    }  # fmt: skip
    return twins[algorithm](own).run()


def assert_same_work(algorithm: str, counted: set[int], *, is_uniform: bool) -> None:
    total = np.zeros(10, np.int64)
    for number in CASES:
        own = given(number, is_uniform=is_uniform)
        work = by_kernel(algorithm, own)
        assert work == by_twin(algorithm, own), number
        total += work
    assert set(np.flatnonzero(total)) == counted


@pytest.mark.law
@pytest.mark.parametrize("algorithm", ["bew", "bew-graph", "closure", "nlw", "hw", "xjoin"])
def test_every_comparison_look_up_and_drop_is_counted(algorithm):
    assert_same_work(algorithm, JOINING, is_uniform=False)


@pytest.mark.law
@pytest.mark.parametrize("algorithm", ["bew-hash", "ripple"])
def test_what_is_looked_at_apart_from_joining_is_counted_too(algorithm):
    assert_same_work(algorithm, JOINING | {UPDATES}, is_uniform=False)


@pytest.mark.law
@pytest.mark.parametrize("algorithm", ["few", "few-hash"])
def test_few_counts_what_it_sweeps_and_what_its_loops_look_at(algorithm):
    assert_same_work(algorithm, (JOINING - {WINDOW_TESTS}) | {TIME_TESTS}, is_uniform=True)


@pytest.mark.parametrize("make", [BewNestedLoop, Closure])
def test_what_is_trimmed_is_counted_as_dropped(make):
    own = given(1, is_uniform=True)
    tuples, closed = tape(own), conditions(own.closed)
    machine = make(closed, tuples.first, order_by_keys(closed))
    runs.run(machine, tuples, np.array(own.turns, np.int64))
    machine.trim(tuples, np.full(len(own.streams), MOST, np.int64))
    assert machine.work[DROPS] == len(own.turns)
