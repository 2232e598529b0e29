"""Columns that nothing above needs are not read, not computed, not stored.

Wanted columns are handed down from the answer to the scans. A Filter below a join or an aggregate
may read columns that only it needs: a Project between the two drops them, since what reaches a
stateful node is shuffled and stored.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from windrow.optimize.needs import is_stateful, is_union_all, needs
from windrow.plan.exprs import Named, column
from windrow.plan.nodes import (
    Node,
    PairJoin,
    Project,
    Scan,
    TableJoin,
    TableScan,
    WindowAggregate,
    WindowJoin,
    children,
)
from windrow.plan.walk import with_children
from windrow.schema import Schema


def prune_columns(plan: Node) -> Node:
    """Scans, projections and aggregates give only what is used above them."""
    return _prune(plan, set(plan.schema.names))


def _prune(node: Node, wanted: Set[str]) -> Node:
    if isinstance(node, Scan | TableScan):
        kept = _kept(node.schema, wanted)
        return node if kept == node.schema else replace(node, schema=kept)
    if isinstance(node, Project):
        node = _narrower(node, wanted)
    elif isinstance(node, WindowAggregate):
        used = tuple(a for a in node.aggregates if a.name in wanted)
        node = node if used == node.aggregates else replace(node, aggregates=used)
    inputs = []
    for child, needed in zip(children(node), needs(node, wanted), strict=True):
        pruned = _prune(child, needed)
        # The inputs of a UNION ALL give the same columns, and no others.
        is_exact = is_stateful(node) or is_union_all(node)
        inputs.append(_only(pruned, needed) if is_exact else pruned)
    return with_children(node, inputs)


def _kept(schema: Schema, wanted: Set[str]) -> Schema:
    return Schema(tuple(field for field in schema.fields if field.name in wanted))


def _narrower(node: Project, wanted: Set[str]) -> Project:
    items = tuple(item for item in node.items if item.name in wanted)
    return node if items == node.items else Project(node.input, items, _kept(node.schema, wanted))


def _only(node: Node, needed: Set[str]) -> Node:
    """The node, below a Project if it still gives columns that are not needed.

    A join needs no Project: its physical form carries on only what is needed above.
    """
    kept = _kept(node.schema, needed)
    if kept == node.schema or isinstance(node, WindowJoin | PairJoin | TableJoin):
        return node
    return Project(node, tuple(Named(f.name, column(f.name, f.type)) for f in kept.fields), kept)
