"""The algorithms that sweep in time order, as operators, against the slow twin."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from case_share import share_of
from cases.join_runs import (
    Case,
    batch_of,
    cases,
    cases_near_the_ends_of_the_scale,
    expected,
    result_rows,
    same_bag,
    stored_and_read_back,
)
from cases.tape import TAPES
from hypothesis import given, settings

from windrow.operators.engine.base import Operator
from windrow.operators.joins.bew_join import BewJoinOp
from windrow.operators.joins.tuple_at_a_time import lanes, results
from windrow.operators.joins.tuple_at_a_time.arrival_join import ArrivalJoinOp
from windrow.operators.joins.tuple_at_a_time.sweep_join import SweepJoinOp
from windrow.schema import MAX_TICK, MIN_TICK

pytestmark = pytest.mark.law

ALGORITHMS = ["few", "gca", "lca"]
EXAMPLES = settings(max_examples=share_of(35), deadline=None, derandomize=True)
"""Per algorithm: a law that all must keep is tried 100 times and more."""


def operator(case: Case, algorithm: str) -> Operator:
    if algorithm == "production":
        return BewJoinOp(case.node)
    make = SweepJoinOp if algorithm in ALGORITHMS else ArrivalJoinOp
    return make(replace(case.node, algorithm=algorithm))


@dataclass
class Run:
    """A run under way: its operator, what came out, and the watermark."""

    case: Case
    operator: Operator
    out: list[tuple]
    watermark: int = MIN_TICK

    def step(self, batches, watermark: int) -> None:
        for result in self.operator.push(batches):
            self.out += result_rows(result, self.case.node)
        due, held = self.operator.due(), self.operator.counters.stored
        given_before = len(self.out)
        for result in self.operator.advance(watermark):
            assert len(result)
            self.out += result_rows(result, self.case.node)
        if watermark < due:
            assert len(self.out) == given_before
            assert self.operator.counters.stored == held
        self.watermark = watermark
        self.check_state()

    def check_state(self) -> None:
        """No row is held that nothing to come can reach, waiting or not."""
        held = 0
        for port, slices in self.operator.snapshot().buffers.items():
            held += sum(map(len, slices))
            for part in slices:
                needed = part.first + self.case.node.retention(int(port)) >= self.watermark
                assert needed
                assert self.watermark < MAX_TICK
        assert self.operator.counters.stored == held

    def resume(self, algorithm: str) -> None:
        snapshot = stored_and_read_back(self.operator.snapshot())
        self.operator = operator(self.case, algorithm)
        self.operator.restore(snapshot)


def run(case: Case, algorithms) -> list[tuple]:
    """All results; `algorithms` gives the one to go on with, by how often it was asked.

    After every step exactly the combinations below the watermark have been given, beside some
    that could be given before.
    """
    asked = 0
    wanted = [row for _, row in expected(case)]
    state = Run(case, operator(case, algorithms(asked)), [])
    positions = [0] * len(case.rows)
    for number, cut in enumerate(case.cuts):
        batches = []
        for port, taken in enumerate(cut):
            rows = case.rows[port][positions[port] : positions[port] + taken]
            batches.append(batch_of(case, port, rows) if rows or number % 2 else None)
            positions[port] += taken
        rest = [row.time for own, at in zip(case.rows, positions, strict=True) for row in own[at:]]
        watermark = min(rest) - case.slack if rest else MAX_TICK
        state.step(batches, max(state.watermark, watermark))
        same_bag(below(state.out, watermark), below(wanted, watermark))
        if number in case.resumes:
            asked += 1
            state.resume(algorithms(asked))
    return state.out


def below(rows: list[tuple], watermark: int) -> list[tuple]:
    return [row for row in rows if row[-2] < watermark]


def all_rows(case: Case) -> list[tuple]:
    return [row for _, row in expected(case)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@EXAMPLES
@given(case=cases(most_inputs=6))
def test_every_combination_comes_once_as_the_watermark_passes_it(algorithm, case):
    same_bag(run(case, lambda _: algorithm), all_rows(case))


@settings(EXAMPLES, max_examples=share_of(100))
@given(case=cases(most_inputs=6), choices=TAPES)
def test_any_algorithm_goes_on_from_the_state_of_any_other(case, choices):
    case = replace(case, resumes=tuple(range(len(case.cuts))))
    others = ["production", "bew-tuple-at-a-time", "closure"]
    same_bag(run(case, lambda _: choices.choice([*ALGORITHMS, *others])), all_rows(case))


@pytest.fixture(scope="module")
def little_room():
    """Room for three combinations and two tuples, so that all is cut and moved many times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "MOST_FOUND", 3)
        patch.setattr(lanes, "LEAST_ROOM", 2)
        yield


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@EXAMPLES
@given(case=cases())
def test_results_do_not_depend_on_room(little_room, algorithm, case):
    same_bag(run(case, lambda _: algorithm), all_rows(case))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@EXAMPLES
@given(case=cases())
def test_weak_hashes_cost_time_but_never_a_result(weak_hashes, algorithm, case):
    same_bag(run(case, lambda _: algorithm), all_rows(case))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(EXAMPLES, max_examples=share_of(20))
@given(case=cases())
def test_rows_on_disk_are_joined_as_those_in_memory(algorithm, case, tmp_path_factory):
    folder = tmp_path_factory.mktemp("spilled")
    step = Run.step

    def and_spill(state: Run, batches, watermark: int) -> None:
        step(state, batches, watermark)
        for buffer in state.operator.buffers():
            for part in buffer.slices:
                part.chunk.spill(folder)
                assert part.chunk.memory_bytes == 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "step", and_spill)
        same_bag(run(case, lambda _: algorithm), all_rows(case))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@EXAMPLES
@given(case=cases_near_the_ends_of_the_scale())
def test_times_near_the_ends_of_the_scale_do_not_overflow(algorithm, case):
    same_bag(run(case, lambda _: algorithm), all_rows(case))
