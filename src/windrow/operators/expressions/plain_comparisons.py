"""Comparisons of a column of numbers with a constant, computed by numpy with what DuckDB would answer.

DuckDB takes a tenth of a millisecond for a question about one row. What is asked most in a WHERE is
`v > 0.5`, and its answer is known without a question:

    NULL    no row with it is meant
    NaN     equals itself, and is greater than every number
    -0.0    equals 0.0

A double is compared with a constant of so many digits that it is the same double however it is read; a
whole number with a whole one. Everything else is DuckDB's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from windrow.plan.exprs import Expr

Flags = NDArray[np.bool_]

_NAME = r'"(?P<{}>(?:[^"]|"")+)"'
_NUMBER = r"(?P<{}>-?\d+(?:\.\d+)?)"
_OPERATOR = r" (?P<operator><=|>=|<>|<|>|=) "
_COLUMN_FIRST = re.compile(_NAME.format("column") + _OPERATOR + _NUMBER.format("number"))
_NUMBER_FIRST = re.compile(_NUMBER.format("number") + _OPERATOR + _NAME.format("column"))

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}

# By numpy NaN is on neither side of a number: what is not at most the number is above it.
_ANSWERS: dict[str, Callable[[Any, Any], Flags]] = {
    "<": lambda values, number: values < number,
    "<=": lambda values, number: values <= number,
    ">": lambda values, number: ~(values <= number),
    ">=": lambda values, number: ~(values < number),
    "=": lambda values, number: values == number,
    "<>": lambda values, number: values != number,
}

DOUBLE_DIGITS = 15
"""A number of so many digits is one double, by one rounding, read by whomever."""

WHOLE_DIGITS = 18
"""A whole number of so many digits is one of 64 bits."""

_DOUBLE = pa.float64()
_WHOLE = {
    kind.id: kind.to_pandas_dtype() for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())
}


@dataclass(frozen=True)
class PlainComparison:
    """`column operator number`."""

    column: str
    operator: str
    number: str

    @classmethod
    def of(cls, expr: Expr) -> PlainComparison | None:
        """What an expression compares; None where it is more, or something else."""
        found = _COLUMN_FIRST.fullmatch(expr.duckdb)
        turned = None if found else _NUMBER_FIRST.fullmatch(expr.duckdb)
        match = found or turned
        if match is None:
            return None
        column = match["column"].replace('""', '"')
        if column not in expr.columns:  # what a function gives has a name as well
            return None
        operator = match["operator"] if found else _MIRRORED[match["operator"]]
        return cls(column, operator, match["number"])

    def constant(self, kind: pa.DataType) -> np.float64 | np.int64 | None:
        """The number as values of a type are compared with it; None where DuckDB is to be asked."""
        digits = sum(sign.isdigit() for sign in self.number)
        if kind.id == _DOUBLE.id and digits <= DOUBLE_DIGITS:
            return np.float64(self.number)
        if kind.id in _WHOLE and "." not in self.number and digits <= WHOLE_DIGITS:
            return np.int64(self.number)
        return None

    def holds(self, column: pa.Array, constant: np.float64 | np.int64) -> Flags:
        """For which rows it is true; NULL counts as false."""
        dtype = _WHOLE.get(column.type.id, np.float64)
        rows = len(column)
        if not rows:
            return np.zeros(0, np.bool_)
        start = column.offset * np.dtype(dtype).itemsize
        values = np.frombuffer(column.buffers()[1], dtype, rows, start)
        found = _ANSWERS[self.operator](values, constant)
        if column.null_count:
            found &= column.is_valid().to_numpy(zero_copy_only=False)
        return found


class PlainComparisons:
    """Comparisons of one question that must all hold.

    Args:
        predicates: the conditions.
    """

    def __init__(self, predicates: tuple[Expr, ...]) -> None:
        found = [PlainComparison.of(predicate) for predicate in predicates]
        self._all = [each for each in found if each is not None]
        self._are_all = len(self._all) == len(found)

    def verdicts(self, columns: pa.RecordBatch) -> Flags | None:
        """For which rows all hold; None where DuckDB is to be asked."""
        if not self._are_all:
            return None
        holds: Flags | None = None
        read = [columns.column(each.column) for each in self._all]
        constants = [each.constant(own.type) for each, own in zip(self._all, read, strict=True)]
        for each, column, constant in zip(self._all, read, constants, strict=True):
            if constant is None:
                return None
            found = each.holds(column, constant)
            holds = found if holds is None else holds & found
        return holds
