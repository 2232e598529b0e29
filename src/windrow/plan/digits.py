"""How many digits exact numbers have, by their Spark types."""

from __future__ import annotations

import re
from dataclasses import dataclass

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


def digits_of_type(type_: str) -> Digits | None:
    """The digits that a Spark type holds; None where it is no exact number."""
    if type_ in _INTEGER_DIGITS:
        return Digits(_INTEGER_DIGITS[type_], 0, is_decimal=False)
    match = _DECIMAL.fullmatch(type_)
    return Digits(int(match[1]), int(match[2])) if match else None
