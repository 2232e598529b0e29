"""Where in the SQL text a piece of the tree came from."""

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
