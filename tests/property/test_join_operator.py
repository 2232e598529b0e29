"""The window join operator against its slow twin, however its input is cut, ordered or resumed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from case_share import share_of
from cases.join_runs import Case, cases, cases_near_the_ends_of_the_scale, expected, same_bag
from cases.join_runs import run as run_case
from hypothesis import given, settings

from windrow.operators.joins.bew_join import BewJoinOp

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)


def run(case: Case) -> list[tuple[int, tuple]]:
    return run_case(case, lambda _: BewJoinOp(case.node))


@EXAMPLES
@given(cases())
def test_every_combination_comes_once_in_the_push_of_its_last_row(case):
    same_bag(run(case), expected(case))


@EXAMPLES
@given(cases())
def test_both_methods_give_the_same_bag(case):
    hashed = run(replace(case, node=replace(case.node, method="hash")))
    looped = run(replace(case, node=replace(case.node, method="nested-loop")))
    same_bag(hashed, looped)


@EXAMPLES
@given(cases())
def test_weak_hashes_cost_time_but_never_a_result(weak_hashes, case):
    same_bag(run(case), expected(case))


@EXAMPLES
@given(cases())
def test_results_do_not_depend_on_the_size_of_blocks(tiny_blocks, case):
    same_bag(run(case), expected(case))


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(cases_near_the_ends_of_the_scale())
def test_times_near_the_ends_of_the_scale_do_not_overflow(case):
    same_bag(run(case), expected(case))
