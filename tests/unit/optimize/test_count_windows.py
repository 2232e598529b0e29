"""Rules around count windows: a window is of the stream, and conditions are asked of what it holds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plans import expr, join, like, query, renamed, scan, stream

from windrow.errors import PlanError, UnsupportedError
from windrow.optimize.planner import apply_rules, optimize
from windrow.optimize.rules import (
    absorb_filters,
    filter_keys_of_one_input,
    push_filters,
    push_own_conditions,
)
from windrow.physical.nodes.count_join import CountJoin
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.options import Options
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.window_join import CountWindowJoin
from windrow.plan.windows import CountWindows, OwnWindow

SALES = stream("sales", {"item": "int", "store": "int", "price": "double"})
A, B = scan(SALES, "a"), scan(SALES, "b")
CHEAP, NEAR = expr("a.price < 4"), expr("b.store = 1")
ROWS, RANGE = OwnWindow(5), OwnWindow(ticks=9)


def counted(
    a: OwnWindow = ROWS, b: OwnWindow = RANGE, within: int | None = None
) -> CountWindowJoin:
    found = join({"a": A, "b": B}, "a.item = b.item")
    return like(found, CountWindowJoin, counts=CountWindows((a, b), within))


def test_a_filter_stays_above_a_count_window_and_goes_below_a_window_of_time():
    pushed = push_filters(Filter(counted(), (CHEAP, NEAR)))
    assert pushed == Filter(replace(counted(), inputs=(A, Filter(B, (NEAR,)))), (CHEAP,))


def test_no_filter_goes_below_tuples_that_are_numbered_together():
    whole = Filter(counted(OwnWindow(), OwnWindow(), 7), (CHEAP, NEAR))
    assert push_filters(whole) is whole


def test_what_may_not_go_below_a_count_window_is_tested_in_the_join():
    inside = absorb_filters(Filter(counted(), (CHEAP,)))
    assert inside == replace(counted(), predicates=(CHEAP,))
    assert push_own_conditions(inside) is inside


def test_a_condition_of_the_join_goes_below_a_window_of_time_alone():
    both = replace(counted(), predicates=(CHEAP, NEAR))
    pushed = push_own_conditions(both)
    assert pushed == replace(counted(), inputs=(A, Filter(B, (NEAR,))), predicates=(CHEAP,))


def test_equal_columns_of_one_stream_are_compared_in_the_join():
    found = join({"a": A, "b": B}, "a.item = b.item,a.store = b.item,b.store = b.item")
    split = filter_keys_of_one_input(like(found, CountWindowJoin, counts=counted().counts))
    assert split.inputs[0] is A
    assert isinstance(split.inputs[1], Filter)
    assert [predicate.text for predicate in split.predicates] == ["a.item = a.store"]


def test_all_columns_reach_a_count_window_for_they_order_its_tuples():
    plan = apply_rules(renamed(Filter(counted(), (CHEAP,)), {"item": "a.item"}))
    assert isinstance(plan, Project)
    found = plan.input
    assert isinstance(found, CountWindowJoin)
    assert found.inputs[0].schema.names == A.schema.names
    assert found.inputs[1].schema.names == ("b.item",)


def test_the_windows_reach_the_physical_join():
    root = optimize(query(renamed(counted(), {"item": "a.item"})), Options()).root
    found = root.input
    assert isinstance(found, CountJoin)
    assert found.counts == counted().counts
    assert found.keep == (("a.item",), ())
    first = found.inputs[0]
    assert isinstance(first, ScanStream)
    assert first.columns == ("ts", "item", "store", "price")


@pytest.mark.parametrize("algorithm", ["few", "gca", "hw", "xjoin"])
def test_algorithms_that_know_time_alone_are_refused(algorithm):
    with pytest.raises(UnsupportedError) as caught:
        optimize(query(renamed(counted(), {"i": "a.item"})), Options(algorithm=algorithm))
    assert str(caught.value) == (
        "UnsupportedError[unsupported-algorithm-of-count-window]: the algorithm "
        f"{algorithm} does not run the join of a and b\n"
        "  it handles windows of time, and these count tuples\n"
        "  hint: use algorithm bew"
    )


def test_a_stream_without_a_window_is_refused_however_the_plan_was_built():
    with pytest.raises(PlanError) as caught:
        counted(b=OwnWindow()).verify()
    assert str(caught.value) == (
        "PlanError[unbounded-state]: the join of a and b keeps tuples of b forever\n"
        "  no window says which tuples of b are there\n"
        "  hint: give it one, for instance b [ROWS 100]"
    )
    counted(b=OwnWindow(), within=3).verify()
