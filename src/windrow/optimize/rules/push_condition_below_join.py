"""A condition of a WindowJoin that reads one input only moves into that input, as a Filter.

A tuple that fails it matches nothing, so that it need not be stored or probed. Where the join
preserves the input, such a tuple is still to be answered for, and the condition stays:

    a LEFT JOIN b ON .. AND b.x > 1      moves into b
    a LEFT JOIN b ON .. AND a.x > 1      stays: a tuple of a with x = 1 comes out, unmatched

So it does where the input has a count window: below, it would change which tuples are the newest.
A condition that reads no column stays.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.exprs import Expr
from windrow.plan.nodes import Filter, Node, WindowJoin
from windrow.plan.walk import rewrite


def push_condition_below_join(plan: Node) -> Node:
    """Conditions on a single stream that is not preserved are tested before the join."""
    return rewrite(plan, _push)


def _push(node: Node) -> Node:
    if not isinstance(node, WindowJoin) or not node.predicates:
        return node
    inputs = []
    rest = list(node.predicates)
    for i, child in enumerate(node.inputs):
        stays = i in node.preserved or i in node.sealed
        moved = tuple(p for p in rest if not stays and _reads_only(p, child))
        inputs.append(Filter(child, moved) if moved else child)
        rest = [predicate for predicate in rest if predicate not in moved]
    if len(rest) == len(node.predicates):
        return node
    return replace(node, inputs=tuple(inputs), predicates=tuple(rest))


def _reads_only(predicate: Expr, child: Node) -> bool:
    return bool(predicate.columns) and set(predicate.columns) <= set(child.schema.names)
