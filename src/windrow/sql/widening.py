"""Which type holds the values of two others: exactly, or as near as Spark has them in common."""

from __future__ import annotations

from windrow.plan.digits import MOST_DIGITS, digits_of_type

INTEGERS = ("tinyint", "smallint", "int", "bigint")
"""Integer types, narrowest first."""

FLOATS = {"float", "double"}


def wider_type(first: str, second: str) -> str | None:
    """The type that holds all values of both exactly; None where there is none."""
    if first == second:
        return first
    if first in INTEGERS and second in INTEGERS:
        return max(first, second, key=INTEGERS.index)
    if {first, second} == {"float", "double"}:
        return "double"
    small = {"tinyint", "smallint", "int"}
    if {first, second} & {"float", "double"} and {first, second} & small:
        return "double"
    left, right = digits_of_type(first), digits_of_type(second)
    if left is None or right is None:
        return None
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    return f"decimal({precision},{scale})" if precision <= MOST_DIGITS else None


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
