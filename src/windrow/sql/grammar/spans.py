"""Trees and their text: where a piece of a tree came from, and the parentheses that it needs.

A tree says by its shape what belongs together, and a text by parentheses and by the ranks of its
operators. Trees that Windrow makes, out of pieces that users wrote, have no parentheses of their
own; and the two engines do not rank all operators alike. So no text is made of a tree before it
went through here.

    NOT b  put into  .. IS NULL      (NOT b) IS NULL, and not  NOT (b IS NULL)
"""

from __future__ import annotations

from sqlglot import exp

from windrow.errors import Span, cover

_SPAN = "windrow_span"
_FLAT = "windrow_flat"
_NAME = "windrow_name"
_AROUND_CALLS = (exp.Window, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def mark(node: exp.Expr, start: int, end: int) -> None:
    """Remembers that `node` was read from text[start:end]; the first mark stays.

    The parser builds a tree from the inside out, so the first mark is the tightest one.
    """
    node.meta.setdefault(_SPAN, (start, end))


def own_span(node: exp.Expr) -> Span | None:
    """The place that the whole node was read from; None for a tree that we have made."""
    return Span(*node.meta[_SPAN]) if _SPAN in node.meta else None


def forget(node: exp.Expr) -> None:
    """Says that the node is no longer what stands in the text."""
    node.meta.pop(_SPAN, None)


def name_call(node: exp.Expr, name: str) -> None:
    """Remembers the name by which a function was called; what stands around the call is passed by."""
    while isinstance(node, _AROUND_CALLS):
        node = node.this
    node.meta.setdefault(_NAME, name.lower())


def called_name(node: exp.Expr) -> str:
    """The name by which the node calls a function, in lower case; "" where it calls none."""
    name = str(node.meta.get(_NAME, ""))
    if name or not isinstance(node, exp.Func):
        return name
    return (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()


def mark_flat(node: exp.Expr, original: exp.Expr) -> None:
    """Says that the node stands, under a flat name, for what the user wrote as `original`."""
    node.meta[_FLAT] = True
    span = span_of(original)
    if span is not None:
        mark(node, span.start, span.end)


def is_flat(node: exp.Expr) -> bool:
    """Whether the node names a column of the plan."""
    return bool(node.meta.get(_FLAT))


def cast_to(tree: exp.Expr, type_: str) -> exp.Expr:
    """The tree cast to a Spark type."""
    return exp.cast(tree.copy(), exp.DataType.build(type_, dialect="spark"))


def bare(tree: exp.Expr) -> exp.Expr:
    """The tree without parentheses around it."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return tree


def span_of(node: exp.Expr | None) -> Span | None:
    """The place of a node: its own mark, or all that its parts cover."""
    if node is None:
        return None
    if _SPAN in node.meta:
        return Span(*node.meta[_SPAN])
    token = node.meta
    if "start" in token and "end" in token:
        return Span(token["start"], token["end"] + 1)
    return cover(*(span_of(part) for part in node.iter_expressions()))


def text_of(node: exp.Expr, sql: str) -> str:
    """What the user wrote for a node, on one line; what we have made reads likewise."""
    span = own_span(node)
    if span is None and not any(is_flat(part) for part in node.walk()):
        span = span_of(node)
    if span is None:
        return node.sql("spark").replace("`", "")
    return " ".join(sql[span.start : span.end].split())


_OR, _AND, _NOT, _COMPARED, _OTHER, _SUM, _PRODUCT, _SIGN, _ATOM = range(9)

_RANKS: tuple[tuple[tuple[type[exp.Expr], ...], int], ...] = (
    ((exp.Or, exp.Xor), _OR),
    ((exp.And,), _AND),
    ((exp.Not,), _NOT),
    ((exp.Predicate, exp.Between, exp.In, exp.Is, exp.RegexpLike, exp.Escape), _COMPARED),
    ((exp.Add, exp.Sub), _SUM),
    ((exp.Mul, exp.Div, exp.IntDiv, exp.Mod), _PRODUCT),
    ((exp.Neg, exp.BitwiseNot), _SIGN),
)
_CHAINS = (_OR, _AND, _SUM, _PRODUCT)
"""Ranks whose operators are read from left to right, all alike by both engines."""

_CALLS = (exp.Func, exp.Dot, exp.Bracket, exp.Paren, exp.PropertyEQ, exp.Kwarg)
_WRITTEN_AS_OPERATORS = (
    exp.Connector, exp.RegexpLike, exp.RegexpILike, exp.JSONExtract, exp.JSONExtractScalar, exp.Collate,
)  # fmt: skip
"""What sqlglot counts among the functions, and one of the engines writes between its operands."""


def parenthesized(tree: exp.Expr) -> exp.Expr:
    """The tree with a parenthesis around every operand that needs one; the tree is changed."""
    for node in list(tree.walk()):
        parent = node.parent
        if parent is None or node is tree or not _needs_one(node, parent):
            continue
        around = exp.Paren()
        node.replace(around)
        around.set("this", node)
    return tree


def is_operator(node: exp.Expr) -> bool:
    """Whether the node is written as operands with something before, between or behind them."""
    return _rank(node) != _ATOM


def is_operand(node: exp.Expr) -> bool:
    """Whether the node stands beside an operator, with no bracket or comma between."""
    parent = node.parent
    if parent is None:
        return False
    if isinstance(parent, exp.Dot | exp.Bracket | exp.In):
        return node.arg_key == "this"
    return is_operator(parent)


def _needs_one(node: exp.Expr, parent: exp.Expr) -> bool:
    if not is_operand(node) or (isinstance(parent, exp.Escape) and node.arg_key == "this"):
        return False  # ESCAPE is a part of its LIKE
    own, above = _rank(node), _rank(parent)
    if type(node) is type(parent) and own == _OTHER and node.arg_key == "this":
        return False
    if own == _ATOM or isinstance(node, exp.Any | exp.All | exp.Interval):
        return False
    if own == above and own in _CHAINS:
        is_same = type(node) is type(parent) or own in {_SUM, _PRODUCT}
        is_left = node.arg_key == "this" or own in {_OR, _AND}
        return not (is_same and is_left)
    return not (own > above and _OTHER not in (own, above))


def _rank(node: exp.Expr) -> int:
    for kinds, rank in _RANKS:
        if isinstance(node, kinds) and not isinstance(node, exp.Paren):
            return rank if not _is_call(node) else _ATOM
    is_other = isinstance(node, exp.Binary | exp.Unary | exp.AtTimeZone | exp.Collate)
    return _OTHER if is_other and not _is_call(node) else _ATOM


def _is_call(node: exp.Expr) -> bool:
    return isinstance(node, _CALLS) and not isinstance(node, _WRITTEN_AS_OPERATORS)
