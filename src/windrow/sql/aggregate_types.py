"""Result types of aggregates, as Spark has them."""

from __future__ import annotations

import re

_INTEGERS = {"tinyint", "smallint", "int", "bigint"}
_FLOATS = {"float", "double"}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_MOST_DIGITS = 38


def result_type(function: str, argument: str) -> str | None:
    """The type of `function` over values of type `argument`; None where it is not defined."""
    if function == "count":
        return "bigint"
    if argument in _FLOATS:
        return "double"
    if argument in _INTEGERS:
        return "bigint" if function == "sum" else "double"
    match = _DECIMAL.fullmatch(argument)
    if match is None:
        return None
    precision, scale = int(match[1]), int(match[2])
    if function == "sum":
        return f"decimal({min(_MOST_DIGITS, precision + 10)},{scale})"
    return f"decimal({min(_MOST_DIGITS, precision + 4)},{min(_MOST_DIGITS, scale + 4)})"
