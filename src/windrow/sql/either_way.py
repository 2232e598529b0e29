"""EITHER WAY: all DWINDOWs as written, or all of them reversed.

Between two streams alone both ways make one window, for each of them holds at distance zero:

    as written     t(b) - t(a) in          [0 ======= w]
    reversed                      [-w ======= 0]
    together                      [-w ================ w]

Over three streams or more they do not: a - b - c and c - b - a leave out b - a - c. Such a join has
two graphs of windows; the windows that have no direction are part of both as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from windrow.errors import ParseError
from windrow.plan.windows import Bound
from windrow.sql.clauses import PairWindow
from windrow.sql.spans import span_of


def goes_either_way(clauses: Sequence[exp.Expr]) -> bool:
    """Whether EITHER WAY stands behind the windows.

    Raises:
        ParseError: it turns nothing around, or stands before one that it would turn.
    """
    marked = next((clause for clause in clauses if clause.args.get("either_way")), None)
    if marked is None:
        return False
    directed = [clause for clause in clauses if is_directed(clause)]
    if not directed:
        raise ParseError(
            "either-way-without-dwindow",
            "EITHER WAY follows no DWINDOW",
            reason="it turns directed windows around, and a WINDOW has no direction",
            hint="leave it out, or write DWINDOW (first, then) = length",
            span=span_of(marked),
        )
    span = span_of(marked)
    after = [at for at in map(span_of, directed) if at and span and at.start > span.start]
    if after:
        raise ParseError(
            "either-way-before-dwindow",
            "EITHER WAY stands before a DWINDOW",
            reason="it turns all of them around, together",
            hint="write it once, behind the last DWINDOW",
            span=after[0],
        )
    return True


def is_directed(clause: exp.Expr) -> bool:
    """Whether a clause is a DWINDOW."""
    return isinstance(clause, PairWindow) and bool(clause.args.get("directed"))


def one_window_both_ways(directed: Sequence[Bound]) -> Bound | None:
    """The window that both ways make together; None where they concern more than two streams."""
    first = directed[0]
    if any({bound.left, bound.right} != {first.left, first.right} for bound in directed):
        return None
    facing = [
        bound if bound.left == first.left else _from_the_other_end(bound) for bound in directed
    ]
    # Where DWINDOWs of one pair face each other, only distance zero meets them all.
    width = max(min(bound.lo for bound in facing), min(bound.hi for bound in facing))
    text = ", ".join(bound.text for bound in directed)
    return Bound(first.left, first.right, lo=width, hi=width, text=text)


def reverse(bound: Bound) -> Bound:
    """The bound with its streams in each other's place."""
    return replace(bound, left=bound.right, right=bound.left)


def _from_the_other_end(bound: Bound) -> Bound:
    """The same bound, said of t(left) - t(right)."""
    return Bound(bound.right, bound.left, lo=bound.hi, hi=bound.lo, text=bound.text)
