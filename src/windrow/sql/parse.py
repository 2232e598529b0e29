"""Text to tree, with every place kept; what cannot be read becomes our ParseError."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import ParseError as SqlglotParseError
from sqlglot.errors import SqlglotError, TokenError

from windrow.errors import BindError, ParseError, Span, nearest
from windrow.plan.nodes import Hint
from windrow.sql.dialect import Windrow
from windrow.sql.spans import span_of

HINTS = (
    "algorithm",
    "strategy",
    "scheduling",
    "memory",
    "service_rate",
    "updates",
    "on_late",
    "on_memory",
    "buckets",
)

_UNCLOSED = re.compile(r"Missing (\S+) from (\d+):(\d+)")
_HINT = re.compile(r"\s*,?\s*([A-Za-z_]\w*)\s*(?:\(([^()]*)\)|=\s*([\w.-]+))\s*")


def parse_query(sql: str) -> exp.Expr:
    """The tree of the one query in the text."""
    try:
        dialect = Windrow()
        tokens = dialect.tokenize(sql)
        if not tokens:
            raise ParseError("empty-query", "there is no query in the text")
        first = tokens[0]
        if first.text.upper() not in {"SELECT", "WITH", "("}:
            raise ParseError(
                "not-a-query",
                f"{first.text!r} does not start a query",
                hint="a query starts with SELECT, or with WITH and then SELECT",
                span=Span(first.start, first.end + 1),
            )
        trees = [tree for tree in dialect.parser().parse(tokens, sql) if tree is not None]
    except SqlglotError as error:
        raise _our_error(error, sql) from error
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
    return tree


def _our_error(error: SqlglotError, sql: str) -> ParseError:
    if isinstance(error, SqlglotParseError) and error.errors:
        found = error.errors[0]
        reason = str(found.get("description") or "")
        start = found.get("start")
        if start is None:
            return ParseError("syntax", "the SQL cannot be read", reason=reason)
        if reason.startswith("Invalid expression / Unexpected token"):
            reason = ""
        if reason.startswith("Required keyword"):
            reason = "something is missing after it"
        at_end = start >= len(sql.rstrip()) - 1 and not reason
        token = found.get("token") or ""
        return ParseError(
            "syntax",
            f"the SQL cannot be read {'at its end' if at_end else f'at {token!r}'}",
            reason=_lower_first(reason),
            span=Span(start, found["end"]),
        )
    if isinstance(error, TokenError):
        return _token_error(error, sql)
    return ParseError("syntax", "the SQL cannot be read", reason=str(error))


def _token_error(error: TokenError, sql: str) -> ParseError:
    unclosed = _UNCLOSED.match(str(error.__cause__ or error))
    if unclosed is None:
        end = error.end or len(sql)
        span = Span(max(0, end - 1), end)
        return ParseError("syntax", "the SQL cannot be read to its end", span=span)
    quote = unclosed[1]
    line_start = sum(len(line) + 1 for line in sql.split("\n")[: int(unclosed[2]) - 1])
    start = sql.rfind(quote, 0, line_start + int(unclosed[3]) + 1)
    return ParseError(
        "syntax",
        f"the quote {quote} is never closed",
        hint=f"write {quote} once more where the text ends",
        span=Span(max(start, 0), max(start, 0) + 1),
    )


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def read_hints(select: exp.Select, sql: str) -> tuple[Hint, ...]:
    """The options in `/*+ name(value), name = value */`."""
    hint = select.args.get("hint")
    if hint is None:
        return ()
    span = span_of(hint)
    body = hint.expressions[0].this
    offset = sql.find(body, span.start) if span else 0
    hints, position = [], 0
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
        hints.append(Hint(name, value, Span(offset + match.start(1), offset + end)))
        position = match.end()
    return tuple(hints)
