"""Types of expressions, as the engine that evaluates them knows them, and digits of exact numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from windrow.errors import BindError
from windrow.plan.exprs import Expr
from windrow.schema import Schema


class TypeResolver(Protocol):
    """Gives the Spark types of expressions over columns of known types.

    Spark answers on Spark, DuckDB in process. An expression that the engine refuses raises a
    BindError with the engine's reason.
    """

    def types(self, columns: Schema, expressions: Sequence[Expr]) -> list[str]:
        """The type of each expression (their own `type` is not yet filled in)."""

    def has_function(self, name: str) -> bool:
        """Whether the engine has a function of that name already."""

    def volatile_parts(self, columns: Schema, expression: Expr) -> frozenset[str]:
        """The functions in the expression that may have another value each time, by name."""

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


_HINTS = (
    (("extract", "struct"), "a value has fields only if it is a struct: name one that it has"),
    (("syntax", "parser error"), "write it as Spark's SQL has it"),
)
"""What to write instead, by words of an engine's reason."""


def refused_expression(engine: str, expression: Expr, reason: str) -> BindError:
    """The error for an expression that an engine does not take, for a reason of its own."""
    said = reason.lower()
    value = expression.columns[0] if expression.columns else "x"
    hints = [hint for words, hint in _HINTS if any(word in said for word in words)]
    casting = f"give it values of types that it takes, casting where needed: CAST({value} AS ..)"
    return BindError(
        "bad-expression",
        f"{engine} does not take the expression {expression.text}",
        reason=reason,
        hint=[*hints, casting][0],
    )


MOST_DIGITS = 38
"""Of a decimal."""

_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


@dataclass(frozen=True)
class Digits:
    """An exact number: `precision` digits, `scale` of them after the point."""

    precision: int
    scale: int
    is_decimal: bool = True

    @property
    def sql(self) -> str:
        """The type as SQL writes it."""
        return f"DECIMAL({self.precision}, {self.scale})"


def holding(*kinds: Digits) -> Digits:
    """The digits that hold the values of all of these exactly, were there room for as many."""
    scale = max(kind.scale for kind in kinds)
    whole = max(kind.precision - kind.scale for kind in kinds)
    return Digits(whole + scale, scale, any(kind.is_decimal for kind in kinds))


FLOATS = {"float", "double"}


def is_number(type_: str) -> bool:
    """Whether a Spark type is one of numbers."""
    return type_ in FLOATS or digits_of_type(type_) is not None


def digits_of_type(type_: str) -> Digits | None:
    """The digits that a Spark type holds; None where it is no exact number."""
    if type_ in _INTEGER_DIGITS:
        return Digits(_INTEGER_DIGITS[type_], 0, is_decimal=False)
    match = _DECIMAL.fullmatch(type_)
    return Digits(int(match[1]), int(match[2])) if match else None
