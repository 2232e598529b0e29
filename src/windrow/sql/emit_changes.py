"""EMIT CHANGES: the answer as a changelog, of a query that would otherwise take nothing back."""

from __future__ import annotations

from sqlglot import exp

from windrow.errors import Span
from windrow.sql.refuse import unsupported

EMIT_CHANGES = "EMIT CHANGES"


def emits_changes(tree: exp.Expr) -> bool:
    """Whether EMIT CHANGES ends the query; inside of it, it is refused."""
    last = tree
    while isinstance(last, exp.SetOperation | exp.Subquery):
        last = last.expression if isinstance(last, exp.SetOperation) else last.this
    for select in tree.find_all(exp.Select):
        if "emit_changes" in select.meta and select is not last:
            raise unsupported(
                "emit-changes-inside",
                "EMIT CHANGES stands inside the query",
                "write it at the end: it is the answer of the whole query that it is about",
                Span(*select.meta["emit_changes"]),
            )
    return "emit_changes" in last.meta
