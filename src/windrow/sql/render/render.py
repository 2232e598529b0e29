"""Resolved trees to `plan.exprs.Expr`: one text for Spark, one for DuckDB, and the type.

**For Spark** an expression is what the user wrote, with the flat names of the columns: Spark reads
its own SQL best. A tree that the user did not write (a cast that we add, an alias written out) has
no place in the SQL, and is generated.

**In a join's worker** DuckDB is asked on Spark, too: a join tests its predicates where its rows
are, in Python. A predicate is tested there if the two engines agree on it (`differs`); any other is
left to Spark, which tests it on the join's results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from sqlglot import exp

from windrow.errors import BindError
from windrow.plan.exprs import Expr
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.filter import Filter
from windrow.plan.types import TypeResolver
from windrow.schema import Field, Schema
from windrow.sql.bind.calls import Functions, take_out_calls, unknown_function
from windrow.sql.grammar.functions import PLAIN_IN_SPARK, is_volatile
from windrow.sql.grammar.refuse import nondeterministic
from windrow.sql.grammar.spans import is_flat, own_span, parenthesized, span_of, text_of
from windrow.sql.render.bands import bands_of, comparisons_of
from windrow.sql.render.duckdb_text import duckdb_text


def spark_text(node: exp.Expr, sql: str) -> str:
    """The expression as Spark reads it."""
    whole = own_span(node)
    if whole is None:
        return parenthesized(node.copy()).sql("spark", comments=False)
    pieces, position = [], whole.start
    names = [name for name in node.dfs(prune=is_flat) if is_flat(name)]
    places = [(span, name) for name in names if (span := own_span(name)) is not None]
    for span, name in sorted(places, key=lambda place: place[0].start):
        pieces += [sql[position : span.start], name.sql("spark", comments=False)]
        position = span.end
    return "".join([*pieces, sql[position : whole.end]])


_DIFFER = (exp.Ln, exp.Log, exp.Sqrt, exp.Pow)
"""Functions of doubles that give NaN or NULL in Spark where DuckDB raises."""

_ANYWHERE = (
    exp.Connector,
    exp.Case,
    exp.If,
    exp.Coalesce,
    exp.Abs,
    exp.Length,
    exp.Upper,
    exp.Lower,
)
"""Functions whose values do not depend on the time zone."""


def differs(tree: exp.Expr) -> bool:
    """Whether two evaluations, or two engines, may give a resolved tree two values."""
    return any(isinstance(node, _DIFFER) or is_volatile(node) for node in tree.walk())


def depends_on_settings(
    tree: exp.Expr, types: Mapping[str, str], functions: Mapping[str, object]
) -> bool:
    """Whether the value may depend on the session's time zone, or on whether errors are NULL."""
    for node in tree.walk():
        if isinstance(node, exp.Anonymous) and node.name.lower() in functions:
            continue
        if isinstance(node, exp.Func) and not isinstance(node, _ANYWHERE):
            return True
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod | exp.IntDiv):
            return True
    reads_time = any("timestamp" in types.get(c.name, "") for c in tree.find_all(exp.Column))
    has_text = any(literal.is_string for literal in tree.find_all(exp.Literal))
    return reads_time and has_text


_STABLE = PLAIN_IN_SPARK | {"error"}
"""What DuckDB calls volatile and Spark does not; an error has no value."""


