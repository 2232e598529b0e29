"""FEW, GCA and LCA on tapes, against every combination tested."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from case_share import share_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from watched import Tick, Times, Watch, Work, interpreted, told

from windrow.kernels import bew_period
from windrow.kernels.bew_period import MOST
from windrow.kernels.tuple_at_a_time import few as few_module
from windrow.kernels.tuple_at_a_time import sweep
from windrow.kernels.tuple_at_a_time import sweep_machine as sweep_machines
from windrow.kernels.tuple_at_a_time import tape as tape_module
from windrow.kernels.tuple_at_a_time.machine import blocks
from windrow.kernels.tuple_at_a_time.sweep_machine import FewMachine, SweepMachine
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    FOUND,
    NARROWINGS,
    REFINED,
    TIME_TESTS,
    TOUCHED,
    WINDOW_TESTS,
    Tape,
    TupleConditions,
    room_for,
)
from windrow_papers.kernels import conservative, conservative_machines
from windrow_papers.kernels.conservative_machines import GcaMachine, LcaMachine
from windrow_papers.kernels.loop_machine import order_by_keys
from windrow_papers.kernels.runs import (
    in_slices,
    last_blocks,
    run_few,
    run_gca,
    run_lca,
    turns_in_time_order,
)

pytestmark = pytest.mark.slow

EXAMPLES = settings(max_examples=share_of(100), deadline=None, derandomize=True)
UNSTATED = MOST


@dataclass(frozen=True)
class Case:
    """Streams in time order, the order in which their tuples arrive, and what joins."""

    tape: Tape
    turns: np.ndarray
    stated: np.ndarray
    conditions: TupleConditions

    def machine(self, algorithm: str, method: str) -> SweepMachine:
        if algorithm == "few":
            return few_machine(self.tape, self.conditions, method)
        make = GcaMachine if algorithm == "gca" else LcaMachine
        return make(self.conditions, self.stated, self.tape.first, method=method)


def few_machine(tape: Tape, conditions: TupleConditions, method: str) -> FewMachine:
    return FewMachine(conditions, tape.first, order_by_keys(conditions), method=method)


def closed(stated: np.ndarray) -> np.ndarray:
    """The closure under shortest paths."""
    upper = [[int(bound) for bound in line] for line in stated]
    for via, a, b in itertools.product(range(len(upper)), repeat=3):
        upper[a][b] = min(upper[a][b], upper[a][via] + upper[via][b])
    return np.array(upper, np.int64)


@st.composite
def bounds(draw, size: int) -> np.ndarray:
    """One window for all, or a connected graph, some of it directed, shifted or asymmetric."""
    if draw(st.booleans()):
        return np.where(np.eye(size, dtype=bool), 0, draw(st.integers(0, 6))).astype(np.int64)
    stated = np.full((size, size), UNSTATED, np.int64)
    np.fill_diagonal(stated, 0)
    for right in range(1, size):
        left = draw(st.integers(0, right - 1))
        lo, hi = draw(st.integers(0, 6)), draw(st.integers(0, 6))
        if draw(st.booleans()):
            lo, hi = -lo, lo + hi
        stated[left, right], stated[right, left] = hi, lo
    return stated


@st.composite
def cases(draw) -> Case:
    size = draw(st.integers(2, 6))
    stated = draw(bounds(size))
    classes = draw(st.integers(0, 2))
    keyed = np.array(
        [[draw(st.booleans()) for _ in range(classes)] for _ in range(size)], np.bool_
    ).reshape(size, classes)
    most = {2: 9, 3: 8, 4: 6}.get(size, 4)
    times = [sorted(draw(st.lists(st.integers(0, 16), max_size=most))) for _ in range(size)]
    total = sum(map(len, times))
    words = np.array(
        [[draw(st.integers(0, 1)) for _ in range(classes)] for _ in range(total)], np.uint64
    ).reshape(total, classes)
    tape = Tape(
        np.array([time for own in times for time in own], np.int64),
        words,
        np.cumsum([0, *map(len, times)]).astype(np.int64),
    )
    turns = turns_in_time_order(tape)
    if draw(st.booleans()):  # streams that are ahead of others
        turns = np.array(draw(st.permutations(turns.tolist())), np.int64)
    return Case(tape, turns, stated, TupleConditions(closed(stated), keyed))


def expected(case: Case) -> list[tuple[int, ...]]:
    tape, conditions = case.tape, case.conditions
    size = len(conditions.upper)
    streams = [range(tape.first[i], tape.first[i + 1]) for i in range(size)]
    pairs = list(itertools.permutations(range(size), 2))
    return [
        found
        for found in itertools.product(*streams)
        if all(
            tape.times[found[j]] - tape.times[found[i]] <= conditions.upper[i, j] for i, j in pairs
        )
        and all(
            tape.words[found[i], key] == tape.words[found[j], key]
            for i, j in pairs
            for key in range(conditions.keyed.shape[1])
            if conditions.keyed[i, key] and conditions.keyed[j, key]
        )
    ]


def in_blocks(case: Case, machine: SweepMachine, every: int, room: int) -> list[tuple[int, ...]]:
    """What a machine gives when arrivals come some at a time, and with little room."""
    found = room_for(room, len(case.conditions.upper))
    out: list[tuple[int, ...]] = []
    for start in range(0, len(case.turns), every):
        machine.begin(case.tape, case.turns[start : start + every])
        through = False
        while not through:
            found.filled[0] = 0
            through = machine.fill(case.tape, found)
            out += map(tuple, found.positions[: found.filled[0]].tolist())
    for block in last_blocks(machine, case.tape, room=room):
        out += map(tuple, block.tolist())
    return out


@pytest.mark.law
@pytest.mark.parametrize("method", ["nested-loop", "hash"])
@pytest.mark.parametrize("algorithm", ["few", "gca", "lca"])
@EXAMPLES
@given(case=cases(), every=st.integers(1, 20), room=st.integers(1, 5))
def test_every_combination_comes_once(algorithm, method, case, every, room):
    machine = case.machine(algorithm, method)
    assert sorted(in_blocks(case, machine, every, room)) == expected(case)
    assert machine.work[FOUND] == len(expected(case))


def a_case_to_narrow() -> Case:
    """Where FEW's ranges are narrowed for a tuple just chosen.

    b is within [-4, 5] of a, c within [-3, 6]: c = 11 is beyond what the oldest a = 3 allows, but
    that may still meet b = 8, and does not go. So c meets a = 5 and 8, and each of them another
    part of b.
    """
    stated = np.array([[0, 5, 6], [4, 0, UNSTATED], [3, UNSTATED, 0]], np.int64)
    times = np.array([3, 5, 8, 2, 8, 1, 11])
    tape = Tape(times, np.zeros((7, 0), np.uint64), np.array([0, 3, 5, 7]))
    conditions = TupleConditions(closed(stated), np.zeros((3, 0), np.bool_))
    return Case(tape, turns_in_time_order(tape), stated, conditions)


ONE_EACH = (
    "_drop_unreachable", "next_in_period", "_is_beyond", "_move_cursors", "_fit", "_first_from",
)  # fmt: skip
"""Where FEW compares one tuple's time with one other time."""

