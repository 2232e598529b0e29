"""EMIT CHANGES: the answer as a changelog, of a query that would otherwise take nothing back."""

from __future__ import annotations

from sqlglot import exp

from windrow.errors import Span
from windrow.sql.refuse import unsupported

EMIT_CHANGES = "EMIT CHANGES"


def emits_changes(tree: exp.Expr) -> bool:
    """Whether EMIT CHANGES ends the query; inside of it, it is refused."""
    last = [tree]
    while isinstance(last[-1], exp.SetOperation | exp.Subquery):
        end = last[-1]
        last.append(end.expression if isinstance(end, exp.SetOperation) else end.this)
    for query in tree.find_all(exp.Query):
        if "emit_changes" in query.meta and not any(query is end for end in last):
            raise unsupported(
                "emit-changes-inside",
                "EMIT CHANGES stands inside the query",
                "write it at the end: it is the answer of the whole query that it is about",
                Span(*query.meta["emit_changes"]),
            )
    return any("emit_changes" in query.meta for query in last)
