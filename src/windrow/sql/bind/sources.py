"""FROM and WITH: which sources a SELECT reads, joined by which conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sqlglot import exp

from windrow.errors import BindError, PlanError, Span, UnsupportedError, cover, nearest
from windrow.plan.catalog import Catalog, StreamInfo
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.scan import Scan
from windrow.schema import TIME_TYPES, Field, Schema
from windrow.sql.bind.joins import (
    FIRST_ONLY,
    FromTable,
    called_source,
    join_kind,
    kind_of,
    read_tables,
    refuse_paired_table,
    refuse_tables_alone,
    table_source,
)
from windrow.sql.bind.lengths import window_ticks
from windrow.sql.bind.scope import FromItem, InnerWindow, change_feed
from windrow.sql.bind.stream_windows import refuse_second_window, rows_window, with_window_inside
from windrow.sql.grammar.clauses import UniformWindow
from windrow.sql.grammar.refuse import NAMES, as_query, refuse_join, unsupported
from windrow.sql.grammar.spans import span_of, text_of


@dataclass(frozen=True)
class WithQuery:
    """A query of WITH, and those that it may read itself: the ones before it."""

    tree: exp.Expr
    reach: Reach


Reach: TypeAlias = Mapping[str, WithQuery]
"""The queries of WITH that may be read, by their names."""


def with_queries(query: exp.Expr, outside: Reach) -> Reach:
    """What a query may read by name: its own queries of WITH, and those outside of it."""
    with_ = query.args.get("with_")
    if with_ is None:
        return outside
    if with_.args.get("recursive"):
        raise unsupported("recursive", "WITH RECURSIVE is not supported", "write the steps out").at(
            span_of(with_)
        )
    reach, own = outside, set[str]()
    for cte in with_.expressions:
        name = cte.alias.lower()
        _refuse_column_names(cte)
        if name in own:
            raise BindError(
                "with-name-twice",
                f"two queries of WITH are called {cte.alias!r}",
                hint="give one of them another name",
            ).at(span_of(cte.this))
        own.add(name)
        reach = {**reach, name: WithQuery(cte.this, reach)}
    return reach


def _refuse_column_names(item: exp.Expr) -> None:
    alias = item.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise unsupported(
            "column-aliases",
            "column names in an alias are not supported",
            "name the columns with AS in the inner SELECT",
        ).at(span_of(alias))


@dataclass(frozen=True)
class Relation:
    """A lowered SELECT.

    Its fields are those of a `FromItem`. `inside` are the windows that its streams hand on, where no
    row leaves by them in here.
    """

    node: Project
    time_type: str
    changelog_keys: tuple[str, ...] | None = None
    is_bag: bool = False
    has_copies: bool = False
    has_ends: bool = False
    inside: tuple[InnerWindow, ...] = ()

    @property
    def answer_keys(self) -> tuple[str, ...] | None:
        """The columns in which no two rows agree at one instant; None where there are none."""
        return None if self.is_bag or self.has_copies else self.changelog_keys


@dataclass(frozen=True)
class From:
    """FROM with its joins: sources, conditions of ON, and the bestmatch join if it is one.

    `kind` is the kind of window join, one of those of `WindowJoin`. Where that is not
    inner, `conditions` are its own, and `filters` those of the inner joins with tables. `paired` is
    the as-of join or WINDOW JOIN, if it is one.
    """

    sources: tuple[FromItem, ...]
    conditions: tuple[exp.Expr, ...]
    bestmatch: exp.Join | None
    span: Span | None
    kind: str = "inner"
    tables: tuple[FromTable, ...] = ()
    filters: tuple[exp.Expr, ...] = ()
    paired: exp.Join | None = None

    @property
    def is_inner(self) -> bool:
        """Whether it is an inner window join, or none."""
        return self.bestmatch is None and self.paired is None and self.kind == "inner"

    @property
    def streams(self) -> tuple[FromItem, ...]:
        """The sources that move."""
        return tuple(source for source in self.sources if not source.is_table)

    @property
    def hidden(self) -> tuple[FromItem, ...]:
        """The sources that are in reach of their ON alone: those of semi and anti joins."""
        tables = [self.sources[table.position] for table in self.tables if table.is_hidden]
        streams = self.streams[1:] if self.kind in FIRST_ONLY else ()
        return (*streams, *tables)

    @property
    def on_tables(self) -> tuple[exp.Expr, ...]:
        """The conditions of joins with tables that are not inner."""
        return tuple(table.on for table in self.tables if table.on is not None)


LowerDerived = Callable[[exp.Expr, str, Reach, str], Relation]
"""Lowers the query of a derived table under an alias, with the queries of WITH that it may read,
below what takes its rows back, or ""."""


@dataclass(frozen=True)
class FromReader:
    """Reads FROM clauses over one catalog; `named` are the queries of WITH.

    `above` takes rows back ("" where nothing does): those of a derived table without a window then
    leave by the windows inside it. Where `is_uniform`, the SELECT has `WINDOW = w`, for those that
    have none inside.
    """

    sql: str
    catalog: Catalog
    named: Reach
    lower_derived: LowerDerived
    above: str = ""
    is_uniform: bool = False

    def read(self, select: exp.Select) -> From:
        """The sources of a SELECT, each with its plan."""
        from_ = select.args.get("from_")
        if from_ is None:
            raise PlanError(
                "no-stream", "the query reads no stream", hint="add FROM with a registered stream"
            ).at(span_of(select))
        items, joins = _flattened(from_.this, select.args.get("joins") or [])
        alone = [join for join in joins if join.args.get("kind") in {"BESTMATCH", *NAMES}]
        if alone and len(items) != 2:
            raise _not_alone(alone)
        for join in joins if not alone else []:
            refuse_join(join)
        sources = self._sources(items)
        span = cover(*(source.span for source in sources))
        if alone:
            refuse_paired_table(sources, alone[0])
            is_match = alone[0].args["kind"] == "BESTMATCH"
            bestmatch, paired = (alone[0], None) if is_match else (None, alone[0])
            return From(sources, _conditions(joins), bestmatch, span, paired=paired)
        tables = read_tables(sources, joins)
        brought = [join for join, s in zip(joins, sources[1:], strict=True) if not s.is_table]
        kind = join_kind(brought, sum(not source.is_table for source in sources))
        inner = _conditions([join for join in joins if kind_of(join) == "inner"])
        if kind == "inner":
            return From(sources, inner, None, span, kind, tables)
        conditions = _conditions([join for join in brought if kind_of(join) == kind])
        return From(sources, conditions, None, span, kind, tables, inner)

    def _sources(self, items: list[exp.Expr]) -> tuple[FromItem, ...]:
        sources: list[FromItem] = []
        for item in items:
            source = self._source(item, "" if "stream_window" in item.meta else self.above)
            if any(source.alias.lower() == other.alias.lower() for other in sources):
                raise BindError(
                    "duplicate-alias",
                    f"two items of FROM are called {source.alias!r}",
                    hint="give one another name, for instance"
                    f" {source.stream or '(SELECT ..)'} AS {source.alias}2",
                ).at(source.span)
            sources.append(source)
        refuse_tables_alone(sources)
        streams = [source for source in sources if not source.is_table]
        _check_time_types(streams)
        _check_columns(sources)
        return tuple(sources)

    def _source(self, item: exp.Expr, above: str) -> FromItem:
        for key, name in (("sample", "TABLESAMPLE"), ("pivots", "PIVOT"), ("version", "AS OF")):
            if item.args.get(key):
                raise unsupported(
                    name.lower().replace(" ", "-"),
                    f"{name} is not supported",
                    "prepare the stream before registering it",
                ).at(span_of(item))
        _refuse_column_names(item)
        if isinstance(item, exp.Subquery):
            return self._derived(item.this, item, self.named, above)
        if not isinstance(item, exp.Table) or not isinstance(item.this, exp.Identifier):
            source = called_source(item, lambda rows: self._source(rows, ""))
            return self._with_range(source, item)
        if not item.db and item.name.lower() in self.named:
            query = self.named[item.name.lower()]
            return self._derived(query.tree, item, query.reach, above)
        return self._stream(item)

    def _derived(self, query: exp.Expr, item: exp.Expr, named: Reach, above: str) -> FromItem:
        alias = item.alias_or_name
        if not alias:
            raise BindError(
                "derived-table-without-alias",
                "a derived table needs a name",
                hint="write an alias after it: FROM (SELECT ..) x",
            ).at(span_of(item))
        if above and self.is_uniform and not has_windows(query, named):
            above = ""
        relation = self.lower_derived(query, alias, named, above)
        source = FromItem(
            alias,
            "",
            relation.node,
            None,
            relation.time_type,
            span_of(item),
            changelog_keys=relation.changelog_keys,
            is_bag=relation.is_bag,
            has_copies=relation.has_copies,
            has_ends=relation.has_ends,
        )
        if source.changelog_keys is not None and "stream_window" in item.meta:
            raise unsupported(
                "window-on-changelog",
                f"{alias} is a changelog, whose rows already come and go",
                f"leave the {text_of(item.meta['stream_window'], self.sql)} after it out",
            ).at(span_of(item.meta["stream_window"]))
        if "stream_window" not in item.meta:
            return with_window_inside(source, relation.inside)
        window = item.meta["stream_window"]
        refuse_second_window(source, relation.inside, text_of(window, self.sql), span_of(window))
        return self._with_range(source, item)

    def _stream(self, item: exp.Table) -> FromItem:
        written = _written(item)
        info = find_stream(self.catalog, item)
        span = span_of(item)
        if info is None:
            raise BindError(
                "unknown-stream",
                f"there is no stream named {written!r}",
                hint=f"there are {nearest(written, self.catalog)}"
                if self.catalog
                else "register it first, for instance session.stream('a', data, time='ts')",
            ).at(span)
        if info.is_table:
            return table_source(info, item, self.sql)
        _check_time(info, span)
        alias = item.alias_or_name
        schema = Schema(tuple(Field(f"{alias}.{f.name}", f.type) for f in info.rows.fields))
        time = info.schema.find(info.time or "")
        assert time is not None
        source = FromItem(
            alias,
            info.name,
            Scan(info, alias, schema, span),
            f"{alias}.{time.name}",
            info.time_type,
            span,
        )
        source = self._with_range(source, item)
        return source if info.changes is None else change_feed(source)

    def _with_range(self, source: FromItem, item: exp.Expr) -> FromItem:
        window = item.meta.get("stream_window")
        if window is None:
            return source
        if window.args["kind"] == "ROWS":
            return replace(source, rows=rows_window(window, source, self.sql))
        ticks = window_ticks(window.this, source.time_type, self.sql)
        return replace(source, range_ticks=ticks, range_text=text_of(window, self.sql))


def _flattened(first: exp.Expr, joins: Sequence[exp.Join]) -> tuple[list[exp.Expr], list[exp.Join]]:
    """The items of FROM in the order they are written, and all joins between them.

    The parser hangs `b JOIN c` below b in `a JOIN b JOIN c ON .. ON ..`.
    """
    items, found = [first], []
    if not isinstance(first, exp.Subquery):
        joins = [*(first.args.get("joins") or []), *joins]
    for join in joins:
        found.append(join)
        inner_items, inner_joins = _flattened(join.this, [])
        items += inner_items
        found += inner_joins
    return items, found


def _not_alone(joins: Sequence[exp.Join]) -> UnsupportedError:
    """The error of joins of two streams of which one has company; bestmatch joins come first."""
    matches = [join for join in joins if join.args["kind"] == "BESTMATCH"]
    if matches:
        return unsupported(
            "bestmatch-of-several",
            "a bestmatch join stands alone in its FROM",
            "put it in a derived table: FROM (SELECT .. BESTMATCH JOIN ..) m, other ..",
        ).at(span_of(matches[0]))
    return unsupported(
        "pair-join-of-several",
        f"{NAMES[joins[0].args['kind']]} stands alone in its FROM",
        "put it in a derived table: FROM (SELECT .. JOIN ..) m, other ..",
    ).at(span_of(joins[0]))


def _conditions(joins: Sequence[exp.Join]) -> tuple[exp.Expr, ...]:
    return tuple(join.args["on"] for join in joins if join.args.get("on") is not None)


def items_of(select: exp.Select) -> list[exp.Expr]:
    """The items of FROM in the order they are written; none where there is no FROM."""
    from_ = select.args.get("from_")
    return [] if from_ is None else _flattened(from_.this, select.args.get("joins") or [])[0]


def has_windows(tree: exp.Expr, named: Reach) -> bool:
    """Whether some stream that a query reads has a window in there, by its text."""
    query = as_query(tree)
    reach = with_queries(query, named)
    if isinstance(query, exp.SetOperation):
        return any(has_windows(side, reach) for side in (query.this, query.expression))
    if uniform_window(query) is not None:
        return True
    return any(_has_window(item, reach) for item in items_of(query))


def _has_window(item: exp.Expr, named: Reach) -> bool:
    if "stream_window" in item.meta:
        return True
    if isinstance(item, exp.Subquery):
        return has_windows(item.this, named)
    if isinstance(item, exp.Table) and not item.db and item.name.lower() in named:
        query = named[item.name.lower()]
        return has_windows(query.tree, query.reach)
    return False


def uniform_window(select: exp.Select) -> UniformWindow | None:
    """`WINDOW = w` of a SELECT, behind its other clauses or in WHERE."""
    where = select.args.get("where")
    clauses = [*(select.args.get("windows") or []), *([where] if where else [])]
    found = (clause.find(UniformWindow) for clause in clauses)
    return next((window for window in found if window is not None), None)


def find_stream(catalog: Catalog, item: exp.Table) -> StreamInfo | None:
    """The stream or table that an item of FROM names; None where there is none."""
    name = _written(item)
    if name in catalog:
        return catalog[name]
    folded = [info for key, info in catalog.items() if key.lower() == name.lower()]
    return folded[0] if len(folded) == 1 else None


def _written(item: exp.Table) -> str:
    return ".".join(part.name for part in item.parts)


def _check_time(info: StreamInfo, span: Span | None) -> None:
    if not info.time_type:
        raise BindError(
            "no-time-column",
            f"the stream {info.name} has no time column",
            reason="windows are measured in event time",
            hint=f"register it with one, for instance stream({info.name!r}, .., time='ts'), or as a"
            f" table, which does not move: table({info.name!r}, ..)",
        ).at(span)
    if info.time_type not in TIME_TYPES:
        raise BindError(
            "time-type",
            f"the time column {info.time} of {info.name} is {info.time_type}",
            reason="event time is TIMESTAMP, TIMESTAMP_NTZ, DATE or BIGINT",
            hint="cast the column before registering the stream",
        ).at(span)


def _check_time_types(sources: list[FromItem]) -> None:
    first = sources[0]
    for other in sources[1:]:
        if other.time_type != first.time_type:
            raise BindError(
                "time-types-differ",
                f"the time of {first.alias} is {first.time_type.upper()}, that of {other.alias} is"
                f" {other.time_type.upper()}",
                reason="times of joined streams are subtracted from each other",
                hint="cast one of the columns before registering its stream",
            ).at(other.span)


def _check_columns(sources: list[FromItem]) -> None:
    """Refuses flat names that DuckDB and Spark, which fold case, would take for one another."""
    seen: dict[str, tuple[FromItem, str]] = {}
    for source in sources:
        for _, flat in source.columns:
            other, name = seen.setdefault(flat.lower(), (source, flat))
            if other is not source:
                raise BindError(
                    "columns-alike",
                    f"{flat} could be a column of {other.alias} or of {source.alias}",
                    hint=f"give {source.alias} an alias without dots",
                ).at(source.span)
            if name != flat:
                raise BindError(
                    "columns-alike",
                    f"the columns {name} and {flat} differ only in case",
                    reason="names mean the same in upper and in lower case",
                    hint="rename one of them before registering the stream",
                ).at(source.span)