PERIODS = ("_find_start", "_drop_past", "_next_in_time")
"""Where it holds one tuple against a period, or against those of all other streams."""

PREPARING = ("_period", "_doom", "_narrow", "take_arrivals", "few", "max", "min")
"""Where bounds are made of times, to compare others with."""


def watched(case: Case, method: str) -> Watch:
    """FEW as plain Python over a case, streams ended; what it compared, and counted, where."""
    watch = Watch()
    tape = case.tape._replace(times=Times(Tick(time, watch) for time in case.tape.times.tolist()))
    machine = few_machine(tape, case.conditions, method)
    machine.work = Work(len(machine.work), watch)
    found = room_for(1000, len(case.conditions.upper))
    for turns, coming in ((case.turns, None), (case.turns[:0], np.full(len(tape.first) - 1, MOST))):
        machine.begin(tape, turns, coming)
        for _ in blocks(machine, tape, found):
            pass
    assert machine.work[FOUND] == len(expected(case))
    return watch


@pytest.mark.law
@pytest.mark.parametrize("method", ["nested-loop", "hash"])
def test_few_counts_every_comparison_of_times_where_it_makes_it_and_none_is_in_its_loops(
    method, monkeypatch
):
    interpreted(monkeypatch, sweep_machines, few_module, sweep, tape_module, bew_period)
    made: Counter[str] = Counter()

    @settings(EXAMPLES, max_examples=share_of(80))
    @given(case=cases())
    @example(case=a_case_to_narrow())
    def holds(case):
        watch = watched(case, method)
        assert watch.reads["loop_on"] == watch.comparisons["loop_on"] == 0
        assert not {key for key in watch.counted if WINDOW_TESTS in key[1:]}
        assert set(watch.comparisons) <= {*ONE_EACH, *PERIODS, *PREPARING}
        counted = {
            name: number
            for (name, counter), number in watch.counted.items()
            if counter in (TIME_TESTS, NARROWINGS)
        }
        for name in ONE_EACH:
            assert counted.get(name, 0) == watch.comparisons[name], name
        for name in PERIODS:
            assert (counted.get(name, 0) > 0) == (watch.reads[name] > 0), name
        made.update(watch.comparisons)

    holds()
    assert set(made) >= {*ONE_EACH, *PERIODS}  # every one of these places was come by