class Renderer:
    """Makes expressions of one query; asks the resolver for their types."""

    def __init__(
        self,
        sql: str,
        resolver: TypeResolver,
        functions: Functions = MappingProxyType({}),
    ) -> None:
        self.sql = sql
        self.resolver = resolver
        self.functions = functions
        self._rendered: list[tuple[Schema, Expr]] = []

    def typed(self, columns: Schema, nodes: Sequence[exp.Expr]) -> list[Expr]:
        """The expressions, with their types over these columns."""
        untyped = [self.untyped(node, columns) for node in nodes]
        types = self._types(columns, untyped, nodes)
        found = [
            expr if expr.is_column else self._portable(expr, node, columns)
            for expr, node in zip(
                (replace(expr, type=type_) for expr, type_ in zip(untyped, types, strict=True)),
                nodes,
                strict=True,
            )
        ]
        self._rendered += [(columns, expr) for expr in found if not expr.is_column]
        return found

    def refuse_volatile(self) -> None:
        """Refuses every expression so far that its engine may give another value each time."""
        for columns, expr in self._rendered:
            found = self.resolver.volatile_parts(_read(columns, [expr]), expr) - _STABLE
            if found:
                raise nondeterministic(f"{min(found)}()", expr.span)

    def predicates(self, columns: Schema, nodes: Sequence[exp.Expr]) -> tuple[Expr, ...]:
        """The expressions as conditions; anything but a boolean is refused."""
        exprs = self.typed(columns, nodes)
        for expr, node in zip(exprs, nodes, strict=True):
            if expr.type not in {"boolean", "void"}:
                raise BindError(
                    "condition-type",
                    f"the condition {expr.text} is {expr.type}, not boolean",
                    hint="compare it with something, for instance  .. <> 0",
                ).at(span_of(node))
        return tuple(
            self._as_predicate(expr, node, columns) for expr, node in zip(exprs, nodes, strict=True)
        )

    def filtered(self, node: Node, conditions: Sequence[exp.Expr]) -> Node:
        """The rows of a node that meet resolved conditions; the node itself where there are none."""
        return Filter(node, self.predicates(node.schema, conditions)) if conditions else node

    def untyped(self, node: exp.Expr, columns: Schema) -> Expr:
        """The expression without its type; a plain column has that of the schema."""
        _refuse_aggregate(node)
        names = tuple(dict.fromkeys(column.name for column in node.find_all(exp.Column, bfs=False)))
        plain, calls = take_out_calls(
            node, self.functions, lambda arguments: self.typed(columns, arguments)
        )
        values = tuple(Field(call.column, call.function.returns) for call in calls)
        return Expr(
            text=text_of(node, self.sql),
            spark=spark_text(node, self.sql),
            duckdb=duckdb_text(plain, Schema(columns.fields + values)),
            columns=names,
            type="",
            calls=calls,
            span=span_of(node),
        )

    def _as_predicate(self, expr: Expr, node: exp.Expr, columns: Schema) -> Expr:
        """The predicate, with what a join that tests it has to know."""
        types = {f.name: f.type for f in columns.fields}
        comparisons = comparisons_of(node, types)
        if comparisons:
            expr = self._portable(expr, node, columns, is_plain=True)
        bands = bands_of(node, types, comparisons)
        return replace(expr, comparisons=comparisons, bands=bands)

    def _portable(
        self, expr: Expr, node: exp.Expr, columns: Schema, *, is_plain: bool = False
    ) -> Expr:
        """The expression, told whether DuckDB gives it the value that the session's engine gives.

        `is_plain`: it only compares columns, which no setting changes.
        """
        types = {f.name: f.type for f in columns.fields}
        is_portable = self.resolver.agrees_with_duckdb(
            _read(columns, [expr]),
            expr,
            may_differ=differs(node),
            depends_on_settings=not is_plain and depends_on_settings(node, types, self.functions),
        )
        return replace(expr, is_portable=is_portable)

    def _types(
        self, columns: Schema, exprs: Sequence[Expr], nodes: Sequence[exp.Expr]
    ) -> list[str]:
        found = {f.name: f.type for f in columns.fields}
        types = [found[e.columns[0]] if e.is_column else "" for e in exprs]
        unknown = [i for i, type_ in enumerate(types) if not type_]
        if not unknown:
            return types
        try:
            answers = self.resolver.types(_read(columns, exprs), [exprs[i] for i in unknown])
        except BindError:
            # One of them is refused; asked one by one, the error gets its place.
            answers = [self._type(columns, exprs[i], nodes[i]) for i in unknown]
        for i, type_ in zip(unknown, answers, strict=True):
            types[i] = type_
        return types

    def _type(self, columns: Schema, expr: Expr, node: exp.Expr) -> str:
        try:
            return self.resolver.types(_read(columns, [expr]), [expr])[0]
        except BindError as error:
            unknown = unknown_function(node, self.functions, error)
            raise unknown or error.at(span_of(node)) from error


def _refuse_aggregate(node: exp.Expr) -> None:
    """Refuses an aggregate where nothing is grouped: elsewhere a column stands for it by now."""
    aggregate = node.find(exp.AggFunc)
    if aggregate is not None:
        raise BindError(
            "misplaced-aggregate",
            "an aggregate stands where a single row is expected",
            reason="aggregates belong to the SELECT list and to HAVING",
            hint="compute it in a derived table with a window, and compare its column",
        ).at(span_of(aggregate))


def _read(columns: Schema, exprs: Sequence[Expr]) -> Schema:
    """The columns that the expressions read; all of them where they read none."""
    names = {name for expr in exprs for name in expr.columns}
    return Schema(tuple(f for f in columns.fields if f.name in names)) if names else columns
