"""Outer, semi and anti joins on their way from a logical plan to a node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from plans import Bound, expr, join, like, query, renamed, scan, stream

from windrow.errors import PlanError, UnsupportedError
from windrow.optimize.choose.physical_node import choose
from windrow.optimize.planner import optimize
from windrow.physical.nodes.outer_join import CandidatesJoin, OuterJoin
from windrow.physical.options import Options
from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.window_aggregate import Aggregate, WindowAggregate
from windrow.plan.nodes.window_join import CandidateJoin, OuterWindowJoin
from windrow.registry import load

SALES = stream("sales", {"k": "int", "x": "int", "y": "int"})
A, B = scan(SALES, "a"), scan(SALES, "b")
KINDS = ("left", "right", "full", "semi", "anti")


def planned(kind: str, bound: Bound, options: Options | None = None, **parts: Any) -> OuterJoin:
    node = like(join({"a": A, "b": B}, "a.k = b.k", bound), OuterWindowJoin, kind=kind, **parts)
    root = optimize(query(renamed(node, {"x": f"{'b' if kind == 'right' else 'a'}.x"})), options or Options()).root  # fmt: skip
    return root.input


def test_rows_that_come_alone_trail_the_watermark_by_their_own_reach():
    bound = Bound(0, 1, lo=3, hi=7)  # b comes at most 7 after a, a at most 3 after b
    delays = {kind: planned(kind, bound).delay for kind in KINDS}
    assert delays == {"left": 7, "right": 3, "full": 7, "semi": 7, "anti": 7}
    assert planned("left", bound).inputs[0].delay == 0


def test_rows_that_are_final_as_they_come_trail_nothing():
    before = Bound(0, 1, lo=9, hi=-2)  # matches of a lie before it
    assert planned("left", before).delay == 0
    assert planned("right", before).delay == 9


def test_a_semi_or_anti_join_carries_columns_of_the_first_input_alone():
    for kind in ("semi", "anti"):
        node = planned(kind, Bound(0, 1, 5, 5))
        assert node.keep == (("a.x",), ())
        assert node.inputs[1].schema.names == ("b.k",)


def test_a_condition_reads_columns_that_the_answer_does_not_show():
    node = planned("left", Bound(0, 1, 5, 5), predicates=(expr("a.y < b.y"),))
    assert node.keep == (("a.x",), ())
    assert [p.text for p in node.predicates] == ["a.y < b.y"]
    assert node.inputs[1].schema.names == ("b.k", "b.y")


@pytest.mark.parametrize("kind", KINDS)
def test_an_algorithm_for_inner_joins_alone_is_refused(kind):
    node = like(join({"a": A, "b": B}, "a.k = b.k", Bound(0, 1, 5, 5)), OuterWindowJoin, kind=kind)
    with pytest.raises(UnsupportedError, match="unsupported-algorithm-of-outer-join"):
        choose(node, Options(algorithm="few"))


@pytest.mark.parametrize("algorithm", ["bew", "bew-hash", "bew-nested-loop"])
def test_bew_takes_every_kind(algorithm):
    node = planned("full", Bound(0, 1, 5, 5), Options(algorithm=algorithm))
    assert node.method == ("nested-loop" if algorithm == "bew-nested-loop" else "hash")


def test_a_condition_on_which_engines_differ_is_refused_unless_it_can_go_below():
    ours = replace(expr("sqrt(a.x) > 1"), is_portable=False)
    theirs = replace(expr("sqrt(b.x) > 1"), is_portable=False)
    assert planned("left", Bound(0, 1, 5, 5), predicates=(theirs,)).predicates == ()
    with pytest.raises(UnsupportedError, match="unsupported-condition-of-outer-join"):
        planned("left", Bound(0, 1, 5, 5), predicates=(ours,))


def test_an_aggregate_needs_windows_on_every_side_that_stands_alone():
    inner = join({"a": A, "b": Range(B, 5)}, "a.k = b.k", Bound(0, 1, 5, 5))
    node = like(inner, OuterWindowJoin, kind="left")
    counted = WindowAggregate(node, (), (Aggregate("count", None, "g.n", "bigint"),))
    with pytest.raises(PlanError, match="unbounded-state"):
        optimize(query(renamed(counted, {"n": "g.n"}), is_changelog=True), Options())


def test_candidates_are_a_join_of_their_own_and_checkpoints_know_them():
    near = like(join({"a": A, "b": B}, "a.k = b.k", Bound(0, 1, 5, 5)), CandidateJoin, kind="left")
    found = choose(near, Options())
    assert isinstance(found, CandidatesJoin)
    outer = OuterJoin(**found.common(), kind="left")
    assert (found.delay, outer.delay) == (0, 5)
    assert found.identity() == (*outer.identity(), ("at_once", True))
    assert isinstance(load(found.operator)(found), load(outer.operator))
