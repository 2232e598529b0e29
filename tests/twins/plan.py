"""Logical plans answered by DuckDB as one plain SQL query: the twin of every rewrite.

Each node becomes a subselect with the node's columns and, per row, its time and its end. An
aggregate is answered at one given instant, over the rows alive then.
"""

from __future__ import annotations

from collections import Counter

import duckdb

from windrow.plan.exprs import quote_duckdb
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.scan import Scan
from windrow.plan.nodes.window_aggregate import WindowAggregate
from windrow.plan.nodes.window_join import WindowJoin
from windrow.plan.windows import UNBOUNDED, WindowGraph

NEVER = 2**62


def rows_of(plan: Node, connection: duckdb.DuckDBPyConnection, instant: int = 0) -> Counter:
    """The rows of a plan, with time and end, as a bag."""
    return Counter(connection.execute(f"SELECT * FROM ({_sql(plan, instant)})").fetchall())


def _sql(node: Node, instant: int) -> str:
    if isinstance(node, Scan):
        return _scan(node)
    if isinstance(node, WindowJoin):
        return _join(node, instant)
    below = f"({_sql(node.input, instant)})"
    if isinstance(node, Filter):
        condition = " AND ".join(f"({predicate.duckdb})" for predicate in node.predicates)
        return f"SELECT * FROM {below} WHERE {condition or 'true'}"
    if isinstance(node, Range):
        return f"SELECT * REPLACE (least(__end, __time + {node.ticks + 1}) AS __end) FROM {below}"
    if isinstance(node, Project):
        items = [f"{item.expr.duckdb} AS {quote_duckdb(item.name)}" for item in node.items]
        return f"SELECT {', '.join([*items, '__time', '__end'])} FROM {below}"
    assert isinstance(node, WindowAggregate)
    return _aggregate(node, below, instant)


def _scan(node: Scan) -> str:
    columns = [
        f"{quote_duckdb(name.removeprefix(node.alias + '.'))} AS {quote_duckdb(name)}"
        for name in node.schema.names
    ]
    times = [f"{quote_duckdb(str(node.stream.time))} AS __time", f"{NEVER} AS __end"]
    return f"SELECT {', '.join([*columns, *times])} FROM {quote_duckdb(node.stream.name)}"


def _join(node: WindowJoin, instant: int) -> str:
    tables = [f"({_sql(child, instant)}) AS i{i}" for i, child in enumerate(node.inputs)]
    columns = [quote_duckdb(name) for name in node.schema.names]
    each = [f"i{i}" for i in range(len(node.inputs))]
    conditions = ["true"]
    for equality in node.equalities:
        sign = "IS NOT DISTINCT FROM" if equality.null_safe else "="
        conditions.append(f"{quote_duckdb(equality.left)} {sign} {quote_duckdb(equality.right)}")
    ways = [node.graph] if node.alternative is None else [node.graph, node.alternative]
    conditions.append(" OR ".join(f"({_windows(graph)})" for graph in ways).join("()"))
    conditions += [f"({predicate.duckdb})" for predicate in node.predicates]
    if node.kind in {"semi", "anti"}:
        each = each[:1]
    # DuckDB's greatest and least leave NULLs out: a row that comes alone has its own time and end.
    time = f"greatest({', '.join(f'{i}.__time' for i in each)}) AS __time"
    end = f"least({', '.join(f'{i}.__end' for i in each)}) AS __end"
    selected = ", ".join([*columns, time, end])
    if node.kind == "inner":
        return f"SELECT {selected} FROM {', '.join(tables)} WHERE {' AND '.join(conditions)}"
    joined = f" {node.kind.upper()} JOIN ".join(tables)
    return f"SELECT {selected} FROM {joined} ON {' AND '.join(conditions)}"


def _windows(graph: WindowGraph) -> str:
    conditions = ["true"]
    for bound in graph.stated:
        difference = f"i{bound.right}.__time - i{bound.left}.__time"
        if bound.lo < UNBOUNDED:
            conditions.append(f"{difference} >= {-bound.lo}")
        if bound.hi < UNBOUNDED:
            conditions.append(f"{difference} <= {bound.hi}")
    return " AND ".join(conditions)


def _aggregate(node: WindowAggregate, below: str, instant: int) -> str:
    keys = [f"{key.expr.duckdb} AS {quote_duckdb(key.name)}" for key in node.keys]
    values = [
        f"{a.function}({a.argument.duckdb if a.argument else '*'}) AS {quote_duckdb(a.name)}"
        for a in node.aggregates
    ]
    selected = ", ".join([*keys, *values, f"{instant} AS __time", f"{NEVER} AS __end"])
    alive = f"SELECT {selected} FROM {below} WHERE __time <= {instant} AND {instant} < __end"
    if not node.keys:
        return alive if values else f"SELECT {selected}"
    return f"{alive} GROUP BY {', '.join(key.expr.duckdb for key in node.keys)}"
