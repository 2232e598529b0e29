"""A rule that is added to the planner's changes plans, and no answer."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from bags import bag
from plans import plans_of
from sessions import session

from windrow.optimize import planner
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.filter import Filter

SQL = "SELECT a.v FROM a [RANGE 5] WHERE a.v > 1 AND a.v < 9 AND a.k = 1"
ROWS = {"t": list(range(8)), "k": [1, 2] * 4, "v": pa.array([0.0, 2, 3, 4, 9, 1, 7, 8])}


def longest_first(node: Node) -> Node:
    """The plan with the longest condition of every filter in front."""
    below = node.with_inputs([longest_first(child) for child in node.inputs])
    if not isinstance(below, Filter):
        return below
    predicates = sorted(below.predicates, key=lambda one: (-len(one.text), one.text))
    return replace(below, predicates=tuple(predicates))


def conditions(w) -> list[str]:
    plan = planner.apply_rules(plans_of(w, SQL)[0].root)
    (found,) = [node for node in plan.walk() if isinstance(node, Filter)]
    return [one.text for one in found.predicates]


def asked():
    w = session({"a": ROWS}, time="t")
    return conditions(w), bag(w.sql(SQL).to_arrow())


def test_a_rule_that_is_added_runs_with_the_others_and_the_rows_are_the_same(monkeypatch):
    plain, rows = asked()
    monkeypatch.setattr(planner, "RULES", (*planner.RULES, longest_first))
    ordered, same = asked()
    assert sorted(ordered) == sorted(plain)
    assert ordered == sorted(plain, key=lambda text: (-len(text), text))
    assert ordered != plain
    assert rows == same
    assert rows.total() > 0
