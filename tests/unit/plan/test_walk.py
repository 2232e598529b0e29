from __future__ import annotations

from plans import Bound, expr, join, scan, stream

from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.scan import Scan

A, B = (scan(stream(name, {"k": "int"})) for name in "ab")
JOIN = join({"a": A, "b": Filter(B, (expr("b.k > 1"),))}, "a.k = b.k", Bound(0, 1, 5, 5))


def test_parents_come_before_their_inputs_and_inputs_from_left_to_right():
    assert [type(n).__name__ for n in JOIN.walk()] == ["WindowJoin", "Scan", "Filter", "Scan"]


def test_a_node_whose_inputs_did_not_change_is_the_same_object():
    assert JOIN.with_inputs(JOIN.inputs) is JOIN
    assert JOIN.rewrite(lambda node: node) is JOIN


def test_a_rewrite_sees_inputs_that_were_rewritten_before():
    def windowed(node):
        return Range(node, 5) if isinstance(node, Scan) else node

    a, b = JOIN.rewrite(windowed).inputs
    assert a == Range(A, 5)
    assert b == Filter(Range(B, 5), (expr("b.k > 1"),))
