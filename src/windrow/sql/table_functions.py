"""Functions in FROM: `FROM name(stream, 5) alias` is a relation made of the stream's rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from windrow.errors import BindError
from windrow.plan.extensions import TABLE_FUNCTIONS, Constant, TableFunction
from windrow.sql.refuse import unsupported
from windrow.sql.scope import Source
from windrow.sql.spans import span_of

ReadItem = Callable[[exp.Expr], Source]
"""Reads an item of FROM."""


def called_source(item: exp.Expr, read: ReadItem) -> Source:
    """What a call in FROM stands for.

    Raises:
        UnsupportedError: it is no call of a function that was added.
        BindError: its arguments do not fit.
    """
    call = item.this if isinstance(item, exp.Table) else None
    name = call.name.lower() if isinstance(call, exp.Anonymous) else ""
    function = TABLE_FUNCTIONS.get(name) if name else None
    if function is None or call is None:
        raise unsupported(
            "table-function",
            "only streams and derived tables may stand in FROM",
            "write the name of a registered stream, or (SELECT ..) alias",
            span_of(item),
        )
    given: list[exp.Expr] = list(call.expressions)
    source = read(_rows(given[0] if given else None, item, name, function))
    if source.is_table or source.changelog_keys is not None:
        raise BindError(
            "table-function-arguments",
            f"{name} takes the rows of a stream, and {source.alias} has others",
            reason="what is given to it comes in the order of time, and is not taken back",
            hint=function.usage,
            span=span_of(item),
        )
    constants = tuple(_constant(tree, name, function) for tree in given[1:])
    node = function.make(source.node, source.alias, constants)
    time = min(node.event_times, default=None)
    return replace(source, stream="", node=node, time=time, span=span_of(item))


def _rows(first: exp.Expr | None, item: exp.Expr, name: str, function: TableFunction) -> exp.Expr:
    """The first argument as an item of FROM, under the alias of the call."""
    alias = exp.TableAlias(this=exp.to_identifier(item.alias or name))
    rows: exp.Expr | None = None
    if isinstance(first, exp.Column) and not first.table:
        rows = exp.Table(this=first.this, alias=alias)
    elif isinstance(first, exp.Subquery):
        rows = exp.Subquery(this=first.this, alias=alias)
    if rows is None:
        raise BindError(
            "table-function-arguments",
            f"the first argument of {name} is no stream",
            hint=f"write {function.usage}, with the name of a stream or (SELECT ..) in front",
            span=span_of(item),
        )
    rows.meta.update(first.meta if first is not None else {})
    return rows


def _constant(tree: exp.Expr, name: str, function: TableFunction) -> Constant:
    match tree:
        case exp.Literal():
            return str(tree.this) if tree.is_string else _number(str(tree.this))
        case exp.Neg(this=exp.Literal()):
            value = _number(str(tree.this.this))
            return -value
        case exp.Boolean():
            return bool(tree.this)
        case exp.Null():
            return None
    raise BindError(
        "table-function-arguments",
        f"an argument of {name} is no constant",
        reason="what it does is the same for all rows",
        hint=f"write {function.usage}, with numbers and texts",
        span=span_of(tree),
    )


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)
