"""Numbers of any type as doubles, each the nearest one, as Spark casts them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.key_columns import fixed_values

_EXACT_DIGITS, _EXACT_SCALE = 15, 22
"""Whole numbers of so many digits, and powers of ten so great, are doubles themselves."""


def as_doubles(column: pa.Array) -> NDArray[np.float64]:
    """The values as doubles; where the column is NULL, any finite number."""
    kind = column.type
    if not pa.types.is_decimal(kind):
        numbers = column.cast(pa.float64(), safe=False)
        return _without_nulls(numbers, fixed_values(numbers, "<f8"))
    if kind.precision <= _EXACT_DIGITS and kind.scale <= _EXACT_SCALE:
        # One division of two exact doubles is rounded once. Arrow's cast is off by a bit at times.
        whole = fixed_values(column, "<i8")[::2].astype(np.float64)
        return _without_nulls(column, whole / 10.0**kind.scale)
    return np.array([0.0 if v is None else float(v) for v in column.to_pylist()], np.float64)


def _without_nulls(column: pa.Array, values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not column.null_count:
        return values
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), values, 0.0)
