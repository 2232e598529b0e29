"""A predicate over DISTINCT, UNION or UNION ALL moves into each of its inputs.

Copies of a row are alike to a predicate, so that it keeps all of them or none: the numbers of
copies, and what follows from them, are the same before and after. Below, fewer rows are kept.

Over EXCEPT and INTERSECT it stays: below, it would be asked of rows that are not in the answer, and
might have no value for one of them.

A predicate that reads floating-point numbers stays: -0.0 and 0.0 are one row, shown as 0.0, which
below could be told apart. So does one that reads no column, or calls a function of the user's, which
is called no more often than the query says. What only hands rows on (UNION ALL) passes all of them.
"""

from __future__ import annotations

from windrow.optimize.needs import is_union_all
from windrow.plan.exprs import Expr
from windrow.plan.nodes import Filter, Node, SetOperation
from windrow.plan.walk import rewrite, with_children

SHOW_ALL = {"distinct", "union", "union all"}
"""The kinds of set operation that show every row of every input."""


def push_filter_below_set_operation(plan: Node) -> Node:
    """Rows that no one asks for are not counted."""
    return rewrite(plan, _push)


def _push(node: Node) -> Node:
    if not (isinstance(node, Filter) and isinstance(node.input, SetOperation)):
        return node
    operation = node.input
    if operation.kind not in SHOW_ALL:
        return node
    floating = {f.name for f in operation.schema.fields if _may_float(f.type)}
    moved = tuple(p for p in node.predicates if is_union_all(operation) or _may_move(p, floating))
    if not moved:
        return node
    below = with_children(operation, [Filter(child, moved) for child in operation.inputs])
    rest = tuple(p for p in node.predicates if p not in moved)
    return Filter(below, rest) if rest else below


def _may_move(predicate: Expr, floating: set[str]) -> bool:
    read = set(predicate.columns)
    return bool(read) and not predicate.calls and read.isdisjoint(floating)


def _may_float(type_: str) -> bool:
    """Whether values of a type may hold a floating-point number, inside nested ones too."""
    return "float" in type_ or "double" in type_