ordered = st.lists(st.integers(0, 30), max_size=15).map(sorted)


@pytest.mark.law
@EXAMPLES
@given(left=ordered, right=ordered, window=st.integers(0, 6))
def test_with_one_window_few_touches_exactly_the_pairs_within_it(left, right, window):
    times = np.array([*left, *right], np.int64)
    first = np.array([0, len(left), len(times)])
    tape = Tape(times, np.zeros((len(times), 0), np.uint64), first)
    upper = np.array([[0, window], [window, 0]], np.int64)
    conditions = TupleConditions(upper, np.zeros((2, 0), np.bool_))
    done = run_few(tape, conditions, turns_in_time_order(tape))
    near = sum(abs(a - b) <= window for a in left for b in right)
    assert done.work[TOUCHED] == done.work[FOUND] == near
    assert done.work[NARROWINGS] == 0


def test_where_windows_differ_ranges_are_narrowed_before_loops_and_no_result_is_lost():
    case = a_case_to_narrow()
    done = run_few(case.tape, case.conditions, case.turns)
    assert sorted(map(tuple, done.combinations.tolist())) == expected(case)
    assert done.work[NARROWINGS] > 0


@pytest.mark.parametrize("algorithm", ["few", "gca", "lca"])
def test_a_tuple_at_the_very_end_of_the_period_is_admitted_and_one_beyond_it_is_not(
    algorithm, monkeypatch
):
    """A window of 5 around a at 0: b at 5 belongs to the period, b at 6 waits for the next."""
    tape = Tape(np.array([0, 7, 0, 5, 6]), np.zeros((5, 0), np.uint64), np.array([0, 2, 5]))
    upper = np.array([[0, 5], [5, 0]], np.int64)
    case = Case(
        tape, turns_in_time_order(tape), upper, TupleConditions(upper, np.zeros((2, 0), np.bool_))
    )
    module = few_module if algorithm == "few" else conservative
    interpreted(monkeypatch, sweep_machines, conservative_machines, module, sweep, bew_period)
    steps: list[tuple[str, int]] = []
    told(
        monkeypatch,
        module,
        "drop_oldest",
        lambda _, sweep, __, stream, ___: steps.append(("drop", int(sweep.head[stream]))),
    )
    told(
        monkeypatch,
        module,
        "admit",
        lambda _, sweep, __, stream: steps.append(("admit", int(sweep.taken[stream]))),
    )
    machine = case.machine(algorithm, "nested-loop")
    assert sorted(in_blocks(case, machine, 10, 10)) == [(0, 2), (0, 3), (1, 3), (1, 4)]
    assert steps.index(("admit", 3)) < steps.index(("drop", 0)) < steps.index(("admit", 4))


