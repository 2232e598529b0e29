"""What a name means inside one SELECT: its sources and their columns.

A stream of changes, or a window that counts rows, is a changelog. Its deletes have times of their
own, so that what is asked of the time column is a plain condition on that column, never a window
between streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from windrow.errors import BindError, Span, UnknownColumn, nearest
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.own_windows import NewestRows
from windrow.plan.nodes.scan import ChangeFeed
from windrow.plan.windows import OwnWindow
from windrow.schema import Field, Schema
from windrow.sql.grammar.spans import mark_flat, span_of


@dataclass(frozen=True)
class InnerWindow:
    """The window of a stream inside a derived table; without one, `text` is empty.

    `ticks` are those of a `[RANGE w]`.
    """

    ticks: int | None
    text: str
    span: Span | None


@dataclass(frozen=True)
class FromItem:
    """One item of FROM.

    Attributes:
        stream: the name of the stream it reads, "" for a derived table.
        node: its plan; columns are named `alias.column`.
        time: the flat name of its event-time column, None for a derived table, whose rows have
            an event time but no column that holds it.
        time_type: the type that its event time is shown in.
        range_ticks: its `[RANGE w]`, where it has one.
        range_text: how the user wrote that.
        rows: its `[ROWS n]` or `[PARTITION BY k ROWS n]`, where it has one.
        changelog_keys: for a derived table that is a changelog, the columns that tell its rows
            apart at one instant; None for a plain relation.
        is_bag: whether these do not tell them apart: equal rows may be different ones.
        has_copies: whether these are all columns, and a row may all the same be there several times.
        has_ends: whether its rows leave by the windows inside it.
        inside: of a derived table, the windows of streams that it only selects from, where they
            are not one for all of them.
        is_table: whether it is a table, which has no time and does not move.
    """

    alias: str
    stream: str
    node: Node
    time: str | None
    time_type: str
    span: Span | None
    range_ticks: int | None = None
    range_text: str = ""
    rows: OwnWindow | None = None
    changelog_keys: tuple[str, ...] | None = None
    is_bag: bool = False
    has_copies: bool = False
    has_ends: bool = False
    inside: tuple[InnerWindow, ...] = ()
    is_table: bool = False

    @property
    def leaves_by_itself(self) -> bool:
        """Whether its rows leave by what is inside it."""
        return self.has_ends or self.changelog_keys is not None

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """(name, flat name) of every column the user may name."""
        cut = len(self.alias) + 1
        return tuple((name[cut:], name) for name in self.node.schema.names)

    def find(self, name: str) -> str | None:
        """The flat name of a column."""
        found = Schema(tuple(Field(n, "") for n, _ in self.columns)).find(name)
        return f"{self.alias}.{found.name}" if found else None


@dataclass
class Scope:
    """The sources of one SELECT, which stands in the text `sql`; resolves names to flat columns.

    `hidden` are sources of FROM that a semi or anti join leaves out of its answer. In the scope of
    a window join, whose sources are streams, `tables` are the tables of FROM, and `homes` says of
    those that are joined below it to which stream, by their aliases.
    """

    sources: tuple[FromItem, ...]
    sql: str
    hidden: tuple[FromItem, ...] = ()
    tables: tuple[FromItem, ...] = ()
    homes: Mapping[str, int] = field(default_factory=dict)
    schema: Schema = field(init=False)
    _source_of: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        below = [(self.homes[s.alias], s) for s in self.tables if s.alias in self.homes]
        reached = [*enumerate(self.sources), *below]
        self.schema = Schema(tuple(f for _, source in reached for f in source.node.schema.fields))
        self._source_of = {f.name: i for i, s in reached for f in s.node.schema.fields}

    @property
    def time_type(self) -> str:
        """The type of the event time, which all its streams share."""
        return next(source.time_type for source in self.sources if not source.is_table)

    def source_named(self, alias: str) -> int | None:
        """The position in FROM of the source with that alias."""
        for i, source in enumerate(self.sources):
            if source.alias.lower() == alias.lower():
                return i
        return None

    def reaches(self, node: exp.Expr) -> bool:
        """Whether all columns that a resolved tree reads are of its sources."""
        return all(column.name in self._source_of for column in node.find_all(exp.Column))

    def source_of(self, flat: str) -> int:
        """The position in FROM of the source that has a flat column."""
        return self._source_of[flat]

    def sources_in(self, node: exp.Expr) -> set[int]:
        """The sources whose columns a resolved tree reads."""
        return {self._source_of[column.name] for column in node.find_all(exp.Column)}

    def check(self, nodes: Iterable[exp.Expr]) -> None:
        """Raises one error for all unknown columns in the trees."""
        unknown: list[UnknownColumn] = []
        for node in nodes:
            for column in _columns(node):
                try:
                    self._lookup(column)
                except UnknownColumn as error:
                    unknown.append(error)
        if len(unknown) == 1:
            raise unknown[0]
        if unknown:
            raise self._several(unknown)

    def resolve(self, node: exp.Expr) -> exp.Expr:
        """A copy of the tree in which every column has its flat name."""
        copy = node.copy()
        for column in list(_columns(copy)):
            flat, fields = self._lookup(column)
            resolved: exp.Expr = flat_column(flat)
            for name in fields:
                resolved = exp.Dot(this=resolved, expression=exp.to_identifier(name, quoted=True))
            mark_flat(resolved, column)
            if column is copy:
                return resolved
            column.replace(resolved)
        return copy

    def _lookup(self, column: exp.Column) -> tuple[str, tuple[str, ...]]:
        """The flat column and the struct fields below it that `a.s.f`, `s.f` or `f` mean."""
        parts = tuple(part.name for part in column.parts)
        source = self.source_named(parts[0]) if len(parts) > 1 else None
        if source is not None:
            flat = self.sources[source].find(parts[1])
            if flat is not None:
                return flat, parts[2:]
            raise self._unknown(column, parts[1], [self.sources[source]])
        found = [flat for s in self.sources if (flat := s.find(parts[0])) is not None]
        if not found:
            self.refuse_hidden(parts, column)
        if len(found) == 1:
            return found[0], parts[1:]
        if found:
            raise BindError(
                "ambiguous-column",
                f"the column {parts[0]!r} could be {' or '.join(found)}",
                reason="several streams in FROM have a column of that name",
                hint=f"write the alias before it, for instance {found[0]}",
            ).at(span_of(column))
        if len(parts) > 1:
            raise self.unknown_alias(
                column, parts[0], f"{'.'.join(parts)} needs a stream of that alias"
            )
        raise self._unknown(column, parts[0], list(self.sources))

    def refuse_hidden(self, parts: tuple[str, ...], node: exp.Expr) -> None:
        """Raises where a name means a stream, or a column of one, that the answer leaves out."""
        for source in self.hidden:
            if parts[0].lower() == source.alias.lower() or source.find(parts[0]) is not None:
                others = " and ".join(other.alias for other in self.sources)
                raise BindError(
                    "column-of-semi-join",
                    f"{'.'.join(parts)} is not part of the answer",
                    reason=f"a semi or anti join gives only rows of {others};"
                    f" {source.alias} is in reach of ON",
                    hint=f"move the condition to ON, or write an inner join to read {source.alias}",
                ).at(span_of(node))

    def unknown_alias(self, node: exp.Expr, alias: str, reason: str = "") -> UnknownColumn:
        """The error of an alias that nothing in FROM has."""
        return UnknownColumn(
            "unknown-column",
            f"nothing in FROM is called {alias!r}",
            reason=reason,
            hint=f"there are {nearest(alias, [source.alias for source in self.sources])}",
        ).at(span_of(node))

    def _unknown(self, column: exp.Column, name: str, among: list[FromItem]) -> UnknownColumn:
        names = [n for source in among for n, _ in source.columns]
        who = f"{among[0].alias} has" if len(among) == 1 else "no stream in reach has"
        return UnknownColumn(
            "unknown-column",
            f"{who} {'no' if len(among) == 1 else 'a'} column {name!r}",
            hint=f"there are {nearest(name, names)}",
        ).at(span_of(column))

    def _several(self, errors: list[UnknownColumn]) -> UnknownColumn:
        sentences = list(dict.fromkeys(error.sentence for error in errors))
        names = [name for source in self.sources for _, name in source.columns]
        first = errors[0].sentence.rsplit(" ", 1)[-1].strip("'")
        return UnknownColumn(
            "unknown-column", "; ".join(sentences), hint=f"there are {nearest(first, names)}"
        ).at(errors[0].span)


def flat_column(flat: str) -> exp.Column:
    """The tree of a flat column."""
    return exp.Column(this=exp.to_identifier(flat, quoted=True))


def column_for(flat: str, original: exp.Expr) -> exp.Column:
    """The tree of a flat column, in place of what stands in the text."""
    column = flat_column(flat)
    mark_flat(column, original)
    return column


def _columns(node: exp.Expr) -> Iterable[exp.Column]:
    """The columns in a tree, units of time such as DATEADD(DAY, ..) aside."""
    for column in node.find_all(exp.Column):
        if column.arg_key != "unit" and not isinstance(column.this, exp.Star):
            yield column


def change_feed(source: FromItem) -> FromItem:
    """A stream of changes as the rows that it describes, within its window where it has one.

    A count window has the newest of the rows that are there: a deleted one brings back another.
    """
    assert source.time is not None
    node = ChangeFeed(source.node, source.alias, source.time, source.range_ticks)
    of_rows = _as_changelog(replace(source, range_ticks=None, range_text=""), node)
    return newest_rows(of_rows)


def newest_rows(source: FromItem) -> FromItem:
    """A source with a count window as the rows in it, which come and go; others as they are."""
    if source.rows is None or source.rows.rows is None:
        return source
    window = NewestRows(source.node, source.alias, source.rows.rows, source.rows.partition)
    return _as_changelog(replace(source, rows=None), window)


def within_window(source: FromItem, ticks: int | None) -> Node:
    """A source's plan; a stream of changes without a window has that of WINDOW = w, if there is one."""
    node = source.node
    if isinstance(node, ChangeFeed) and node.ticks is None:
        return replace(node, ticks=ticks)
    return node


def _as_changelog(source: FromItem, node: ChangeFeed | NewestRows) -> FromItem:
    return replace(source, node=node, time=None, changelog_keys=(), is_bag=True)
