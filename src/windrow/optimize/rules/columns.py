"""Rules about columns: which are read, where they are computed, which make a key.

`prune_columns`: columns that nothing above needs are not read, not computed, not stored. Wanted
columns are handed down from the answer to the scans. A Filter below a join or an aggregate may read
columns that only it needs: a Project between the two drops them, since what reaches a stateful node
is shuffled and stored.

`compute_below_aggregate`: group keys and aggregate arguments become plain columns, computed by a
Project below. The engine that evaluates expressions then sees them all at once, and the aggregate
itself only adds and takes away numbers.

`filter_keys_of_one_input`: columns of one input that a join's equalities make equal are compared in a
Filter below.

    a.x = b.x AND a.y = b.x   implies   a.x = a.y

A tuple that fails this can join nothing. Where the join keeps such tuples all the same (a side that
an outer or an anti join preserves; a count window, in which it takes a place), the comparison becomes
a condition of the join instead of a Filter. Afterwards each class of equal columns has one column per
input, which is what the join algorithms take as a key.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from itertools import pairwise

from windrow.plan.exprs import Expr, Named, column, quote_duckdb, quote_spark
from windrow.plan.nodes.base import Class, Equality, Node, classes_of
from windrow.plan.nodes.filter import filtered
from windrow.plan.nodes.project import Project, only
from windrow.plan.nodes.window_aggregate import Aggregate, WindowAggregate
from windrow.schema import Field, Schema


def prune_columns(plan: Node) -> Node:
    """Scans, projections and aggregates give only what is used above them."""
    return _prune(plan, set(plan.schema.names))


def _prune(node: Node, wanted: Set[str]) -> Node:
    node = node.narrowed(wanted)
    # The inputs of a UNION ALL give the same columns, and no others.
    is_exact = node.is_stateful or node.only_hands_on
    inputs = []
    for child, needed in zip(node.inputs, node.required_columns(wanted), strict=True):
        pruned = _prune(child, needed)
        inputs.append(only(pruned, needed) if is_exact else pruned)
    return node.with_inputs(inputs)


ARGUMENT = "$argument"
"""Prefix of the columns that hold computed arguments; a `$` marks a name that no user wrote."""


def compute_below_aggregate(plan: Node) -> Node:
    """Aggregates whose keys and arguments are columns of their input, under the keys' names."""
    return plan.rewrite(_compute)


def _compute(node: Node) -> Node:
    if not isinstance(node, WindowAggregate) or _is_plain(node):
        return node
    items = {key.name: key.expr for key in node.keys}
    aggregates = tuple(_over_column(aggregate, items) for aggregate in node.aggregates)
    keys = tuple(Named(key.name, column(key.name, key.expr.type)) for key in node.keys)
    schema = Schema(tuple(Field(name, expr.type) for name, expr in items.items()))
    below = Project(node.input, tuple(Named(n, e) for n, e in items.items()), schema)
    return replace(node, input=below, keys=keys, aggregates=aggregates)


def _is_plain(node: WindowAggregate) -> bool:
    return all(k.expr.is_column and k.expr.columns[0] == k.name for k in node.keys) and all(
        a.argument is None or a.argument.is_column for a in node.aggregates
    )


def _over_column(aggregate: Aggregate, items: dict[str, Expr]) -> Aggregate:
    """The aggregate over a column of the Project, which is added to `items` if it is new."""
    argument = aggregate.argument
    if argument is None:
        return aggregate
    name = next((n for n, e in items.items() if e.spark == argument.spark), None)
    if name is None:
        is_free = argument.is_column and argument.columns[0] not in items
        name = argument.columns[0] if is_free else f"{ARGUMENT}{len(items)}"
        items[name] = argument
    read = replace(column(name, argument.type), text=argument.text, span=argument.span)
    return replace(aggregate, argument=read)


def filter_keys_of_one_input(plan: Node) -> Node:
    """Equalities between different inputs only, one column of each per class."""
    return plan.rewrite(_split)


def _split(node: Node) -> Node:
    classes = classes_of(node.key_equalities, node.inputs)
    if all(len(columns) <= 1 for key in classes for columns in key.columns):
        return node
    compared = [
        [same for key in classes for same in _same(key, i)] for i in range(len(node.inputs))
    ]
    equalities = tuple(equality for key in classes for equality in _chain(key))
    kept = tuple(same for i in node.kept_inputs for same in compared[i])
    filters = [() if i in node.kept_inputs else own for i, own in enumerate(compared)]
    below = [filtered(child, tuple(own)) for child, own in zip(node.inputs, filters, strict=True)]
    return node.with_keys(equalities, kept).with_inputs(below)


def _same(key: Class, i: int) -> list[Expr]:
    """The predicates that compare input i's columns of the class with each other."""
    first, *others = key.columns[i] or ("",)
    return [_equal(first, other, null_safe=key.null_safe) for other in others]


def _equal(left: str, right: str, *, null_safe: bool) -> Expr:
    spark, duckdb = ("<=>", "IS NOT DISTINCT FROM") if null_safe else ("=", "=")
    return Expr(
        f"{left} {spark} {right}",
        f"{quote_spark(left)} {spark} {quote_spark(right)}",
        f"{quote_duckdb(left)} {duckdb} {quote_duckdb(right)}",
        (left, right),
        "boolean",
    )


def _chain(key: Class) -> list[Equality]:
    """The equalities of the class over the first column of each input."""
    firsts = [columns[0] for columns in key.columns if columns]
    return [Equality(left, right, key.type, key.null_safe) for left, right in pairwise(firsts)]
