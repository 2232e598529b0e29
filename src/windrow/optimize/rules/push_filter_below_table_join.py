"""A predicate over a TableJoin moves to where it costs least.

    what it reads        inner               left                semi, anti
    rows alone           below, to the rows  below, to the rows  below, to the rows
    the table alone      into the table      stays               (not in reach)
    both                 into the join       stays               (not in reach)

Over a left join a predicate on the table sees the NULLs of rows without a match: inside, it would
decide which rows match. A condition of the join itself that reads the table alone is tested on the
table, once, whatever the kind; one that reads the rows alone goes below an inner or a semi join.
Predicates that call functions of the user's do not go into the join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.plan.exprs import Expr
from windrow.plan.nodes import Filter, Node, TableJoin
from windrow.plan.walk import rewrite


def push_filter_below_table_join(plan: Node) -> Node:
    """Conditions on one side of a join with a table are tested before it."""
    return rewrite(plan, _push)


def _push(node: Node) -> Node:
    if isinstance(node, TableJoin):
        return _own(node)
    if not (isinstance(node, Filter) and isinstance(node.input, TableJoin)):
        return node
    join = node.input
    on_rows = _reading_only(node.predicates, join.input)
    inside: tuple[Expr, ...] = ()
    if join.kind == "inner":
        rest = [p for p in node.predicates if p not in on_rows and p.columns]
        inside = tuple(p for p in rest if not p.calls or p in _reading_only(rest, join.table))
    left = tuple(p for p in node.predicates if p not in (*on_rows, *inside))
    if len(left) == len(node.predicates):
        return node
    predicates = dict.fromkeys((*join.predicates, *inside))
    below = _own(replace(join, input=_filtered(join.input, on_rows), predicates=tuple(predicates)))
    return _filtered(below, left)


def _own(join: TableJoin) -> TableJoin:
    """The join with those of its conditions that read one side tested there."""
    on_table = _reading_only(join.predicates, join.table)
    on_rows: tuple[Expr, ...] = ()
    if join.kind in {"inner", "semi"}:
        on_rows = _reading_only(join.predicates, join.input)
    if not on_table and not on_rows:
        return join
    return replace(
        join,
        input=_filtered(join.input, on_rows),
        table=_filtered(join.table, on_table),
        predicates=tuple(p for p in join.predicates if p not in (*on_table, *on_rows)),
    )


def _reading_only(predicates: Sequence[Expr], side: Node) -> tuple[Expr, ...]:
    names = set(side.schema.names)
    return tuple(p for p in predicates if p.columns and names.issuperset(p.columns))


def _filtered(node: Node, predicates: tuple[Expr, ...]) -> Node:
    return Filter(node, predicates) if predicates else node
