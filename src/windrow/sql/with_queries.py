"""WITH: the queries that others may read by their names."""

from __future__ import annotations

from sqlglot import exp

from windrow.sql.refuse import unsupported
from windrow.sql.spans import span_of


def with_queries(query: exp.Expr) -> dict[str, exp.Expr]:
    """The queries of WITH by their names."""
    with_ = query.args.get("with_")
    if with_ is None:
        return {}
    if with_.args.get("recursive"):
        raise unsupported(
            "recursive", "WITH RECURSIVE is not supported", "write the steps out", span_of(with_)
        )
    return {cte.alias.lower(): cte.this for cte in with_.expressions}
