"""The tables of one SELECT: where each is joined, and by which conditions.

The streams of FROM are joined by windows first, and the tables to what that gives, one after the
other: a table that an equality leads to before one that nothing leads to. So a tuple is stored
once, without the columns of tables. Below the window join, to one of its streams, stand

    a.k = t.k AND t.j = b.j            t to a: the window join of a and b then has the key t.j = b.j
    a JOIN t .. LEFT JOIN b ON t.j =   t to a: which tuples of a match decides the ON of b

A count window keeps its tables above it: below, they would change which tuples are the newest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from windrow.errors import BindError
from windrow.plan.exprs import Expr
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.filter import filtered
from windrow.plan.nodes.table_join import TableJoin, TableKey
from windrow.plan.texts import KIND_NAMES, listed
from windrow.sql.bind.conditions import conjuncts, refuse_misplaced
from windrow.sql.bind.joins import FromTable
from windrow.sql.bind.keys import KeyEquality, compared_in_one_type, equality_of
from windrow.sql.bind.scope import Scope
from windrow.sql.bind.sources import From
from windrow.sql.grammar.clauses import WindowClause
from windrow.sql.grammar.refuse import counts_rows, unsupported
from windrow.sql.grammar.spans import bare, span_of
from windrow.sql.render.render import Renderer


class TableJoins:
    """Joins the tables of one FROM; `seen` are the sources that are in reach after it.

    `streams` is the scope of the window join.
    """

    def __init__(
        self,
        from_: From,
        select: exp.Select,
        seen: Scope,
        where: Sequence[exp.Expr],
        renderer: Renderer,
    ) -> None:
        self._from = from_
        self._scope = scope = Scope(from_.sources, renderer.sql)
        self._renderer = renderer
        self._positions = [n for n, s in enumerate(scope.sources) if not s.is_table]
        self._conditions: list[exp.Expr] = []
        self._homes: dict[int, int] = {}
        self._places: dict[int, str] = {}
        if from_.tables and from_.kind != "inner":
            self._place_below_on()
        elif from_.tables and not any(map(counts_rows, select.walk())):
            found = conjuncts([*from_.conditions, *where])
            equal = [c for c in found if isinstance(c, exp.EQ | exp.NullSafeEQ)]
            self._place_between([seen.resolve(condition) for condition in equal])
        aliases = {scope.sources[at].alias: home for at, home in self._homes.items()}
        tables = tuple(scope.sources[table.position] for table in from_.tables)
        self.streams = Scope(from_.streams, renderer.sql, tables=tables, homes=aliases)

    def take(self, condition: exp.Expr) -> bool:
        """Takes a conjunct that reads a table, unless that makes it one of the window join."""
        read = self._scope.sources_in(condition)
        if read.issubset(self._positions):
            return False
        if self.streams.reaches(condition) and len(self.streams.sources_in(condition)) > 1:
            return False
        self._conditions.append(condition)
        return True

    def leave(self, condition: exp.Expr) -> bool:
        """Leaves a conjunct of an ON of two streams; one that reads a later table is refused."""
        if not self.streams.reaches(condition):
            raise _too_early(condition)
        return False

    def below(self, inputs: Sequence[Node]) -> list[Node]:
        """The inputs of the window join, with the tables that belong to one of them alone."""
        nodes = list(inputs)
        for home, position in enumerate(self._positions):
            own = [t for t in self._from.tables if self._homes.get(t.position) == home]
            nodes[home] = self._joined(nodes[home], own, {position})
        return nodes

    def above(self, node: Node) -> Node:
        """What the window join gives, joined with the other tables."""
        rest = [t for t in self._from.tables if t.position not in self._homes]
        if rest and len(self._positions) > 1:
            names = [source.alias for source in self._from.streams]
            place = f"above the join of {listed(names)}, whose tuples are stored once each"
            self._places |= {table.position: place for table in rest}
        return self._joined(node, rest, {*self._positions, *self._homes})

    def _place_below_on(self) -> None:
        """Tables before a join of streams that is not inner go below it if its ON reads one."""
        before = [table for table in self._from.tables if table.is_before]
        read = {column for c in self._from.conditions for column in self._columns(c)}
        if any(
            read.intersection(self._scope.sources[t.position].node.schema.names) for t in before
        ):
            self._homes = {table.position: 0 for table in before}
            place = f"below the {KIND_NAMES[self._from.kind]} join, whose ON reads tables"
            self._places = {table.position: place for table in before}

    def _columns(self, on: exp.Expr) -> Iterator[str]:
        for conjunct in conjuncts([on]):
            if not isinstance(conjunct, WindowClause):
                resolved = self._scope.resolve(conjunct)
                yield from (column.name for column in resolved.find_all(exp.Column))

    def _place_between(self, conditions: Sequence[exp.Expr]) -> None:
        """A table that alone connects two streams by equalities goes below their join."""
        linked = _Links(len(self._scope.sources))
        keys = [key for c in conditions if (key := equality_of(c, self._scope)) is not None]
        pairs = [(self._reads(key.left).pop(), self._reads(key.right).pop()) for key in keys]
        for left, right in pairs:
            if {left, right} <= set(self._positions):
                linked.link(left, right)
        for table in self._from.tables:
            if table.kind != "inner":
                continue
            met = [sum(pair) - table.position for pair in pairs if table.position in pair]
            streams = sorted(at for at in met if at in self._positions)
            if any(not linked.is_linked(streams[0], other) for other in streams):
                self._homes[table.position] = self._positions.index(streams[0])
                linked.link(*streams)
                names = [self._scope.sources[at].alias for at in dict.fromkeys(streams)]
                place = f"below the join of {listed(names)}, which its columns connect"
                self._places[table.position] = place

    def _joined(self, node: Node, tables: Sequence[FromTable], have: set[int]) -> Node:
        """The rows joined with tables, each once what leads to it is there."""
        waiting = list(tables)
        node = self._filtered(node, have)
        while waiting:
            table = self._next(waiting, have)
            waiting.remove(table)
            node = self._join(node, table, have)
            if not table.is_hidden:
                have = {*have, table.position}
            node = self._filtered(node, have)
        return node

    def _next(self, waiting: Sequence[FromTable], have: set[int]) -> FromTable:
        """The first table that an equality leads to, or whose ON has all that it reads."""
        for table in waiting:
            reach = {*have, table.position}
            if table.kind != "inner":
                if all(self._reads(c) <= reach for c in self._on(table)):
                    return table
                continue
            own = [c for c in self._conditions if self._reads(c) <= reach]
            if any(self._key(c, table.position) is not None for c in own):
                return table
        return next(table for table in waiting if table.kind == "inner")

    def _join(self, node: Node, table: FromTable, have: set[int]) -> Node:
        at = table.position
        source = self._scope.sources[at]
        own = self._on(table)
        if table.kind == "inner":
            reach = {*have, at}
            own = [c for c in self._conditions if at in self._reads(c) <= reach]
            self._conditions = [c for c in self._conditions if c not in own]
        on_table = [c for c in own if self._reads(c) == {at}]
        found = [(c, self._key(c, at)) for c in own if c not in on_table]
        keys = [key for _, key in found if key is not None]
        others = [condition for condition, key in found if key is None]
        rows = self._renderer.filtered(source.node, on_table)
        joined = TableJoin(
            node,
            rows,
            source.alias,
            table.kind,
            tuple(self._table_key(key, node, rows) for key in keys),
            place=self._places.get(at, ""),
            span=source.span,
        )
        schema = TableJoin(node, rows, source.alias, "inner", ()).schema
        return _with_predicates(joined, self._renderer.predicates(schema, others))

    def _filtered(self, node: Node, have: set[int]) -> Node:
        """The rows that meet the conditions of which all sources are there."""
        ready = [c for c in self._conditions if self._reads(c) <= have]
        self._conditions = [c for c in self._conditions if c not in ready]
        return self._renderer.filtered(node, ready)

    def _on(self, table: FromTable) -> list[exp.Expr]:
        """The resolved conjuncts of the table's own ON, which may read what stands before it."""
        found = []
        for conjunct in conjuncts([] if table.on is None else [table.on]):
            refuse_misplaced(conjunct)
            resolved = self._scope.resolve(conjunct)
            if any(at > table.position for at in self._reads(resolved)):
                raise _too_early(resolved)
            found.append(resolved)
        return found

    def _reads(self, condition: exp.Expr) -> set[int]:
        return self._scope.sources_in(condition)

    def _key(self, condition: exp.Expr, at: int) -> KeyEquality | None:
        """The conjunct as an equality of the rows, on its left, with a table."""
        if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
            return None
        left, right = bare(condition.this), bare(condition.expression)
        if self._reads(left) == {at}:
            left, right = right, left
        if self._reads(right) != {at} or not self._reads(left) or at in self._reads(left):
            return None
        return KeyEquality(left, right, isinstance(condition, exp.NullSafeEQ))

    def _table_key(self, key: KeyEquality, rows: Node, table: Node) -> TableKey:
        left, right, type_ = compared_in_one_type(key, rows, table, self._renderer)
        return TableKey(left, right, type_, key.null_safe)


