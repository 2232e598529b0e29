"""One call of an aggregate, lowered: what is read of a row, and the type of the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from windrow.errors import BindError, Span
from windrow.plan.aggregates import AGGREGATES
from windrow.plan.aggregates.arguments import Argument
from windrow.plan.aggregates.function import AggregateFunction, Distinct
from windrow.plan.exprs import Expr
from windrow.plan.nodes import Aggregate
from windrow.schema import Schema
from windrow.sql.clauses import AggregateCall
from windrow.sql.dialect import Windrow
from windrow.sql.render import Renderer
from windrow.sql.spans import span_of, text_of

_PLACE = re.compile(r"\{(\d)\}")
_NEEDS_NO_PARENTHESIS = (exp.Column, exp.Literal, exp.Func, exp.Paren)


def lower_call(
    call: AggregateCall,
    where: exp.Expr | None,
    name: str,
    columns: Schema,
    renderer: Renderer,
) -> Aggregate:
    """The aggregate that a call asks for.

    Args:
        call: the call, resolved.
        where: the condition of its FILTER, if it has one.
        name: of the column that holds its answers.
        columns: of the rows that are aggregated.
        renderer: makes expressions over them.
    """
    function = AGGREGATES[call.args["function"]]
    arguments = call.arguments
    if _counts_rows(function, call):
        if where is None:
            return Aggregate("count", None, name, "bigint", registered=function)
        arguments = [exp.Literal.number(1)]
    conditions = [
        a for a, kind in zip(arguments, function.takes, strict=False) if kind.is_condition
    ]
    conditions += [] if where is None else [where]
    renderer.predicates(columns, conditions)
    # An aggregate leaves NULL out: so it does what the condition does not let through.
    read = [_read(function.reads, arguments)] if function.reads else list(arguments)
    if where is not None:
        read[0] = exp.Case().when(where.copy(), read[0].copy())
    is_whole = call.is_distinct or not function.counts_rows
    expr = _argument(read, columns, renderer, is_whole=is_whole)
    computed = function.computed
    taken = [expr]
    if computed.reads or len(computed.takes) > 1:
        taken = renderer.typed(columns, arguments)
        text = ", ".join(each.text for each in taken)
        if where is not None:
            text = f"CASE WHEN {text_of(where, renderer.sql)} THEN {text} END"
        expr = replace(expr, text=text)
    for each, kind in zip(taken, computed.takes, strict=True):
        if not kind.fits(each.type):
            raise _undefined(function, kind, each, span_of(call))
    type_ = computed.type_of(tuple(each.type for each in taken))
    is_distinct = call.is_distinct and function.distinct is Distinct.once
    return Aggregate(computed.name, expr, name, type_, is_distinct, registered=computed)


def _counts_rows(function: AggregateFunction, call: AggregateCall) -> bool:
    """Whether it is COUNT(*), or COUNT of a constant."""
    only = call.arguments[0] if len(call.arguments) == 1 else None
    is_row = isinstance(only, exp.Star | exp.Literal) and not call.is_distinct
    return function.counts_rows and is_row


def _read(template: str, arguments: Sequence[exp.Expr]) -> exp.Expr:
    """What an aggregate reads of a row: its template, with arguments in their places."""
    tree: exp.Expr = exp.maybe_parse(_PLACE.sub(r"`{\1}`", template), dialect=Windrow)
    for node in tree.walk():
        node.meta.clear()  # its places are those of the template, not of the query
    for place in list(tree.find_all(exp.Column)):
        argument = arguments[int(place.name.strip("{}"))].copy()
        is_part = isinstance(place.parent, exp.Binary | exp.Unary)
        if is_part and not isinstance(argument, _NEEDS_NO_PARENTHESIS):
            argument = exp.Paren(this=argument)
        place.replace(argument)
    return tree


def _argument(
    read: Sequence[exp.Expr], columns: Schema, renderer: Renderer, *, is_whole: bool
) -> Expr:
    """What an aggregate reads: several expressions are one value, NULL where one of them is.

    Where it `is_whole` the value has all of theirs; else it only says that there is one.
    """
    if len(read) == 1:
        return renderer.typed(columns, read)[0]
    whole = exp.Struct(expressions=[each.copy() for each in read])
    value = whole if is_whole else exp.Literal.number(1)
    known = exp.and_(*(each.copy().is_(exp.null()).not_() for each in read))
    (expr,) = renderer.typed(columns, [exp.Case().when(known, value)])
    return replace(expr, text=", ".join(text_of(each, renderer.sql) for each in read))


def _undefined(
    function: AggregateFunction, kind: Argument, expr: Expr, span: Span | None
) -> BindError:
    name = function.name.upper()
    return BindError(
        "aggregate-type",
        f"{name} of {expr.text} is not defined: it is {expr.type}",
        hint=kind.hint.format(name=name, text=expr.text),
        span=span,
    )
