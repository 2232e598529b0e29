"""GCA and LCA count exactly what a plain twin of them does, in any slices and with little room."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.conservative_work import BUCKETS, ConservativeTwin
from twins.join_work import Bounds, Row

from windrow.kernels.bew_period import MOST
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    FOUND,
    KEY_TESTS,
    PROBES,
    REFINED,
    TIME_TESTS,
    TOUCHED,
    WINDOW_TESTS,
    Tape,
    TupleConditions,
)
from windrow_papers.kernels.conservative_machines import GcaMachine, LcaMachine
from windrow_papers.kernels.runs import filled_blocks, last_blocks

pytestmark = pytest.mark.law

COUNTED = {
    PROBES, TOUCHED, WINDOW_TESTS, KEY_TESTS, DROPS, REFINED, FOUND, TIME_TESTS,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """Streams in time order, whose turn it is, a slice of turns at a time, and what joins."""

    streams: list[list[Row]]
    turns: list[int]
    every: int
    room: int
    stated: list[Bounds]

    def slices(self) -> Iterator[list[int]]:
        for start in range(0, len(self.turns), self.every):
            yield self.turns[start : start + self.every]

    @property
    def closed(self) -> Bounds:
        closed = [list(line) for line in self.stated[0]]
        for via, a, b in itertools.product(range(len(closed)), repeat=3):
            closed[a][b] = min(closed[a][b], closed[a][via] + closed[via][b])
        return closed


@st.composite
def bounds(draw, size: int) -> Bounds:
    """A tree of windows, some of them directed, and some pairs more."""
    stated: Bounds = [[0 if a == b else inf for b in range(size)] for a in range(size)]
    for right in range(1, size):
        for left in {draw(st.integers(0, right - 1)), draw(st.integers(0, right - 1))}:
            lo, hi = draw(st.integers(-2, 8)), draw(st.integers(2, 8))
            stated[left][right], stated[right][left] = hi, lo
    return stated


@st.composite
def cases(draw) -> Case:
    size = draw(st.integers(2, 4))
    rows = st.tuples(st.integers(0, 30), st.sampled_from([0, 1, BUCKETS]))
    streams = [
        sorted(draw(st.lists(rows, min_size=2, max_size=8)), key=lambda row: row[0])
        for _ in range(size)
    ]
    arrivals = sorted((row[0], stream) for stream, own in enumerate(streams) for row in own)
    turns = [stream for _, stream in arrivals]
    if draw(st.booleans()):  # streams that are ahead of others
        turns = draw(st.permutations(turns))
    stated = draw(bounds(size))
    both_ways = [stated, [list(line) for line in zip(*stated, strict=True)]]
    return Case(
        streams, turns, draw(st.integers(1, 40)), draw(st.integers(1, 5)),
        both_ways if draw(st.booleans()) else [stated],
    )  # fmt: skip


def by_kernel(case: Case, algorithm: str, method: str) -> list[int]:
    rows = [row for stream in case.streams for row in stream]
    tape = Tape(
        np.array([time for time, _ in rows], np.int64),
        np.array([[key] for _, key in rows], np.uint64),
        np.cumsum([0, *map(len, case.streams)]).astype(np.int64),
    )
    conditions = TupleConditions(
        in_ticks([case.closed])[0], np.ones((len(case.streams), 1), np.bool_)
    )
    make = GcaMachine if algorithm == "gca" else LcaMachine
    machine = make(conditions, in_ticks(case.stated), tape.first, method=method)
    for turns in case.slices():
        list(filled_blocks(machine, tape, np.array(turns, np.int64), room=case.room))
    last_blocks(machine, tape, room=case.room)
    return machine.work.tolist()


def in_ticks(sets: list[Bounds]) -> np.ndarray:
    return np.array(
        [[[MOST if one == inf else one for one in line] for line in bounds] for bounds in sets],
        np.int64,
    )


def by_twin(case: Case, algorithm: str, method: str) -> list[int]:
    twin = ConservativeTwin(
        case.closed, case.stated, is_local=algorithm == "lca", is_hashed=method == "hash"
    )
    rows = [iter(stream) for stream in case.streams]
    for turns in case.slices():
        twin.arrive([(stream, next(rows[stream])) for stream in turns])
    return twin.finish()


@pytest.mark.parametrize("method", ["nested-loop", "hash"])
@pytest.mark.parametrize("algorithm", ["gca", "lca"])
def test_every_look_up_comparison_refinement_and_drop_is_counted(algorithm, method):
    total = np.zeros(10, np.int64)

    @settings(max_examples=share_of(60), deadline=None, derandomize=True)
    @given(case=cases())
    def holds(case):
        work = by_kernel(case, algorithm, method)
        assert work == by_twin(case, algorithm, method)
        np.add(total, work, out=total)

    holds()
    assert set(np.flatnonzero(total)) == COUNTED
