"""Where in the SQL text a piece of the tree came from."""

from __future__ import annotations

from sqlglot import exp

from windrow.errors import Span

_SPAN = "windrow_span"


def mark(node: exp.Expr, start: int, end: int) -> None:
    """Remembers that `node` was read from text[start:end]; the first mark stays.

    The parser builds a tree from the inside out, so the first mark is the tightest one.
    """
    node.meta.setdefault(_SPAN, (start, end))


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


def cover(*spans: Span | None) -> Span | None:
    """The smallest span that holds all the given ones."""
    known = [span for span in spans if span is not None]
    if not known:
        return None
    return Span(min(span.start for span in known), max(span.end for span in known))


def text_of(node: exp.Expr, sql: str) -> str:
    """What the user wrote for a node, on one line."""
    span = span_of(node)
    if span is None:
        return node.sql("spark")
    return " ".join(sql[span.start : span.end].split())