class _Links:
    """Which sources equalities connect, directly or over others."""

    def __init__(self, size: int) -> None:
        self._group = list(range(size))

    def link(self, *sources: int) -> None:
        groups = {self._group[at] for at in sources}
        self._group = [min(groups) if own in groups else own for own in self._group]

    def is_linked(self, left: int, right: int) -> bool:
        return self._group[left] == self._group[right]


def _with_predicates(join: TableJoin, predicates: tuple[Expr, ...]) -> Node:
    """The join with further conditions; the user's functions are asked of what an inner one gives."""
    inside = tuple(predicate for predicate in predicates if not predicate.calls)
    calling = tuple(predicate for predicate in predicates if predicate.calls)
    if calling and join.kind != "inner":
        raise unsupported(
            "function-in-table-join",
            f"the condition {calling[0].text} calls a function in the ON of a"
            f" {KIND_NAMES[join.kind]} join with the table {join.alias}",
            "compute its value in a derived table, and compare that; or write an inner join",
        ).at(calling[0].span)
    joined = replace(join, predicates=inside)
    return filtered(joined, calling)


def _too_early(condition: exp.Expr) -> BindError:
    return BindError(
        "table-joined-later",
        "ON reads a table that stands after it",
        reason="joins that are not inner are taken from left to right",
        hint="move the table before this join, or the condition to WHERE",
    ).at(span_of(condition))
