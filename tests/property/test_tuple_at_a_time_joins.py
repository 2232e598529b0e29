"""The algorithms that answer on arrival, tuple by tuple, as operators, against the slow twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.join_runs import (
    Case,
    cases,
    cases_near_the_ends_of_the_scale,
    expected,
    run,
    same_bag,
    scan,
)
from cases.tape import TAPES
from hypothesis import given, settings

from windrow.kernels.tuple_at_a_time import pipeline_machine
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import Operator
from windrow.operators.joins.bew_join import BewJoinOp
from windrow.operators.joins.tuple_at_a_time import lanes, results
from windrow.operators.joins.tuple_at_a_time.arrival_join import ArrivalJoinOp
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.time_join import TimeJoin
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import Field, Schema

pytestmark = pytest.mark.law

ALGORITHMS = ["bew-tuple-at-a-time", "bew-graph", "closure", "ripple", "nlw", "hw", "xjoin"]
EXAMPLES = settings(max_examples=share_of(30), deadline=None, derandomize=True)
"""Per algorithm: a law that all seven must keep is tried 210 times."""


def operator(case: Case, algorithm: str) -> Operator:
    return ArrivalJoinOp(replace(case.node, algorithm=algorithm))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@EXAMPLES
@given(case=cases(most_inputs=6))
def test_every_combination_comes_once_in_the_push_of_its_last_row(algorithm, case):
    same_bag(run(case, lambda _: operator(case, algorithm)), expected(case))


@settings(EXAMPLES, max_examples=share_of(100))
@given(case=cases(most_inputs=6), choices=TAPES)
def test_any_algorithm_goes_on_from_the_state_of_any_other(case, choices):
    case = replace(case, resumes=tuple(range(len(case.cuts))))

    def next_operator(_):
        algorithm = choices.choice([*ALGORITHMS, "production"])
        return BewJoinOp(case.node) if algorithm == "production" else operator(case, algorithm)

    same_bag(run(case, next_operator), expected(case))


@pytest.fixture(scope="module")
def little_room():
    """Room for three combinations and two tuples, so that all is cut and moved many times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "MOST_FOUND", 3)
        patch.setattr(lanes, "LEAST_ROOM", 2)
        patch.setattr(pipeline_machine, "SMALLEST_STORE", 2)
        yield


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@EXAMPLES
@given(case=cases())
def test_results_do_not_depend_on_room(little_room, algorithm, case):
    same_bag(run(case, lambda _: operator(case, algorithm)), expected(case))


@pytest.mark.parametrize("algorithm", ["bew-tuple-at-a-time", "closure", "nlw", "hw"])
@EXAMPLES
@given(case=cases())
def test_weak_hashes_cost_time_but_never_a_result(weak_hashes, algorithm, case):
    same_bag(run(case, lambda _: operator(case, algorithm)), expected(case))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(EXAMPLES, max_examples=share_of(15))
@given(case=cases())
def test_rows_on_disk_are_joined_as_those_in_memory(algorithm, case, tmp_path_factory):
    folder = tmp_path_factory.mktemp("spilled")

    class Spilling(ArrivalJoinOp):
        def advance(self, watermark):
            yield from super().advance(watermark)
            for buffer in self.buffers():
                for part in buffer.slices:
                    part.chunk.spill(folder)

    node = replace(case.node, algorithm=algorithm)
    same_bag(run(case, lambda _: Spilling(node)), expected(case))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@EXAMPLES
@given(case=cases_near_the_ends_of_the_scale())
def test_times_near_the_ends_of_the_scale_do_not_overflow(algorithm, case):
    same_bag(run(case, lambda _: operator(case, algorithm)), expected(case))


@pytest.mark.parametrize("algorithm", ["nlw", "hw"])
@settings(EXAMPLES, max_examples=share_of(50))
@given(case=cases())
def test_what_is_kept_between_levels_is_what_its_tuples_allow(algorithm, case):
    # Two runs of one case, one resumed after every push: replaying the rows alone gives the same
    # partial combinations as were kept all along.
    def counted(resumes):
        counts = []

        def next_operator(_):
            built = operator(case, algorithm)
            advance = built.advance

            def and_count(watermark):
                yield from advance(watermark)
                counts.append(built.counters.intermediate)

            built.advance = and_count
            return built

        run(replace(case, resumes=resumes), next_operator)
        return counts

    assert counted(()) == counted(tuple(range(len(case.cuts))))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("method", ["hash", "nested-loop"])
def test_what_is_held_does_not_grow_while_one_stream_stalls(algorithm, method):
    """No tuple of b comes, so that no loop from a ever gets to c; all the same, old ones go."""
    aliases = ("a", "b", "c")
    classes = (KeyClass(("a.k", "b.k", "c.k"), "bigint"),)
    bounds = (Bound(0, 1, 10, 10), Bound(1, 2, 10, 10))
    node = TimeJoin(
        tuple(scan(alias, Schema((Field(f"{alias}.k", "bigint"),))) for alias in aliases),
        aliases, classes, WindowGraph(aliases, bounds), ((), (), ("c.k",)),
        method, Schema((Field("c.k", "bigint"),)), algorithm=algorithm,
    )  # fmt: skip
    join = ArrivalJoinOp(node)
    held = []
    for start in range(0, 30_000, 200):
        times = np.arange(start, start + 200)
        columns = [pa.RecordBatch.from_arrays([pa.array(times)], names=[f"{x}.k"]) for x in "ac"]
        first, last = (ChangeBatch(own, times) for own in columns)
        assert not list(join.push([first, None, last]))
        assert not list(join.advance(start + 200))
        held.append(join.counters.state_bytes)
    if algorithm == "ripple":
        # Lanes have room for twice what came since a cleaning, 24 bytes each: when they are laid
        # out anew, and how much is then on them, differs from one cleaning to the next.
        assert max(held) <= 2 * 24 * (10_000 + 2 * 200) + 20_000
    else:
        assert max(held) == max(held[: len(held) // 2])
