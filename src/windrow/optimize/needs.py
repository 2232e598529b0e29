"""Which columns of its inputs a node needs, to give the columns that are wanted of it."""

from __future__ import annotations

from collections.abc import Iterable, Set

from windrow.plan.asof import AsofJoin, RangeAggregateJoin
from windrow.plan.exprs import Expr
from windrow.plan.nodes import (
    BestmatchJoin,
    BestPairs,
    ChangeFeed,
    Equality,
    Filter,
    NewestRows,
    Node,
    PairJoin,
    Project,
    Range,
    Scan,
    SetOperation,
    TableJoin,
    TableScan,
    WindowAggregate,
    WindowJoin,
    children,
)


def needs(node: Node, wanted: Set[str]) -> list[set[str]]:
    """Per input of the node, the columns that must reach it."""
    if isinstance(node, Scan | TableScan):
        return []
    if isinstance(node, Range) or is_union_all(node):
        return [set(wanted) for _ in children(node)]
    if isinstance(node, SetOperation):
        return [set(node.schema.names) for _ in node.inputs]  # which tell rows apart
    if isinstance(node, BestPairs | ChangeFeed | NewestRows | Filter | Project | WindowAggregate):
        return [_of_one_input(node, wanted)]
    if isinstance(node, TableJoin):
        rows, table = set(node.input.schema.names), set(node.table.schema.names)
        return [node.row_columns | (rows & wanted), node.table_columns | (table & wanted)]
    needed = _compared(node.equalities).union(wanted)
    if isinstance(node, WindowJoin):
        needed |= _read(node.predicates)
        # The tuples of a count window are ordered by all their columns.
        needed |= {name for port in node.sealed for name in node.inputs[port].schema.names}
    if isinstance(node, BestmatchJoin):
        # A time dimension is compared by event time, which every row has beside its columns.
        needed |= {name for d in node.dimensions if not d.is_time for name in (d.left, d.right)}
    if isinstance(node, AsofJoin):
        needed |= set(node.right.schema.names)  # which order rows of one time
    if isinstance(node, RangeAggregateJoin):
        needed |= _read(each.argument for each in node.aggregates if each.argument is not None)
    return [needed & set(child.schema.names) for child in children(node)]


def _of_one_input(
    node: BestPairs | ChangeFeed | NewestRows | Filter | Project | WindowAggregate,
    wanted: Set[str],
) -> set[str]:
    if isinstance(node, NewestRows):
        return set(node.schema.names)  # which order rows of one time
    if isinstance(node, BestPairs):
        compared = {n for d in node.dimensions if not d.is_time for n in (d.left, d.right)}
        spread = {*node.spread_by, *node.spread_else}
        return compared.union(wanted, spread, node.marks, *node.groups)
    if isinstance(node, ChangeFeed):
        return {*node.compared, *(wanted & {node.time})}
    if isinstance(node, Filter):
        return _read(node.predicates).union(wanted)
    if isinstance(node, Project):
        return _read(item.expr for item in node.items if item.name in wanted)
    arguments = [a.argument for a in node.aggregates if a.argument is not None]
    return _read(key.expr for key in node.keys) | _read(arguments)


def is_stateful(node: Node) -> bool:
    """Whether the node keeps rows, so that every column it is given costs memory."""
    kinds = (
        BestPairs | ChangeFeed | NewestRows | WindowJoin | WindowAggregate | SetOperation | PairJoin
    )
    return isinstance(node, kinds) and not is_union_all(node)


def is_union_all(node: Node) -> bool:
    """Whether the node only hands the rows of its inputs on."""
    return isinstance(node, SetOperation) and node.kind == "union all"


def _read(expressions: Iterable[Expr]) -> set[str]:
    return {name for expr in expressions for name in expr.columns}


def _compared(equalities: Iterable[Equality]) -> set[str]:
    return {name for e in equalities for name in (e.left, e.right)}
