"""How deep a query may go: what generators write in a row is laid flat, what is too deep is refused.

Reading a text, and computing what it says, takes a call within a call for each level: here, in DuckDB
and in Spark. So levels have a stated limit, and things in a row are no levels:

    a UNION ALL b UNION ALL c ..   a tree as deep as it is long, which becomes
    (a, b), (c, d), ..             one as deep as the number of its halvings
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from windrow.errors import ParseError, Span
from windrow.sql.spans import span_of

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
        span=span,
    )


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
                span=span_of(node),
            )
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
                    span=span_of(cte.this),
                )
            sizes[cte.alias.lower()] = size, depth
