"""Numbers and times as 64-bit integers in SQL's order, so that one loop compares them all.

    x < y  in SQL   exactly if   rank(x) < rank(y)

Whole numbers, dates and timestamps are their own ranks. The bits of a double, read as an integer,
are in the order of its values once the negative ones are turned around; -0.0 counts as 0.0, and
NaN is above everything and equal to itself, as in Spark.

    -inf .. -1.5 .. 0.0 .. 1.5 .. inf   NaN
    ------------------------------------------> rank

NULL has no rank: it compares with nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from windrow.plan.exprs import Comparison, Side

REAL = ("float", "double")
_LIMITS = {"tinyint": 8, "smallint": 16, "int": 32, "date": 32}
_LOW_BITS = np.int64(2**63 - 1)


def is_real(comparison: Comparison) -> bool:
    """Whether the two sides are compared as doubles."""
    return comparison.left.type in REAL or comparison.right.type in REAL


def ranks_of(values: pa.Array, side: Side, *, real: bool) -> NDArray[np.int64] | None:
    """The ranks of one side's values; where the column is NULL they mean nothing.

    Args:
        values: the side's column.
        side: which constant to add, and in which type.
        real: whether they are compared as doubles.

    Returns:
        The ranks, or None where a sum leaves its type: SQL then raises, for the rows that are
        asked for.
    """
    numbers = _numbers(values)
    if real:
        return _real_ranks(numbers.astype(np.float64) + np.float64(side.shift))
    whole = numbers.astype(np.int64)
    if not side.shift or not len(whole):
        return whole
    most = 2 ** (_LIMITS.get(side.type, 64) - 1) - 1
    valid = whole if not values.null_count else whole[valid_rows(values)]
    if not len(valid):
        return whole
    if int(valid.max()) + side.shift > most or int(valid.min()) + side.shift < -most - 1:
        return None
    return whole + np.int64(side.shift)


def valid_rows(values: pa.Array) -> NDArray[np.bool_]:
    """Which values are not NULL."""
    found: NDArray[np.bool_] = values.is_valid().to_numpy(zero_copy_only=False)
    return found


def _numbers(values: pa.Array) -> NDArray[np.generic]:
    """The values as they lie in memory; a NULL is some number."""
    if pa.types.is_date32(values.type):
        values = values.view(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())
    if values.null_count:
        values = values.fill_null(0)
    found: NDArray[np.generic] = values.to_numpy(zero_copy_only=False)
    return found


def _real_ranks(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    plain = numbers + 0.0  # -0.0 becomes 0.0
    plain[np.isnan(plain)] = np.nan  # of the many NaNs the one that is positive
    bits = plain.view(np.int64)
    return np.where(bits < 0, bits ^ _LOW_BITS, bits)
