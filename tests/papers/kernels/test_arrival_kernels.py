"""The algorithms that answer on arrival, on tapes, against every combination tested."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from case_share import share_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    FOUND,
    REFINED,
    TOUCHED,
    UPDATES,
    Tape,
    TupleConditions,
)
from windrow_papers.kernels import runs
from windrow_papers.kernels.bew import BewNestedLoop
from windrow_papers.kernels.bew_graph import UNSTATED
from windrow_papers.kernels.bew_hash import BewHash
from windrow_papers.kernels.closure import Closure
from windrow_papers.kernels.loop_machine import order_by_keys
from windrow_papers.kernels.trace import ADMIT, DROP, OUTPUT, TOUCH, trace_of

pytestmark = pytest.mark.slow

EXAMPLES = settings(max_examples=share_of(100), deadline=None, derandomize=True)
ALGORITHMS = ["bew", "bew-hash", "bew-graph", "closure", "ripple"]


@dataclass(frozen=True)
class Case:
    """Streams in time order, the order in which their tuples arrive, and what joins."""

    tape: Tape
    turns: np.ndarray
    stated: np.ndarray
    conditions: TupleConditions


def closed(stated: np.ndarray) -> np.ndarray:
    """The closure under shortest paths."""
    size = len(stated)
    upper = [[int(bound) for bound in line] for line in stated]
    for via, a, b in itertools.product(range(size), repeat=3):
        upper[a][b] = min(upper[a][b], upper[a][via] + upper[via][b])
    return np.array(upper, np.int64)


@st.composite
def cases(draw) -> Case:
    size = draw(st.integers(2, 5))
    stated = np.full((size, size), UNSTATED, np.int64)
    np.fill_diagonal(stated, 0)
    edges = [(draw(st.integers(0, right - 1)), right) for right in range(1, size)]
    if size > 2 and draw(st.booleans()):
        edges.append((0, size - 1))
    for a, b in edges:
        stated[a, b] = min(stated[a, b], draw(st.integers(0, 6)))
        stated[b, a] = min(stated[b, a], draw(st.integers(0, 6)))
    classes = draw(st.integers(0, 2))
    keyed = np.array(
        [[draw(st.booleans()) for _ in range(classes)] for _ in range(size)], np.bool_
    ).reshape(size, classes)
    most = 8 if size < 4 else 4
    times = [sorted(draw(st.lists(st.integers(0, 14), max_size=most))) for _ in range(size)]
    sizes = [len(own) for own in times]
    words = np.array(
        [[draw(st.integers(0, 1)) for _ in range(classes)] for _ in range(sum(sizes))], np.uint64
    ).reshape(sum(sizes), classes)
    tape = Tape(
        np.array([time for own in times for time in own], np.int64),
        words,
        np.array([0, *np.cumsum(sizes)], np.int64),
    )
    turns = draw(st.permutations([stream for stream in range(size) for _ in times[stream]]))
    return Case(tape, np.array(turns, np.int64), stated, TupleConditions(closed(stated), keyed))


def brute_force(case: Case) -> list[tuple[int, ...]]:
    first = case.tape.first.tolist()
    streams = range(len(first) - 1)
    times, words, keyed = case.tape.times.tolist(), case.tape.words, case.conditions.keyed

    def joins(at: tuple[int, ...]) -> bool:
        for a, b in itertools.permutations(streams, 2):
            if times[at[b]] - times[at[a]] > case.stated[a, b]:
                return False
            if any(words[at[a]][keyed[a] & keyed[b]] != words[at[b]][keyed[a] & keyed[b]]):
                return False
        return True

    spans = [range(start, stop) for start, stop in itertools.pairwise(first)]
    return sorted(at for at in itertools.product(*spans) if joins(at))


def found_by(algorithm: str, case: Case, trace=None) -> runs.Run:
    tape, conditions, turns = case.tape, case.conditions, case.turns
    if algorithm == "bew-graph":
        stated = TupleConditions(case.stated, conditions.keyed)
        return runs.run_bew_graph(tape, stated, turns, reach=conditions.upper, trace=trace)
    if algorithm == "closure":
        return runs.run_closure(tape, conditions, turns, trace=trace)
    if algorithm == "ripple":
        return runs.run_ripple(tape, conditions, turns, clean_every=3, trace=trace)
    method = "hash" if algorithm == "bew-hash" else "nested-loop"
    return runs.run_bew(tape, conditions, turns, method=method, trace=trace)


@pytest.mark.law
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@EXAMPLES
@given(case=cases())
def test_every_combination_is_given_once_however_streams_are_interleaved(algorithm, case):
    found = found_by(algorithm, case)
    assert sorted(map(tuple, found.combinations.tolist())) == brute_force(case)
    assert found.work[FOUND] == len(found.combinations)
    assert found.work[REFINED] == 0


@pytest.mark.law
@pytest.mark.parametrize("make", [BewNestedLoop, BewHash, Closure])
@EXAMPLES
@given(case=cases(), room=st.integers(1, 4))
def test_a_machine_that_stops_for_want_of_room_does_the_same_work(make, case, room):
    order = order_by_keys(case.conditions)
    roomy, narrow = (
        runs.run(make(case.conditions, case.tape.first, order), case.tape, case.turns, room=size)
        for size in (1000, room)
    )
    assert narrow.combinations.tolist() == roomy.combinations.tolist()
    assert narrow.work.tolist() == roomy.work.tolist()


@pytest.mark.law
@EXAMPLES
@given(case=cases())
def test_closure_looks_at_exactly_the_tuples_that_the_closure_allows(case):
    """The trace is read with a stack of its own: what is chosen, and what may be looked at."""
    trace = trace_of(100_000)
    found = found_by("closure", case, trace)
    order = order_by_keys(case.conditions)
    upper, times = case.conditions.upper, case.tape.times
    buffered: list[list[int]] = [[] for _ in order]
    chosen: list[tuple[int, int]] = []
    touched = 0
    for event, stream, at in trace.events[: trace.noted[0]].tolist():
        if event == ADMIT:
            buffered[stream].append(at)
            chosen = [(stream, at)]
        elif event == DROP:
            buffered[stream].remove(at)
        elif event == TOUCH:
            level = order[chosen[0][0]].tolist().index(stream)
            chosen = chosen[:level]
            for other, position in chosen:
                assert times[at] - times[position] <= upper[other, stream]
                assert times[position] - times[at] <= upper[stream, other]
            chosen.append((stream, at))
            touched += 1
        elif event == OUTPUT:
            assert len(chosen) == len(order)
    assert touched == found.work[TOUCHED]
    assert found.work[DROPS] == len(times) - sum(map(len, buffered))


@pytest.mark.law
@pytest.mark.parametrize("algorithm", ["bew", "bew-hash", "bew-graph", "closure", "ripple"])
@EXAMPLES
@given(case=cases())
def test_no_tuple_is_dropped_that_one_to_come_could_meet(algorithm, case):
    trace = trace_of(100_000)
    found_by(algorithm, case, trace)
    size = len(case.tape.first) - 1
    newest = [-(10**6)] * size
    events = trace.events[: trace.noted[0]].tolist()
    assume(any(event == DROP for event, *_ in events))
    for event, stream, at in events:
        if event == ADMIT:
            newest[stream] = int(case.tape.times[at])
        elif event == DROP:
            reach = case.conditions.upper[stream]
            others = [other for other in range(size) if other != stream]
            assert all(case.tape.times[at] + reach[other] < newest[other] for other in others)


def path_of_three() -> Case:
    """The tuple of A meets that of B, and that of B the one of C, which comes last."""
    stated = np.array([[0, 5, UNSTATED], [5, 0, 5], [UNSTATED, 5, 0]], np.int64)
    times = np.array([0, 20, 5, 6, 6, 10, 11], np.int64)
    tape = Tape(times, np.zeros((7, 0), np.uint64), np.array([0, 2, 4, 7]))
    turns = np.array([0, 1, 2, 1, 2, 2, 0])  # the second of B is beyond the first of A
    return Case(tape, turns, stated, TupleConditions(closed(stated), np.zeros((3, 0), np.bool_)))


def test_dropping_by_stated_constraints_alone_as_printed_loses_an_answer():
    case = path_of_three()
    stated = TupleConditions(case.stated, case.conditions.keyed)
    kept = runs.run_bew_graph(case.tape, stated, case.turns, reach=case.conditions.upper)
    printed = runs.run_bew_graph(case.tape, stated, case.turns, reach=case.stated)
    answers = set(map(tuple, kept.combinations.tolist()))
    assert sorted(answers) == brute_force(case)
    assert answers - set(map(tuple, printed.combinations.tolist())) == {(0, 2, 5)}


def test_rarely_probed_buckets_are_updated_and_often_probed_ones_left_alone():
    """Key 7 is never looked up; key 1 with every arrival."""
    streams = [np.arange(0, 4000, 2), np.arange(1, 4000, 2)]
    words = np.ones((4000, 1), np.uint64)
    words[:2000:4] = 7
    tape = Tape(np.concatenate(streams), words, np.array([0, 2000, 4000]))
    conditions = TupleConditions(np.array([[0, 50], [50, 0]]), np.ones((2, 1), np.bool_))
    turns = runs.turns_in_time_order(tape)
    trace = trace_of(500_000)
    machine = BewHash(conditions, tape.first, order_by_keys(conditions), trace)
    found = runs.run(machine, tape, turns)
    looped = runs.run_bew(tape, conditions, turns)
    assert sorted(found.combinations.tolist()) == sorted(looped.combinations.tolist())
    dropped = {at for event, _, at in trace.events[: trace.noted[0]].tolist() if event == DROP}
    rare = [at for at in range(0, 2000, 4) if streams[0][at] < 3700]
    assert dropped.issuperset(rare)
    # The hand comes by every 128 arrivals (2 streams of 64 buckets); a tuple of key 7 stays
    # alive for 50 ticks, so that each is looked at about twice.
    assert len(rare) <= found.work[UPDATES] < 4 * len(rare)
    assert (machine.buffers.next - machine.buffers.head).max() < 250


@pytest.mark.law
def test_tables_grow_with_what_is_buffered_however_tuples_are_handed_over():
    """With tables made for none, the buckets of all keys would be gone through as a few."""
    streams, each = 3, 4000
    times = np.concatenate([np.arange(each) * streams + stream for stream in range(streams)])
    keys = np.tile(np.random.default_rng(7).permutation(each) % 1000, streams)
    tape = Tape(times, keys.astype(np.uint64).reshape(-1, 1), each * np.arange(streams + 1))
    window = np.where(np.eye(streams, dtype=bool), 0, 6000)
    conditions = TupleConditions(window, np.ones((streams, 1), np.bool_))
    turns, order = runs.turns_in_time_order(tape), order_by_keys(conditions)
    at_once = runs.run(BewHash(conditions, tape.first, order), tape, turns)
    sliced = sum(runs.in_slices(BewHash(conditions, tape.first, order), tape, turns, 500))
    assert at_once.work[FOUND] == sliced[FOUND] > 0
    assert at_once.work.sum() < 2 * sliced.sum()


def test_ripple_meets_all_that_is_buffered_and_drops_only_when_it_cleans():
    tape = Tape(np.arange(40), np.zeros((40, 0), np.uint64), np.array([0, 20, 40]))
    tape.times[:20], tape.times[20:] = np.arange(0, 40, 2), np.arange(1, 40, 2)
    conditions = TupleConditions(np.array([[0, 3], [3, 0]]), np.zeros((2, 0), np.bool_))
    turns = runs.turns_in_time_order(tape)
    never = runs.run_ripple(tape, conditions, turns, clean_every=1000)
    often = runs.run_ripple(tape, conditions, turns, clean_every=10)
    assert never.work[TOUCHED] == sum(n // 2 if n % 2 == 0 else n // 2 + 1 for n in range(40))
    assert never.work[DROPS] == never.work[UPDATES] == 0
    assert 0 < often.work[DROPS] < 40
    assert often.work[TOUCHED] < never.work[TOUCHED] / 2
    assert often.combinations.tolist() == never.combinations.tolist()
