"""Which type holds the values of two others: exactly, or as near as Spark has them in common."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from windrow.plan.types import FLOATS, MOST_DIGITS, Digits, digits_of_type, holding

_LEAST_SCALE = 6
"""Digits after the point that Spark keeps when a result needs more than 38 in all."""

_NOTED = "windrow_digits"
_LITERAL = re.compile(r"(\d*)\.?(\d*)")


def note_digits(tree: exp.Expr, types: Mapping[str, str]) -> None:
    """Notes the digits of all parts, inner ones first: to ask for those of a sum then reads two notes."""
    for node in reversed(list(tree.walk())):
        if isinstance(node, exp.Binary | exp.Paren | exp.Neg):
            node.meta[_NOTED] = digits_of(node, types)


def digits_of(node: exp.Expr, types: Mapping[str, str]) -> Digits | None:
    """The digits of an expression over columns of these types; None where they are not known."""
    if _NOTED in node.meta:
        noted: Digits | None = node.meta[_NOTED]
        return noted
    if isinstance(node, exp.Paren | exp.Neg):
        return digits_of(node.this, types)
    if isinstance(node, exp.Column):
        return digits_of_type(types.get(node.name, ""))
    if isinstance(node, exp.Literal):
        return None if node.is_string else _digits_of_literal(node.name)
    if isinstance(node, exp.Cast):
        return digits_of_type(node.to.sql("spark").lower().replace(" ", ""))
    return result_digits(node, types)


def result_digits(node: exp.Expr, types: Mapping[str, str]) -> Digits | None:
    """The digits of `left op right`, where one of both is a decimal and both are exact."""
    if not isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod):
        return None
    left, right = digits_of(node.this, types), digits_of(node.expression, types)
    if left is None or right is None or not (left.is_decimal or right.is_decimal):
        return None
    if isinstance(node, exp.Mul):
        return _fitted(left.precision + right.precision + 1, left.scale + right.scale)
    whole = left.precision - left.scale
    if isinstance(node, exp.Div):
        scale = max(_LEAST_SCALE, left.scale + right.precision + 1)
        return _fitted(whole + right.scale + scale, scale)
    both = holding(left, right)
    if isinstance(node, exp.Mod):
        return _fitted(min(whole, right.precision - right.scale) + both.scale, both.scale)
    return _fitted(both.precision + 1, both.scale)


def _fitted(precision: int, scale: int) -> Digits:
    """Within 38 digits: what is before the point is kept, and at least 6 digits after it."""
    if precision <= MOST_DIGITS:
        return Digits(precision, scale)
    least = min(scale, _LEAST_SCALE)
    return Digits(MOST_DIGITS, max(MOST_DIGITS - (precision - scale), least))


def _digits_of_literal(text: str) -> Digits | None:
    """A number as written: 4.50 has 3 digits, 2 of them after the point."""
    match = _LITERAL.fullmatch(text)
    if match is None:
        return None
    whole, fraction = match[1].lstrip("0"), match[2]
    is_decimal = "." in text
    return Digits(max(len(whole) + len(fraction), 1), len(fraction), is_decimal)


INTEGERS = ("tinyint", "smallint", "int", "bigint")
"""Integer types, narrowest first."""


def wider_type(first: str, second: str) -> str | None:
    """The type that holds all values of both exactly; None where there is none."""
    if first == second:
        return first
    if first in INTEGERS and second in INTEGERS:
        return max(first, second, key=INTEGERS.index)
    kinds = {first, second}
    if kinds == FLOATS or (kinds & FLOATS and kinds & {"tinyint", "smallint", "int"}):
        return "double"
    left, right = digits_of_type(first), digits_of_type(second)
    if left is None or right is None:
        return None
    both = holding(left, right)
    return f"decimal({both.precision},{both.scale})" if both.precision <= MOST_DIGITS else None


def common_type(first: str, second: str) -> str | None:
    """The type that a set operation gives a column of both types, as Spark does; None for none.

    Whole numbers and decimals become doubles beside floating-point numbers, whatever is lost.
    """
    if "void" in (first, second):
        return second if first == "void" else first
    exact = wider_type(first, second)
    if exact is not None:
        return exact
    kinds = {first, second}
    is_number = all(kind in INTEGERS or digits_of_type(kind) is not None for kind in kinds - FLOATS)
    if kinds & FLOATS and is_number:
        return "double"
    if "date" in kinds and kinds & {"timestamp", "timestamp_ntz"}:
        return (kinds - {"date"}).pop()
    return None
