"""Distances of a bestmatch join: columns of any comparable type as numbers that compare exactly.

    type of the dimension                          distance            exact
    event time, dates, timestamps, intervals       ticks, as integer   yes
    integers                                       integer             yes
    decimals, also against integers, when          integer, in units   yes
      both fit 18 digits at their common scale       of that scale
    float                                          float, widened      as floats are
    double, also against float; floats and         double              as doubles are
      doubles against whole numbers, decimals

Other decimals are compared pair by pair (`wide_numbers.py`). Here their distances are doubles, good
enough to find a cell.

A distance that is not exact is what Spark's SQL computes for `abs(a - b)`: two floats are subtracted
as floats, and a float beside anything else is a double first. A NULL or NaN makes a row
unusable: it has no candidates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.errors import UnsupportedError
from windrow.kernels import bestmatch as kernels
from windrow.kernels.bestmatch import NO_LIMIT
from windrow.operators.columns.arrow_types import arrow_type
from windrow.operators.columns.key_columns import fixed_values
from windrow.plan.nodes.bestmatch_join import YOUNGEST, Dimension, Limit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from windrow.operators.columns.changes import ChangeBatch
    from windrow.schema import Schema

MOST_DIGITS = 18
"""Every decimal of this many digits fits an int64."""

_SHIFT = np.uint64(1 << 63)
_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}
_FARTHEST_CELL = float(1 << 62)

_SINGLE_ROUNDING = 2.0**-23
_WIDER = 1 + 2.0**-10
_FARTHEST_NEIGHBOR = 1 << 40
_NARROWEST = 1e-300
"""For cells of doubles whose neighbors hold all candidates: within 2^40 cells a quotient is off by
less than 2^-12, and what is within the limit is apart by less than 1 - 2^-11 of a cell so wide."""


@dataclass(frozen=True)
class Measure:
    """How one dimension is measured.

    Attributes:
        columns: its left and right column; None for event time.
        scale: decimal digits of the integers it is measured in; None: measured in doubles.
        eps: the constraint in the dimension's own unit, or None.
        is_youngest: whether the later value counts, and not the distance.
        is_single: whether distances that are doubles are rounded to 32-bit floats.
    """

    columns: tuple[str | None, str | None]
    scale: int | None
    eps: Limit | None
    is_youngest: bool = False
    is_single: bool = False

    @staticmethod
    def of(dimension: Dimension, left: Schema, right: Schema) -> Measure:
        """The measure of a dimension between two inputs."""
        if dimension.order == YOUNGEST:
            # Candidates are within the bound on time, which is all that limits them.
            return Measure((None, None), 0, None, is_youngest=True)
        if dimension.is_time:
            return Measure((None, None), 0, dimension.eps)
        columns = (dimension.left, dimension.right)
        types = [
            arrow_type(schema.fields[schema.names.index(name)].type)
            for schema, name in zip((left, right), columns, strict=True)
        ]
        for name, kind in zip(columns, types, strict=True):
            if not (_is_whole(kind) or pa.types.is_decimal(kind) or pa.types.is_floating(kind)):
                raise UnsupportedError(
                    "bestmatch-dimension-type",
                    f"{name} has no distance: its type is {kind}",
                    reason="MINDIST needs numbers, dates, timestamps or intervals",
                    hint="compare a number computed from it",
                )
        is_single = all(kind == pa.float32() for kind in types)
        return Measure(columns, common_scale(*types), dimension.eps, is_single=is_single)

    @property
    def is_float(self) -> bool:
        """Whether distances are doubles."""
        return self.scale is None

    def apart(self, left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The distances of values that are doubles."""
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(left.view(np.float64) - right.view(np.float64))
            return apart.astype(np.float32).astype(np.float64) if self.is_single else apart

    @property
    def kind(self) -> int:
        """How kernels measure it."""
        if self.is_youngest:
            return kernels.YOUNGEST
        if self.is_single:
            return kernels.SINGLE
        return kernels.FLOAT if self.is_float else kernels.INTEGER

    @property
    def is_constrained(self) -> bool:
        """Whether the distance has a bound."""
        return self.eps is not None and self.eps != float("inf")

    @property
    def limit(self) -> int:
        """The greatest distance of a candidate, as kernels compare it."""
        if self.eps is None or not self.is_constrained:
            return NO_LIMIT
        if self.scale is None:
            return int(np.float64(self.eps).view(np.uint64))
        return min(units_within(self.eps, self.scale), NO_LIMIT)

    @property
    def rounding(self) -> float:
        """How far a distance of floats may be off, relative to itself; steps of doubles apart."""
        return _SINGLE_ROUNDING if self.is_single else 0.0

    def values(
        self, batch: ChangeBatch, port: int
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_] | None]:
        """The values as kernels compare them, and which rows have one (None: all)."""
        name = self.columns[port]
        if name is None:
            return shifted(batch.times), None
        column = batch.columns.column(name)
        if self.scale is not None:
            has_value = has_values(column)
            return shifted(whole_numbers(column, self.scale)), has_value
        doubles = _doubles(column)
        is_number = ~np.isnan(doubles)
        return doubles.view(np.uint64), None if is_number.all() else is_number

    def cells(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The cell of each value in a grid as wide as the constraint; ascends with the value."""
        if self.is_float:
            return self._double_cells(values.view(np.float64))
        return values // np.uint64(max(self.limit, 1))

    def cell_spans(
        self, values: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The first and last cell that a candidate of each value can lie in."""
        if self.is_float:
            doubles = values.view(np.float64)
            # A difference just above eps can round down to it, and is then no greater than eps:
            # one step above covers it, for rounding never reverses an order.
            reach = np.nextafter(float(self.eps or 0) * (1 + self.rounding), np.inf)
            with np.errstate(over="ignore"):
                return self._double_cells(doubles - reach), self._double_cells(doubles + reach)
        limit = np.uint64(self.limit)
        below = values - np.minimum(values, limit)
        above = values + np.minimum(np.uint64(NO_LIMIT) - values, limit)
        return self.cells(below), self.cells(above)

    @property
    def has_neighbor_cells(self) -> bool:
        """Whether it has the cells below: event time has none, nor has what reaches everywhere."""
        is_near = self.is_float or self.limit < 1 << 63
        return self.is_constrained and self.columns[0] is not None and is_near

    def neighbor_cells(self, values: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The cell of each value, so wide that a candidate's is the same one or a neighbor."""
        if self.is_float:
            width = max(float(self.eps) * _WIDER, _NARROWEST) if self.eps else 1.0
            with np.errstate(over="ignore"):
                cells = np.floor(values.view(np.float64) / width)
            return np.clip(cells, -_FARTHEST_NEIGHBOR, _FARTHEST_NEIGHBOR).astype(np.int64)
        numbers = (values ^ _SHIFT).view(np.int64)
        whole: NDArray[np.int64] = numbers // max(self.limit, 1)
        return np.clip(whole, -(1 << 62), 1 << 62)

    def _double_cells(self, doubles: NDArray[np.float64]) -> NDArray[np.uint64]:
        width = float(self.eps or 0) or 1.0
        with np.errstate(over="ignore"):
            cells = np.floor(doubles / width)
        return shifted(np.clip(cells, -_FARTHEST_CELL, _FARTHEST_CELL).astype(np.int64))


def has_values(column: pa.Array) -> NDArray[np.bool_] | None:
    """Which values are neither NULL nor NaN; None: all of them."""
    if pa.types.is_floating(column.type):
        column = column.cast(pa.float64()).fill_null(np.nan)
        is_number: NDArray[np.bool_] = ~np.isnan(column.to_numpy(zero_copy_only=False))
        return None if is_number.all() else is_number
    return column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None


def _doubles(column: pa.Array) -> NDArray[np.float64]:
    """A column of numbers as doubles, each rounded once, as SQL does before it subtracts.

    (Arrow's own cast of a decimal takes it times a power of ten that is rounded already.)
    """
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())
    doubles: NDArray[np.float64] = (
        column.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
    )
    return doubles


def units_within(eps: Limit, scale: int) -> int:
    """The most whole units of 10^-scale that are within eps.

    By way of its text: 0.3 in units of 0.1 is 3, though the double is a little less.
    """
    units: int = 10**scale
    return math.floor(Fraction(str(eps)) * units)


def common_scale(left: pa.DataType, right: pa.DataType) -> int | None:
    """The decimal digits after the point at which both are exact integers; None: there is none."""
    if pa.types.is_floating(left) or pa.types.is_floating(right):
        return None
    if _is_whole(left) and _is_whole(right):
        return 0
    sizes = [
        (kind.precision - kind.scale, kind.scale)
        if pa.types.is_decimal(kind)
        else (_DIGITS.get(kind, MOST_DIGITS + 1), 0)
        for kind in (left, right)
    ]
    scale = max(size[1] for size in sizes)
    whole = max(size[0] for size in sizes)
    return scale if whole + scale <= MOST_DIGITS else None


def _is_whole(kind: pa.DataType) -> bool:
    return bool(
        kind in _DIGITS
        or pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
        or pa.types.is_duration(kind)
    )


def whole_numbers(column: pa.Array, scale: int) -> NDArray[np.int64]:
    """A column in units of 10^-scale; NULLs become any number."""
    if pa.types.is_decimal(column.type):
        # Two words per decimal, the low one first; 18 digits need only that one.
        return fixed_values(column.cast(pa.decimal128(38, scale)), "<i8")[::2]
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    whole: NDArray[np.int64] = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return whole * np.int64(10**scale)


def shifted(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Signed numbers as unsigned ones, order and differences kept."""
    return np.ascontiguousarray(numbers).view(np.uint64) ^ _SHIFT
