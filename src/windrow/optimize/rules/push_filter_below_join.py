"""A predicate over a WindowJoin that reads one input only moves into that input.

The result of an inner join is every combination that meets all conditions, so that it makes no
difference when a condition on a single tuple is tested. In an outer join a predicate moves only
into an input whose every row of the answer is one of its own: not into the side that NULLs stand
for where the other, preserved one has no match.

    a LEFT JOIN b WHERE a.x > 1      moves into a
    a LEFT JOIN b WHERE b.x > 1      stays: below, it would turn matched rows into unmatched ones

A predicate that reads no column stays above. So does one on an input with a count window: below, it
would change which tuples are the newest. Bestmatch joins have a rule of their own.

    a [ROWS 5], b [ROWS 5] WHERE a.x > 1      stays: the newest 5 of a, then those with x > 1
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.exprs import Expr
from windrow.plan.nodes import Filter, Node, WindowJoin
from windrow.plan.walk import rewrite


def push_filter_below_join(plan: Node) -> Node:
    """Predicates on a single stream are tested before its tuples are stored and probed."""
    return rewrite(plan, _push)


def _push(node: Node) -> Node:
    if not (isinstance(node, Filter) and isinstance(node.input, WindowJoin)):
        return node
    join = node.input
    moved: list[list[Expr]] = [[] for _ in join.inputs]
    rest: list[Expr] = []
    for predicate in node.predicates:
        home = _only_input(predicate, join)
        (rest if home is None else moved[home]).append(predicate)
    if len(rest) == len(node.predicates):
        return node
    inputs = tuple(
        Filter(child, tuple(predicates)) if predicates else child
        for child, predicates in zip(join.inputs, moved, strict=True)
    )
    below = replace(join, inputs=inputs)
    return Filter(below, tuple(rest)) if rest else below


def _only_input(predicate: Expr, join: WindowJoin) -> int | None:
    """The one input that has all the columns the predicate reads, if it may move there."""
    if not predicate.columns:
        return None
    for i, child in enumerate(join.inputs):
        if set(predicate.columns) <= set(child.schema.names):
            may_move = set(join.preserved) <= {i} and i not in join.sealed
            return i if may_move else None
    return None
