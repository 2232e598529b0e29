"""The slow twin of join predicates: SQL's comparisons and logic over Python values, None for NULL."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Value = Any


def order(value: Value) -> tuple[bool, Value]:
    """Where a value stands: NaN above all, and equal to itself; -0.0 where 0.0 is."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return (True, 0) if is_nan else (False, value)


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "<>": lambda left, right: left != right,
    "=": lambda left, right: left == right,
}


def compared(left: Value, operator: str, right: Value) -> bool | None:
    """`left operator right`: NULL if either is."""
    if left is None or right is None:
        return None
    return OPERATORS[operator](order(left), order(right))


def plus(left: Value, right: Value) -> Value:
    """The sum, NULL if either is."""
    return None if left is None or right is None else left + right


def negated(value: bool | None) -> bool | None:
    """NOT."""
    return None if value is None else not value


def either(left: bool | None, right: bool | None) -> bool | None:
    """OR: true if one is, else NULL if one is."""
    if left or right:
        return True
    return None if left is None or right is None else False
