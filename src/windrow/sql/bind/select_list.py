"""The SELECT list: stars written out, and the name of every output column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from windrow.errors import BindError, Span, UnknownColumn, nearest
from windrow.sql.bind.scope import Scope, flat_column
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import span_of, text_of


@dataclass(frozen=True)
class Item:
    """One output column: a resolved tree and its name.

    `fallback` is the name it takes when `name` is taken already; "" where the user must choose.
    """

    tree: exp.Expr
    name: str
    fallback: str
    span: Span | None


def read_items(select: exp.Select, scope: Scope, sql: str) -> list[Item]:
    """The items of the SELECT list, resolved, stars written out, names made unique."""
    items: list[Item] = []
    star_sources: list[int] = []
    for expression in select.expressions:
        star_sources += _star(expression, scope) or []
    shared = _shared_names(star_sources, scope)
    for expression in select.expressions:
        sources = _star(expression, scope)
        if sources is None:
            items.append(_item(expression, scope, sql))
            continue
        for source in sources:
            items += _star_items(source, scope, shared, span_of(expression))
    return _with_unique_names(items)


def _star(expression: exp.Expr, scope: Scope) -> list[int] | None:
    """The sources that `*` or `a.*` stands for; None for any other expression."""
    star = expression.this if isinstance(expression, exp.Column) else expression
    if not isinstance(star, exp.Star):
        return None
    if star.args.get("except_") or star.args.get("replace") or star.args.get("rename"):
        raise unsupported(
            "star-except", "EXCEPT in a star is not supported", "list the columns",
            span_of(expression),
        )  # fmt: skip
    if star is expression:
        return list(range(len(scope.sources)))
    table = expression.text("table")
    source = scope.source_named(table)
    if source is None:
        scope.refuse_hidden((table, "*"), expression)
        raise UnknownColumn(
            "unknown-column",
            f"nothing in FROM is called {table!r}",
            hint=f"there are {nearest(table, [s.alias for s in scope.sources])}",
            span=span_of(expression),
        )
    return [source]


def _shared_names(sources: Sequence[int], scope: Scope) -> set[str]:
    """Column names that several of the sources have."""
    counts = Counter(
        name.lower() for source in set(sources) for name, _ in scope.sources[source].columns
    )
    return {name for name, count in counts.items() if count > 1}


def _star_items(source: int, scope: Scope, shared: set[str], span: Span | None) -> list[Item]:
    items = []
    alias = scope.sources[source].alias
    for name, flat in scope.sources[source].columns:
        long_name = f"{alias}_{name}"
        shown = long_name if name.lower() in shared else name
        items.append(Item(flat_column(flat), shown, long_name, span))
    return items


def _item(expression: exp.Expr, scope: Scope, sql: str) -> Item:
    span = span_of(expression)
    if isinstance(expression, exp.Alias):
        tree = scope.resolve(expression.this)
        return Item(tree, expression.alias, "", span)
    tree = scope.resolve(expression)
    if isinstance(tree, exp.Column) and isinstance(expression, exp.Column):
        alias = scope.sources[scope.source_of(tree.name)].alias
        return Item(tree, expression.name, f"{alias}_{expression.name}", span)
    if isinstance(tree, exp.Dot) and isinstance(expression, exp.Column):
        return Item(tree, expression.name, "", span)
    return Item(tree, text_of(expression, sql), "", span)


def _with_unique_names(items: list[Item]) -> list[Item]:
    taken: set[str] = set()
    named = []
    for item in items:
        free = [name for name in (item.name, item.fallback) if name and name.lower() not in taken]
        if not free:
            raise BindError(
                "duplicate-output-name",
                f"two columns of the answer are called {item.name!r}",
                hint=f"name one of them, for instance  .. AS {_suggestion(item)}",
                span=item.span,
            )
        taken.add(free[0].lower())
        named.append(Item(item.tree, free[0], item.fallback, item.span))
    return named


def _suggestion(item: Item) -> str:
    base = item.name if item.name.isidentifier() else "value"
    return f"{base}2"
