"""The pipelines of binary window joins against the cross product, and what they may not do."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import partial

import numpy as np
import pytest
from bags import bag
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.kernels.bew_period import LEAST
from windrow.kernels.tuple_at_a_time.level_loops import HwLoops, NlwLoops
from windrow.kernels.tuple_at_a_time.machine import Move
from windrow.kernels.tuple_at_a_time.pipeline_machine import Pipeline, PipelineMachine
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    KEY_TESTS,
    PROBES,
    TOUCHED,
    WINDOW_TESTS,
    Tape,
    TupleConditions,
    room_for,
)
from windrow_papers.kernels.runs import (
    filled_blocks,
    run,
    run_hw,
    run_nlw,
    run_xjoin,
    turns_in_time_order,
)
from windrow_papers.kernels.xjoin import XJoinLoops

pytestmark = pytest.mark.slow

ALGORITHMS = {"nlw": NlwLoops, "hw": HwLoops, "xjoin": XJoinLoops}
FAR = 10**9


def loops_of(algorithm: str, clean_every: int):
    """What makes the loops of a level; only XJoin cleans its tables by itself."""
    make = ALGORITHMS[algorithm]
    return partial(make, clean_every) if make is XJoinLoops else make


@st.composite
def joins(draw, most_streams: int = 5):
    """A tape, the conditions, the order of arrival and the order of the pipeline."""
    size = draw(st.integers(2, most_streams))
    classes = draw(st.integers(0, 2))
    counts = [draw(st.integers(0, 6 if size < 4 else 4)) for _ in range(size)]
    times = [sorted(draw(st.integers(0, 14)) for _ in range(count)) for count in counts]
    words = [[draw(st.integers(0, 1)) for _ in range(classes)] for _ in range(sum(counts))]
    tape = Tape(
        np.array([t for own in times for t in own], np.int64),
        np.array(words, np.uint64).reshape(sum(counts), classes),
        np.array([0, *itertools.accumulate(counts)], np.int64),
    )
    keyed = np.array([[draw(st.booleans()) for _ in range(classes)] for _ in range(size)])
    conditions = TupleConditions(draw(bounds(size)), keyed.reshape(size, classes).astype(np.bool_))
    turns = turns_in_time_order(tape)
    if draw(st.booleans()):
        turns = np.array(draw(st.permutations(turns.tolist())), np.int64)
    return tape, conditions, turns, tuple(draw(st.permutations(range(size))))


@st.composite
def bounds(draw, size: int):
    """The closed bounds of a random connected graph, some directed or away from zero."""
    upper = np.full((size, size), FAR, np.int64)
    np.fill_diagonal(upper, 0)
    for right in range(1, size):
        left = draw(st.integers(0, right - 1))
        upper[left, right] = draw(st.integers(0, 6))
        upper[right, left] = draw(st.integers(-int(upper[left, right]), 6))
    for via in range(size):
        upper = np.minimum(upper, upper[:, [via]] + upper[[via], :])
    return upper


def expected(tape: Tape, conditions: TupleConditions) -> Counter:
    upper, keyed = conditions
    streams = range(len(tape.first) - 1)
    own = [range(tape.first[i], tape.first[i + 1]) for i in streams]
    return Counter(
        chosen
        for chosen in itertools.product(*own)
        if all(
            tape.times[chosen[j]] - tape.times[chosen[i]] <= upper[i, j]
            for i, j in itertools.permutations(streams, 2)
        )
        and all(
            len({int(tape.words[chosen[i], key]) for i in streams if keyed[i, key]}) <= 1
            for key in range(keyed.shape[1])
        )
    )


@pytest.mark.law
@settings(max_examples=share_of(100), deadline=None, derandomize=True)
@given(joins(), st.integers(1, 4), st.integers(1, 9))
def test_every_combination_comes_once(join, room, clean_every):
    tape, conditions, turns, order = join
    wanted = expected(tape, conditions)
    for algorithm in ALGORITHMS:
        plan = Pipeline(loops_of(algorithm, clean_every), conditions, order, room=room)
        ran = run(PipelineMachine(plan, tape.first), tape, turns, room=room)
        assert bag(ran.combinations) == wanted, algorithm


@pytest.mark.law
@settings(max_examples=share_of(100), deadline=None, derandomize=True)
@given(joins(most_streams=4), st.lists(st.integers(0, 25), max_size=3))
def test_blocks_do_the_same_work_as_one_tuple_at_a_time(join, cuts):
    tape, conditions, turns, order = join
    for algorithm in ALGORITHMS:
        whole, cut = (
            PipelineMachine(Pipeline(loops_of(algorithm, 4), conditions, order), tape.first)
            for _ in range(2)
        )
        together = run(whole, tape, turns)
        parts = np.split(turns, sorted(min(at, len(turns)) for at in cuts))
        found = [block for part in parts for block in filled_blocks(cut, tape, part)]
        assert cut.work.tolist() == together.work.tolist()
        assert sum(map(bag, found), Counter()) == bag(together.combinations)
        assert cut.intermediate == whole.intermediate


@pytest.mark.law
@settings(max_examples=share_of(100), deadline=None, derandomize=True)
@given(joins(most_streams=4), st.integers(0, 12))
def test_a_machine_that_adopts_tuples_goes_on_like_one_that_joined_them(join, adopted):
    tape, conditions, turns, order = join
    turns = turns_in_time_order(tape)
    adopted = min(adopted, len(turns))
    for loops in ALGORITHMS.values():
        plan = Pipeline(loops, conditions, order)
        ran, took = (PipelineMachine(plan, tape.first) for _ in range(2))
        list(filled_blocks(ran, tape, turns[:adopted]))
        took.adopt(tape, turns[:adopted])
        later = [list(filled_blocks(machine, tape, turns[adopted:])) for machine in (ran, took)]
        first, second = (sum(map(bag, blocks), Counter()) for blocks in later)
        assert first == second


@pytest.mark.law
@settings(max_examples=share_of(100), deadline=None, derandomize=True)
@given(joins(most_streams=4), st.integers(0, 12), st.integers(0, 14))
def test_what_is_dropped_and_moved_changes_no_result(join, taken, watermark):
    tape, conditions, _, order = join
    turns = turns_in_time_order(tape)
    # The streams of figure 4 on a tape that is laid out anew halfway, and a watermark for all.
    streams = len(tape.first) - 1
    taken = min(taken, len(turns))
    rest = tape.times[np.argsort(tape.times, kind="stable")][taken:]
    coming = np.full(streams, min([watermark, *rest.tolist()]), np.int64)
    for loops in ALGORITHMS.values():
        machine = PipelineMachine(Pipeline(loops, conditions, order), tape.first)
        found = sum(map(bag, filled_blocks(machine, tape, turns[:taken])), Counter())
        machine.trim(tape, coming)
        heads = machine.heads()
        assert (heads >= tape.first[:-1]).all()
        shift = np.arange(streams) * 7 + 3
        size = len(tape.times) + 7 * streams + 3
        move = Move(tape.first[:-1], tape.first[1:], shift, size)
        machine.moved(move)
        moved = Tape(move.entries(tape.times, 0), move.entries(tape.words, 0), tape.first)
        machine.begin(moved, turns[taken:], coming)
        for block in blocks_of(machine, moved):
            found += bag(block - shift)
        assert found == expected(tape, conditions)


def blocks_of(machine, tape):
    found, is_through = room_for(3, len(tape.first) - 1), False
    while not is_through:
        found.filled[0] = 0
        is_through = machine.fill(tape, found)
        yield found.positions[: found.filled[0]].copy()


def pair(left, right, window: int):
    """Two streams of (time, word) and one window."""
    rows = [*left, *right]
    tape = Tape(
        np.array([time for time, _ in rows], np.int64),
        np.array([[word] for _, word in rows], np.uint64),
        np.array([0, len(left), len(rows)], np.int64),
    )
    upper = np.array([[0, window], [window, 0]], np.int64)
    return tape, TupleConditions(upper, np.ones((2, 1), np.bool_))


def test_a_nested_loop_looks_at_the_whole_buffer_a_hash_table_at_one_bucket():
    tape, conditions = pair([(t, t % 8) for t in range(32)], [(32, 3)], 100)
    turns = np.array([0] * 32 + [1], np.int64)
    work = {
        algorithm: run(
            PipelineMachine(Pipeline(loops, conditions, (0, 1)), tape.first), tape, turns
        ).work
        for algorithm, loops in ALGORITHMS.items()
    }
    assert work["nlw"][TOUCHED] == work["nlw"][WINDOW_TESTS] == work["nlw"][KEY_TESTS] == 32
    assert work["nlw"][PROBES] == 33
    assert work["xjoin"][TOUCHED] < 32
    assert work["hw"][KEY_TESTS] < 32


def test_the_update_routine_frees_the_buckets_that_no_tuple_probes():
    # One tuple of A has a key that never comes again; all of B probe another bucket of A.
    tape, conditions = pair([(0, 1), (1, 2)], [(20 + t, 2) for t in range(100)], 10)
    turns = np.array([0, 0] + [1] * 100, np.int64)
    work = run(PipelineMachine(Pipeline(HwLoops, conditions, (0, 1)), tape.first), tape, turns).work
    assert work[DROPS] == 2
    # Each of both is looked at once: by the first probe, and by the hand as it passes.
    assert work[TOUCHED] == 2


@pytest.mark.parametrize(("clean_every", "drops"), [(17, 50), (60, 0)])
def test_xjoin_holds_old_tuples_until_it_cleans(clean_every, drops):
    tape, conditions = pair([(0, 1)] * 50, [(100, 1)], 10)
    turns = np.array([0] * 50 + [1], np.int64)
    plan = Pipeline(loops_of("xjoin", clean_every), conditions, (0, 1))
    machine = PipelineMachine(plan, tape.first)
    ran = run(machine, tape, turns)
    assert len(ran.combinations) == 0
    assert ran.work[DROPS] == drops


def test_a_path_propagates_the_period_of_its_last_stream_alone():
    # A -> B -> C within 5 each: C may come up to 10 after A, though never more than 5 after B.
    upper = np.array([[0, 5, 10], [0, 0, 5], [0, 0, 0]], np.int64)
    conditions = TupleConditions(upper, np.zeros((3, 0), np.bool_))
    tape = Tape(
        np.array([0, 3, 5, 8, 10, 11], np.int64),
        np.zeros((6, 0), np.uint64),
        np.array([0, 1, 3, 6], np.int64),
    )
    turns = turns_in_time_order(tape)
    wanted = {(0, 1, 3): 1, (0, 2, 3): 1, (0, 2, 4): 1}
    for is_path in (False, True):
        assert bag(run_nlw(tape, conditions, turns, is_path=is_path).combinations) == wanted
        assert bag(run_hw(tape, conditions, turns, is_path=is_path).combinations) == wanted
    assert bag(run_xjoin(tape, conditions, turns, order=(2, 1, 0)).combinations) == wanted


def test_intermediate_results_go_with_their_tuples():
    upper = np.where(np.eye(3, dtype=bool), 0, 5).astype(np.int64)
    conditions = TupleConditions(upper, np.zeros((3, 0), np.bool_))
    tape = Tape(
        np.array([0, 1, 2, 3], np.int64), np.zeros((4, 0), np.uint64), np.array([0, 2, 4, 4])
    )
    machine = PipelineMachine(Pipeline(NlwLoops, conditions, (0, 1, 2)), tape.first)
    list(filled_blocks(machine, tape, np.array([0, 0, 1, 1], np.int64)))
    assert machine.intermediate == 4
    machine.trim(tape, np.full(3, 6, np.int64))  # the first tuple cannot meet time 6 any more
    assert machine.intermediate == 2
    machine.trim(tape, np.full(3, LEAST, np.int64))
    assert machine.intermediate == 2
