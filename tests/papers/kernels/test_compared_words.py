"""FEW with comparisons in its loops, in any order of streams, against every combination tested."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.kernels.tuple_at_a_time.sweep import Compared
from windrow.kernels.tuple_at_a_time.sweep_machine import FewMachine
from windrow.kernels.tuple_at_a_time.tape import TOUCHED, Tape, TupleConditions, room_for
from windrow_papers.kernels.runs import last_blocks, turns_in_time_order

pytestmark = pytest.mark.slow


def few(tape, conditions, order, *, room=1 << 12, **given_: Any):
    """The combinations that FEW finds, and the tuples that its loops looked at."""
    machine, turns = FewMachine(conditions, tape.first, order, **given_), turns_in_time_order(tape)
    found, out, is_through = room_for(room, len(conditions.upper)), [], False
    machine.begin(tape, turns)
    while not is_through:
        found.filled[0] = 0
        is_through = machine.fill(tape, found)
        out += map(tuple, found.positions[: found.filled[0]].tolist())
    for block in last_blocks(machine, tape, room=room):
        out += map(tuple, block.tolist())
    return sorted(out), int(machine.work[TOUCHED])


@st.composite
def cases(draw):
    size, classes, more = draw(st.integers(2, 4)), draw(st.integers(0, 1)), draw(st.integers(1, 3))
    upper = np.full((size, size), 1 << 40, np.int64)
    np.fill_diagonal(upper, 0)
    for a, b in itertools.pairwise(range(size)):
        upper[a, b], upper[b, a] = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    for via, a, b in itertools.product(range(size), repeat=3):
        upper[a, b] = min(upper[a, b], upper[a, via] + upper[via, b])
    times = [sorted(draw(st.lists(st.integers(0, 12), max_size=6))) for _ in range(size)]
    total = sum(map(len, times))
    word = st.sampled_from([0, 1, 2, 1 << 63, (1 << 64) - 1])
    words = np.array(
        [[draw(word) for _ in range(classes + more)] for _ in range(total)], np.uint64
    ).reshape(total, classes + more)
    first = np.cumsum([0, *map(len, times)]).astype(np.int64)
    tape = Tape(np.array([t for own in times for t in own], np.int64), words, first)
    comparisons = [
        Compared(classes + at, *draw(st.permutations(range(size)))[:2]) for at in range(more)
    ]
    others = [[one for one in range(size) if one != start] for start in range(size)]
    order = np.array([[start, *draw(st.permutations(own))] for start, own in enumerate(others)])
    keyed = np.ones((size, classes), np.bool_)
    return tape, TupleConditions(upper, keyed), comparisons, order


def expected(tape, conditions, comparisons):
    streams = [range(a, b) for a, b in itertools.pairwise(tape.first)]
    pairs = list(itertools.permutations(range(len(streams)), 2))
    return [
        found
        for found in itertools.product(*streams)
        if all(
            tape.times[found[j]] - tape.times[found[i]] <= conditions.upper[i, j]
            and (
                not conditions.keyed.shape[1] or tape.words[found[i], 0] == tape.words[found[j], 0]
            )
            for i, j in pairs
        )
        and all(
            tape.words[found[one.lesser], one.column] <= tape.words[found[one.greater], one.column]
            for one in comparisons
        )
    ]


@pytest.mark.law
@pytest.mark.parametrize("method", ["nested-loop", "hash"])
@settings(max_examples=share_of(100), deadline=None, derandomize=True)
@given(case=cases(), room=st.integers(1, 5))
def test_every_combination_that_passes_comes_once(method, case, room):
    tape, conditions, comparisons, order = case
    found, _ = few(tape, conditions, order, room=room, method=method, comparisons=comparisons)
    assert found == expected(tape, conditions, comparisons)


def test_what_does_not_pass_is_looked_at_once_and_not_joined_further():
    rows, streams = 60, 3
    times = np.tile(np.arange(rows), streams)
    words = np.zeros((rows * streams, 1), np.uint64)
    words[:rows] = 1  # no word of stream 0 stands up to one of stream 1
    tape = Tape(times, words, np.arange(streams + 1) * rows)
    upper = np.where(np.eye(streams, dtype=bool), 0, 20).astype(np.int64)
    conditions = TupleConditions(upper, np.zeros((streams, 0), np.bool_))
    order = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
    none, touched = few(tape, conditions, order, comparisons=[Compared(0, 0, 1)])
    whole, all_touched = few(tape, conditions, order)
    assert none == []
    assert len(whole) > 10_000
    assert touched < all_touched / 2
