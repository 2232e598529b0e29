"""Text to tree, with every place kept; what cannot be read becomes our ParseError.

What is too deep is refused, and what generators write in a row is laid flat. Reading a text, and
computing what it says, takes a call within a call for each level: here, in DuckDB and in Spark. So
levels have a stated limit, and things in a row are no levels:

    a UNION ALL b UNION ALL c ..   a tree as deep as it is long, which becomes
    (a, b), (c, d), ..             one as deep as the number of its halvings
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from windrow.errors import BindError, ParseError, Span, WindrowError, nearest
from windrow.physical.options import HINTS
from windrow.plan.nodes.query import Hint
from windrow.sql.grammar.dialect import Windrow
from windrow.sql.grammar.spans import span_of
from windrow.sql.grammar.syntax import UNFORESEEN, syntax_error, unreadable

MOST_LEVELS = 100
"""Parentheses, functions, CASEs, types and subqueries within one another."""

MOST_IN_A_ROW = 900
"""Operators such as + and || in one expression: DuckDB takes 1,000."""

MOST_QUERIES = 2_000
"""SELECTs, with each query of WITH counted wherever it is read."""

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_BEFORE = {TokenType.NOT, TokenType.DASH, TokenType.TILDE, TokenType.PLUS, TokenType.ARROW}
_NESTED_TYPES = {TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT}
_LEAST_BALANCED = 8


def refuse_deep_text(tokens: Sequence[Token]) -> None:
    """Refuses a text with too many levels, by its brackets and by signs before signs."""
    depth = signs = types = 0
    before = None
    for token in tokens:
        kind = token.token_type
        signs = signs + 1 if kind in _BEFORE else 0
        depth += (kind in _OPENING) - (kind in _CLOSING)
        depth = max(depth, 0)
        if kind == TokenType.LT and before in _NESTED_TYPES:
            types += 1
        elif kind == TokenType.GT:
            types = max(types - 1, 0)
        before = kind
        if depth + signs + types > MOST_LEVELS:
            raise too_deep(Span(token.start, token.end + 1))


def too_deep(span: Span | None) -> ParseError:
    """The error of a query with too many levels."""
    return ParseError(
        "too-deep",
        f"the query has more than {MOST_LEVELS} levels within one another",
        reason="each parenthesis, function, CASE, type, query of WITH and subquery is a level",
        hint="compute the inner part in a stream or a query of its own",
    ).at(span)


def flat(tree: exp.Expr) -> exp.Expr:
    """The tree with long rows of UNIONs halved, and refused where it is too deep or too long all the same."""
    for union in [node for node in tree.find_all(exp.Union) if not _is_inner(node)]:
        _halve(union)
    _refuse_long_rows(tree)
    _refuse_many_queries(tree)
    return tree


def _is_inner(union: exp.Union) -> bool:
    """Whether a UNION is part of a row that another one ends."""
    parent = union.parent
    return isinstance(parent, exp.Union) and union.arg_key == "this" and _is_alike(union, parent)


def _is_alike(inner: exp.Expr, outer: exp.Union) -> bool:
    own = {key for key, value in inner.args.items() if value}
    kind = "distinct"
    return (
        isinstance(inner, exp.Union)
        and own <= {"this", "expression", kind}
        and bool(inner.args.get(kind)) == bool(outer.args.get(kind))
        and not inner.meta.keys() & {"emit_changes"}
    )


def _halve(union: exp.Union) -> None:
    sides = [union.expression]
    node = union.this
    while _is_alike(node, union):
        sides.append(node.expression)
        node = node.this
    sides.append(node)
    if len(sides) <= _LEAST_BALANCED:
        return
    sides.reverse()
    while len(sides) > 2:
        pairs = [sides[i : i + 2] for i in range(0, len(sides), 2)]
        sides = [_pair(union, *pair) if len(pair) > 1 else pair[0] for pair in pairs]
    union.set("this", sides[0])
    union.set("expression", sides[1])


def _pair(like: exp.Union, left: exp.Expr, right: exp.Expr) -> exp.Union:
    return exp.Union(this=left, expression=right, distinct=bool(like.args.get("distinct")))


def _refuse_long_rows(tree: exp.Expr) -> None:
    """Refuses expressions with too many operators one after the other; AND and OR do not count."""
    depths = {id(tree): 0}
    for node in tree.walk():
        depth = depths[id(node)]
        if depth > MOST_IN_A_ROW:
            raise ParseError(
                "too-deep",
                f"an expression has more than {MOST_IN_A_ROW} operators in a row",
                reason="each of them is computed within the next",
                hint="put parts of it in parentheses of their own, or in columns of a derived table",
            ).at(span_of(node))
        for part in node.iter_expressions():
            is_level = isinstance(part, exp.Binary | exp.Unary | exp.Func | exp.Cast)
            depths[id(part)] = depth + (
                is_level and not isinstance(part, exp.Connector | exp.Paren)
            )


def _refuse_many_queries(tree: exp.Expr) -> None:
    """Refuses queries of WITH that read one another too deeply, or each other too many times."""
    for with_ in tree.find_all(exp.With):
        sizes: dict[str, tuple[int, int]] = {}
        for cte in with_.expressions:
            read = [
                sizes[table.name.lower()]
                for table in cte.this.find_all(exp.Table)
                if table.name.lower() in sizes
            ]
            size = 1 + sum(count for count, _ in read)
            depth = 1 + max((levels for _, levels in read), default=0)
            if depth > MOST_LEVELS:
                raise too_deep(span_of(cte.this))
            if size > MOST_QUERIES:
                raise ParseError(
                    "too-deep",
                    f"the query stands for more than {MOST_QUERIES:,} SELECTs",
                    reason="a query of WITH is computed wherever it is read",
                    hint="compute it once, and register its answer as a stream or a table",
                ).at(span_of(cte.this))
            sizes[cte.alias.lower()] = size, depth


_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
_MOST_DIGITS = 400
"""A double has an exponent of 308 at most, a decimal 38 digits: far less than so many."""

_SHOWN = 40


def refuse_numbers(tokens: Iterable[Token]) -> None:
    """Refuses what looks like a number and is none, such as 1e5.1, or what no type can hold."""
    for token in tokens:
        if token.token_type != TokenType.NUMBER:
            continue
        text = token.text
        number = _NUMBER.fullmatch(text)
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}.."
        if number is None:
            raise ParseError(
                "bad-number",
                f"{shown} is not a number",
                hint="write digits, a point and an exponent: 12, 1.5, 2e5, 1.5e-3",
            ).at(Span(token.start, token.end + 1))
        exponent = (number[1] or "").lstrip("+-0")
        if len(text) > _MOST_DIGITS or int(exponent[:_MOST_DIGITS] or 0) > _MOST_DIGITS:
            raise ParseError(
                "bad-number",
                f"{shown} is beyond what any type holds",
                hint="a decimal has 38 digits, and a double an exponent of 308 at most",
            ).at(Span(token.start, token.end + 1))


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
            ).at(Span(first.start, first.end + 1))
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
        ).at(span_of(trees[1]))
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
                ).at(Span(comment.start(), comment.end()))


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
            ).at(span_of(inner.args["hint"]))
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
            ).at(span)
        name = match[1].lower()
        if name not in HINTS:
            raise BindError(
                "unknown-hint",
                f"there is no hint named {match[1]!r}",
                hint=f"one of {nearest(name, HINTS)}",
            ).at(Span(offset + match.start(1), offset + match.end(1)))
        value = (match[2] if match[2] is not None else match[3]).strip().strip("'\"")
        end = match.end(2) + 1 if match[2] is not None else match.end(3)
        place = Span(offset + match.start(1), offset + end)
        if any(name == earlier.name for earlier in hints):
            raise BindError(
                "hint-twice", f"the hint {name} is given twice", hint="leave one of them out"
            ).at(place)
        hints.append(Hint(name, value, place))
        position = match.end()
    return tuple(hints)