def test_mode_1_does_not_go_round_for_ever_where_narrow_and_wide_streams_alternate():
    # a is too old for c, b too old for d; but a fits d, and b fits c.
    upper = np.full((4, 4), 10, np.int64)
    np.fill_diagonal(upper, 0)
    upper[0, 2] = upper[1, 3] = 1
    tape = Tape(np.array([0, 3, 2, 5]), np.zeros((4, 0), np.uint64), np.arange(5))
    conditions = TupleConditions(upper, np.zeros((4, 0), np.bool_))
    turns = np.arange(4)
    for order in itertools.permutations(range(4)):
        mixed = TupleConditions(upper[np.ix_(order, order)].copy(), conditions.keyed)
        own = Tape(tape.times[list(order)].copy(), tape.words, tape.first)
        assert len(run_few(own, mixed, turns).combinations) == 0
        for run in (run_gca, run_lca):
            assert len(run(own, mixed, turns, stated=mixed.upper).combinations) == 0


def test_a_slow_stream_lets_few_drop_what_it_cannot_meet_without_a_loop():
    fast = np.arange(0, 1000, 1)
    slow = np.array([500])
    tape = Tape(
        np.concatenate([fast, fast, slow]), np.zeros((2001, 0), np.uint64),
        np.array([0, 1000, 2000, 2001]),
    )  # fmt: skip
    upper = np.where(np.eye(3, dtype=bool), 0, 3).astype(np.int64)
    done = run_few(
        tape, TupleConditions(upper, np.zeros((3, 0), np.bool_)), turns_in_time_order(tape)
    )
    assert done.work[FOUND] == sum(
        abs(a - b) <= 3 for a in range(497, 504) for b in range(497, 504)
    )
    assert done.work[TOUCHED] < 200
    assert done.work[DROPS] > 1900


def test_gca_refines_more_than_lca():
    """Figure 13: all windows small but one, which GCA takes for all and LCA for two streams."""
    rng = np.random.default_rng(7)
    times = [np.sort(rng.integers(0, 400, 60)) for _ in range(4)]
    upper = np.where(np.eye(4, dtype=bool), 0, 10).astype(np.int64)
    upper[0, 1] = upper[1, 0] = 20
    tape = Tape(np.concatenate(times), np.zeros((240, 0), np.uint64), np.arange(5) * 60)
    conditions = TupleConditions(upper, np.zeros((4, 0), np.bool_))
    turns = turns_in_time_order(tape)
    gca = run_gca(tape, conditions, turns, stated=upper)
    lca = run_lca(tape, conditions, turns, stated=upper)
    few = run_few(tape, conditions, turns)
    assert gca.work[FOUND] == lca.work[FOUND] == few.work[FOUND] > 0
    assert gca.work[TOUCHED] > lca.work[TOUCHED] > few.work[TOUCHED]
    assert gca.work[REFINED] > lca.work[REFINED] > 0


@pytest.mark.law
def test_work_is_the_same_whether_it_is_read_in_slices_or_at_the_end():
    tape = Tape(np.array([0, 1, 2, 0, 1, 2]), np.zeros((6, 0), np.uint64), np.array([0, 3, 6]))
    upper = np.array([[0, 1], [1, 0]], np.int64)
    machine = few_machine(tape, TupleConditions(upper, np.zeros((2, 0), np.bool_)), "nested-loop")
    slices = list(in_slices(machine, tape, turns_in_time_order(tape), 2))
    assert sum(int(work[FOUND]) for work in slices) == machine.work[FOUND]
