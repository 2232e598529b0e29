"""Logical plans built by hand: short names for tests of the planner."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from windrow.physical.nodes.scans import ScanStream
from windrow.plan.catalog import StreamInfo
from windrow.plan.exprs import Expr, Named, column, quote_duckdb, quote_spark
from windrow.plan.nodes.base import Equality, Node
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.query import Query
from windrow.plan.nodes.scan import Scan
from windrow.plan.nodes.window_join import WindowJoin
from windrow.plan.windows import Bound, WindowGraph
from windrow.schema import Field, Schema

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

_NAME = re.compile(r"'[^']*'|\b([a-z_]\w*\.\w+)\b")


def stream(
    name: str, columns: Mapping[str, str], *, time: str | None = "ts", lateness: int = 0
) -> StreamInfo:
    """A stream with the given columns and, unless among them, a timestamp column `ts`."""
    types = {"ts": "timestamp", **columns}
    fields = tuple(Field(column_name, type_) for column_name, type_ in types.items())
    return StreamInfo(name, Schema(fields), time, lateness)


def plans_of(session: Any, sql: str, options: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
    """The logical and the physical plan of a query: the one place where tests ask a session for them."""
    return session._plan(sql, options or {})


def planned(session: Any, sql: str, options: Mapping[str, Any] | None = None) -> Any:
    """The physical plan of a query."""
    return plans_of(session, sql, options)[1]


def join_of(query: Query) -> WindowJoin:
    """The first join of a plan, from the top."""
    return next(node for node in query.root.walk() if isinstance(node, WindowJoin))


def physical(explained: str) -> str:
    """The part of EXPLAIN that tells of physical nodes: the summary says some of it before."""
    return explained.partition("\n\nphysical\n")[2]


def scan(info: StreamInfo, alias: str | None = None) -> Scan:
    """A scan of all columns."""
    alias = alias or info.name
    fields = tuple(Field(f"{alias}.{field.name}", field.type) for field in info.schema.fields)
    return Scan(info, alias, Schema(fields))


def scan_of(name: str, **promises: Any) -> ScanStream:
    """What reads the times `at` of a stream, and no other column."""
    promises = {"lateness": 0, **promises}
    return ScanStream(name, name, (), Schema(()), "at", "bigint", **promises)


def expr(text: str, type_: str = "boolean") -> Expr:
    """An expression whose columns are its `alias.name` words, outside of strings."""
    names = dict.fromkeys(match[1] for match in _NAME.finditer(text) if match[1])

    def quoted(quote):
        return _NAME.sub(lambda m: quote(m[1]) if m[1] else m[0], text)

    return Expr(text, quoted(quote_spark), quoted(quote_duckdb), tuple(names), type_)


def project(node: Node, **items: str | Expr) -> Project:
    """A projection: output name = column name or expression."""
    types = {field.name: field.type for field in node.schema.fields}
    named = tuple(
        Named(name, column(e, types[e]) if isinstance(e, str) else e) for name, e in items.items()
    )
    return Project(node, named, Schema(tuple(Field(n.name, n.expr.type) for n in named)))


def renamed(node: Node, items: Mapping[str, str | Expr]) -> Project:
    """A projection whose output names are no Python names."""
    return project(node, **dict(items))


def join(inputs: Mapping[str, Node], equalities: str, *bounds: Bound) -> WindowJoin:
    """A join; equalities as text: `a.k = b.k, b.k <=> c.k`."""
    types = {f.name: f.type for node in inputs.values() for f in node.schema.fields}
    parsed = []
    for part in filter(None, equalities.split(",")):
        left, sign, right = part.split()
        parsed.append(Equality(left, right, types[left], sign == "<=>"))
    graph = WindowGraph(tuple(inputs), bounds)
    return WindowJoin(tuple(inputs.values()), tuple(inputs), tuple(parsed), graph)


def like(join: WindowJoin, other: type[WindowJoin], **more: object) -> WindowJoin:
    """A join of another kind over the same inputs."""
    return other(**{entry.name: getattr(join, entry.name) for entry in fields(WindowJoin)} | more)


def query(root: Project, *, is_changelog: bool = False, hints=()) -> Query:
    """A query over timestamps."""
    return Query(root, is_changelog, "timestamp", "", tuple(hints))
