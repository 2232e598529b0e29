from __future__ import annotations

from plans import Bound, expr, join, scan, stream

from windrow.plan.nodes import Filter, Range, Scan
from windrow.plan.walk import rewrite, walk, with_children

A, B = (scan(stream(name, {"k": "int"})) for name in "ab")
JOIN = join({"a": A, "b": Filter(B, (expr("b.k > 1"),))}, "a.k = b.k", Bound(0, 1, 5, 5))


def test_parents_come_before_their_inputs_and_inputs_from_left_to_right():
    assert [type(n).__name__ for n in walk(JOIN)] == ["WindowJoin", "Scan", "Filter", "Scan"]


def test_a_node_whose_inputs_did_not_change_is_the_same_object():
    assert with_children(JOIN, JOIN.inputs) is JOIN
    assert rewrite(JOIN, lambda node: node) is JOIN


def test_a_rewrite_sees_inputs_that_were_rewritten_before():
    def windowed(node):
        return Range(node, 5) if isinstance(node, Scan) else node

    a, b = rewrite(JOIN, windowed).inputs
    assert a == Range(A, 5)
    assert b == Filter(Range(B, 5), (expr("b.k > 1"),))
