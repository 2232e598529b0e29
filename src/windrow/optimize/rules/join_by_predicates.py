"""A predicate over several inputs of a window join moves from the Filter above into the join.

There it is tested as soon as a combination holds the inputs that it reads, before further inputs
multiply the combination. Every predicate stands in one place: it leaves the Filter.

What stays above: a predicate on which the engine of the session and that of the join would not
agree (see `sql/portable.py`), and one that reads no column. Only inner joins: in any other, a
condition above the join says which of its rows to keep, one inside says which rows match. A predicate
on a single input with a count window, which may not go below the join, is tested inside as well.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.exprs import Expr
from windrow.plan.nodes import Filter, Node, WindowJoin
from windrow.plan.walk import rewrite


def join_by_predicates(plan: Node) -> Node:
    """Predicates on several streams are tested while combinations are built."""
    return rewrite(plan, _move)


def _move(node: Node) -> Node:
    if not (isinstance(node, Filter) and isinstance(node.input, WindowJoin)):
        return node
    join = node.input
    moved = tuple(p for p in node.predicates if join.kind == "inner" and _belongs(p, join))
    if not moved:
        return node
    # The predicates of one place are asked in their order; those inside came from below.
    inside = join.predicates + tuple(p for p in moved if p not in join.predicates)
    rest = tuple(p for p in node.predicates if p not in moved)
    below = replace(join, predicates=inside)
    return Filter(below, rest) if rest else below


def _belongs(predicate: Expr, join: WindowJoin) -> bool:
    read = set(predicate.columns)
    inputs = [child for child in join.inputs if not read.isdisjoint(child.schema.names)]
    is_sealed = any(join.inputs[port] in inputs for port in join.sealed)
    return predicate.is_portable and (len(inputs) > 1 or is_sealed)
