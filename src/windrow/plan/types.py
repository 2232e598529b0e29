"""Who knows the type of an expression: the engine that will evaluate it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from windrow.plan.exprs import Expr
from windrow.schema import Schema


class TypeResolver(Protocol):
    """Gives the Spark types of expressions over columns of known types.

    Spark answers on Spark, DuckDB in process. An expression that the engine refuses raises a
    BindError with the engine's reason.
    """

    def types(self, columns: Schema, expressions: Sequence[Expr]) -> list[str]:
        """The type of each expression (their own `type` is not yet filled in)."""
        ...

    def has_function(self, name: str) -> bool:
        """Whether the engine has a function of that name already."""
        ...

    def agrees_with_duckdb(
        self, columns: Schema, expression: Expr, *, may_differ: bool, depends_on_settings: bool
    ) -> bool:
        """Whether DuckDB gives the expression the value that this engine gives it.

        Args:
            columns: what it reads.
            expression: the expression, typed.
            may_differ: whether it holds what other engines compute otherwise, or otherwise each
                time.
            depends_on_settings: whether the time zone, or what happens on errors, may matter.
        """
        ...
