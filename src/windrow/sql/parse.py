"""Text to tree, with every place kept; what cannot be read becomes our ParseError."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token

from windrow.errors import BindError, ParseError, Span, WindrowError, nearest
from windrow.physical.options import HINTS
from windrow.plan.nodes import Hint
from windrow.sql.dialect import Windrow
from windrow.sql.literals import refuse_numbers
from windrow.sql.nesting import flat, refuse_deep_text
from windrow.sql.spans import span_of
from windrow.sql.syntax import UNFORESEEN, syntax_error, unreadable

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_HINT = re.compile(r"\s*,?\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\)|=\s*([\w./-]+))\s*")


def parse_query(sql: str) -> exp.Expr:
    """The tree of the one query in the text."""
    try:
        dialect = Windrow()
        tokens = dialect.tokenize(sql)
        if not tokens:
            raise ParseError(
                "empty-query",
                "there is no query in the text",
                hint="for instance  SELECT item FROM sales WHERE price > 4",
            )
        first = tokens[0]
        if first.text.upper() not in {"SELECT", "WITH", "("}:
            raise ParseError(
                "not-a-query",
                f"{first.text!r} does not start a query",
                hint="a query starts with SELECT, or with WITH and then SELECT",
                span=Span(first.start, first.end + 1),
            )
        refuse_numbers(tokens)
        refuse_deep_text(tokens)
        _refuse_stray_hints(sql, tokens)
        trees = [tree for tree in dialect.parser().parse(tokens, sql) if tree is not None]
    except SqlglotError as error:
        raise syntax_error(error, sql) from error
    except WindrowError:
        raise
    except UNFORESEEN as error:
        raise unreadable(str(error)) from error
    if len(trees) > 1:
        raise ParseError(
            "several-statements",
            f"the text holds {len(trees)} statements",
            hint="give one query at a time",
            span=span_of(trees[1]),
        )
    tree = trees[0]
    while isinstance(tree, exp.Subquery) and tree.is_wrapper:
        tree = tree.this
    return flat(tree)


def _refuse_stray_hints(sql: str, tokens: Sequence[Token]) -> None:
    """Refuses hints that do not follow a SELECT at once: to the tokenizer they are comments."""
    starts = [0, *(token.end + 1 for token in tokens)]
    stops = [*(token.start for token in tokens), len(sql)]
    for start, stop in zip(starts, stops, strict=True):
        for comment in _COMMENT.finditer(sql, start, max(start, stop)):
            if comment[0].startswith("/*+"):
                raise BindError(
                    "misplaced-hint",
                    "a hint stands where it would be read as a comment",
                    reason="hints are options of the whole query",
                    hint="write them between one /*+ and */, right behind the outermost SELECT",
                    span=Span(comment.start(), comment.end()),
                )


def _first_select(tree: exp.Expr) -> exp.Expr:
    """The SELECT that hints stand behind: the first one of those that set operations join."""
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    return tree


def _place(select: exp.Expr) -> str:
    if select.find_ancestor(exp.CTE) is not None:
        return "a query of WITH"
    if select.find_ancestor(exp.From, exp.Join) is not None:
        return "a derived table"
    return "a SELECT that is not the first"


def read_hints(tree: exp.Expr, sql: str) -> tuple[Hint, ...]:
    """The options in `/*+ name(value), name = value */`."""
    select = _first_select(tree)
    for inner in tree.find_all(exp.Select):
        if inner is not select and inner.args.get("hint") is not None:
            is_set = isinstance(tree, exp.SetOperation)
            raise BindError(
                "hint-in-derived-table",
                f"a hint stands in {_place(inner)}",
                reason="hints are options of the whole query",
                hint=f"write it behind the {'first' if is_set else 'outermost'} SELECT",
                span=span_of(inner.args["hint"]),
            )
    hint = select.args.get("hint")
    if hint is None:
        return ()
    span = span_of(hint)
    body = hint.expressions[0].this
    offset = sql.find(body, span.start) if span else 0
    hints: list[Hint] = []
    position = 0
    while body[position:].strip(" \t\r\n,"):
        match = _HINT.match(body, position)
        if match is None:
            raise ParseError(
                "bad-hint",
                f"the hint {body[position:].strip()!r} cannot be read",
                hint="write hints as name(value), for instance /*+ algorithm(bew-hash) */",
                span=span,
            )
        name = match[1].lower()
        if name not in HINTS:
            raise BindError(
                "unknown-hint",
                f"there is no hint named {match[1]!r}",
                hint=f"one of {nearest(name, HINTS)}",
                span=Span(offset + match.start(1), offset + match.end(1)),
            )
        value = (match[2] if match[2] is not None else match[3]).strip().strip("'\"")
        end = match.end(2) + 1 if match[2] is not None else match.end(3)
        place = Span(offset + match.start(1), offset + end)
        if any(name == earlier.name for earlier in hints):
            raise BindError(
                "hint-twice",
                f"the hint {name} is given twice",
                hint="leave one of them out",
                span=place,
            )
        hints.append(Hint(name, value, place))
        position = match.end()
    return tuple(hints)
