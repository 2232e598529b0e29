"""WITH: the queries that others may read by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from windrow.errors import BindError
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import span_of


@dataclass(frozen=True)
class WithQuery:
    """A query of WITH, and those that it may read itself: the ones before it."""

    tree: exp.Expr
    reach: Reach


Reach: TypeAlias = Mapping[str, WithQuery]
"""The queries of WITH that may be read, by their names."""


def with_queries(query: exp.Expr, outside: Reach) -> Reach:
    """What a query may read by name: its own queries of WITH, and those outside of it."""
    with_ = query.args.get("with_")
    if with_ is None:
        return outside
    if with_.args.get("recursive"):
        raise unsupported(
            "recursive", "WITH RECURSIVE is not supported", "write the steps out", span_of(with_)
        )
    reach, own = outside, set[str]()
    for cte in with_.expressions:
        name = cte.alias.lower()
        if cte.args["alias"].args.get("columns"):
            raise unsupported(
                "column-aliases",
                "column names in an alias are not supported",
                "name the columns with AS in the inner SELECT",
                span_of(cte.args["alias"]),
            )
        if name in own:
            raise BindError(
                "with-name-twice",
                f"two queries of WITH are called {cte.alias!r}",
                hint="give one of them another name",
                span=span_of(cte.this),
            )
        own.add(name)
        reach = {**reach, name: WithQuery(cte.this, reach)}
    return reach
