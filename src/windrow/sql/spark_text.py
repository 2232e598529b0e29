"""Expressions for Spark: what the user wrote, with the flat names of the columns.

Spark reads its own SQL best, so nothing but the names is rewritten. A tree that the user did not
write (a cast that we add, an alias written out) has no place in the SQL, and is generated.
"""

from __future__ import annotations

from sqlglot import exp

from windrow.sql.parentheses import parenthesized
from windrow.sql.spans import is_flat, own_span


def spark_text(node: exp.Expr, sql: str) -> str:
    """The expression as Spark reads it."""
    whole = own_span(node)
    if whole is None:
        return parenthesized(node.copy()).sql("spark", comments=False)
    pieces, position = [], whole.start
    names = [name for name in node.dfs(prune=is_flat) if is_flat(name)]
    places = [(span, name) for name in names if (span := own_span(name)) is not None]
    for span, name in sorted(places, key=lambda place: place[0].start):
        pieces += [sql[position : span.start], name.sql("spark", comments=False)]
        position = span.end
    return "".join([*pieces, sql[position : whole.end]])
