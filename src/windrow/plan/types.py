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
