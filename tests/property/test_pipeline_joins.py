"""The pipelines of window joins, as operators, against the slow twin."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases.join_runs import Case, cases, expected, run, same_bag
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.kernels.published import levels
from windrow.operators import key_columns
from windrow.operators.base import Operator
from windrow.operators.bew_join import BewJoinOp
from windrow.operators.published import arrival, lanes
from windrow.operators.published.arrival import ArrivalJoinOp

PIPELINES = ["nlw", "hw", "xjoin"]
EXAMPLES = settings(max_examples=100, deadline=None, derandomize=True)
"""Per algorithm: a law that all must keep is tried 200 times and more."""


def operator(case: Case, algorithm: str) -> Operator:
    return ArrivalJoinOp(replace(case.spec, algorithm=algorithm))


@pytest.mark.parametrize("algorithm", PIPELINES)
@EXAMPLES
@given(case=cases(most_inputs=6))
def test_every_combination_comes_once_in_the_push_of_its_last_row(algorithm, case):
    same_bag(run(case, lambda _: operator(case, algorithm)), expected(case))


@settings(EXAMPLES, max_examples=200)
@given(case=cases(most_inputs=6), choices=st.randoms(use_true_random=False))
def test_pipelines_go_on_from_any_algorithm_and_any_from_them(case, choices):
    case = replace(case, resumes=tuple(range(len(case.cuts))))

    def next_operator(_):
        algorithm = choices.choice([*PIPELINES, "closure", "production"])
        return BewJoinOp(case.spec) if algorithm == "production" else operator(case, algorithm)

    same_bag(run(case, next_operator), expected(case))


@pytest.fixture(scope="module")
def little_room():
    """Room for three combinations and two tuples, so that all is cut and moved many times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrival, "MOST_FOUND", 3)
        patch.setattr(lanes, "LEAST_ROOM", 2)
        patch.setattr(levels, "SMALLEST_STORE", 2)
        yield


@pytest.mark.parametrize("algorithm", PIPELINES)
@EXAMPLES
@given(case=cases())
def test_results_do_not_depend_on_room(little_room, algorithm, case):
    same_bag(run(case, lambda _: operator(case, algorithm)), expected(case))


@pytest.fixture(scope="module")
def weak_hashes():
    """Hashes of texts and lists with one bit, so that most candidates are wrong."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("hashed_bytes", "hashed_lists"):
            strong = getattr(key_columns.kernels, name)
            patch.setattr(key_columns.kernels, name, lambda a, b, strong=strong: strong(a, b) & 1)
        yield


@pytest.mark.parametrize("algorithm", ["nlw", "hw"])
@EXAMPLES
@given(case=cases())
def test_weak_hashes_cost_time_but_never_a_result(weak_hashes, algorithm, case):
    same_bag(run(case, lambda _: operator(case, algorithm)), expected(case))


@pytest.mark.parametrize("algorithm", ["nlw", "hw"])
@EXAMPLES
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
