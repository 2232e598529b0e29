"""Result types of aggregates, as Spark has them."""

from __future__ import annotations

from windrow.sql.decimals import MOST_DIGITS, digits_of_type

_FLOATS = {"float", "double"}


def result_type(function: str, argument: str) -> str | None:
    """The type of `function` over values of type `argument`; None where it is not defined."""
    if function == "count":
        return "bigint"
    if argument in _FLOATS:
        return "double"
    digits = digits_of_type(argument)
    if digits is None:
        return None
    if not digits.is_decimal:
        return "bigint" if function == "sum" else "double"
    if function == "sum":
        return f"decimal({min(MOST_DIGITS, digits.precision + 10)},{digits.scale})"
    precision, scale = digits.precision + 4, digits.scale + 4
    return f"decimal({min(MOST_DIGITS, precision)},{min(MOST_DIGITS, scale)})"
