"""Group keys and aggregate arguments become plain columns, computed by a Project below.

The engine that evaluates expressions then sees them all at once, and the aggregate itself only
adds and takes away numbers.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.exprs import Expr, Named, column
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.window_aggregate import Aggregate, WindowAggregate
from windrow.schema import Field, Schema

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
