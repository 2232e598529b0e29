"""Result types of aggregates, as Spark has them."""

from __future__ import annotations

from windrow.sql.decimals import MOST_DIGITS, Digits, digits_of_type

_FLOATS = {"float", "double"}
_ORDERED = {"string", "binary", "boolean", "date", "timestamp", "timestamp_ntz"}
"""Types beside numbers that MIN and MAX order."""

DOUBLES = {"median", "var_pop", "var_samp", "stddev_pop", "stddev_samp"}
"""Functions of numbers that give doubles."""


def result_type(function: str, argument: str) -> str | None:
    """The type of `function` over values of type `argument`; None where it is not defined."""
    if function == "count":
        return "bigint"
    digits = digits_of_type(argument)
    is_number = digits is not None or argument in _FLOATS
    if function in {"min", "max"}:
        return argument if is_number or _is_ordered(argument) else None
    if digits is None or function in DOUBLES:
        return "double" if is_number else None
    return _total_type(function, digits)


def _total_type(function: str, digits: Digits) -> str:
    """SUM or AVG of exact numbers."""
    if not digits.is_decimal:
        return "bigint" if function == "sum" else "double"
    if function == "sum":
        return f"decimal({min(MOST_DIGITS, digits.precision + 10)},{digits.scale})"
    precision, scale = digits.precision + 4, digits.scale + 4
    return f"decimal({min(MOST_DIGITS, precision)},{min(MOST_DIGITS, scale)})"


def _is_ordered(argument: str) -> bool:
    return argument in _ORDERED or argument.startswith(("varchar(", "char("))
