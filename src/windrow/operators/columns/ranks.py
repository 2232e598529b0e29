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

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.plan.exprs import Comparison, Side
from windrow.schema import MAX_TICK, MIN_TICK

Ranks = NDArray[np.int64]
Flags = NDArray[np.bool_]

REAL = {"float", "double"}
_OPERATORS = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "<>": np.not_equal,
}
_LOW_BITS = np.int64(2**63 - 1)


class Ranked(NamedTuple):
    """One side of a comparison, and whether it is compared as a double."""

    side: Side
    is_real: bool


def ranked_sides(comparison: Comparison) -> tuple[Ranked, Ranked]:
    """The two sides of a comparison, to be ranked alike."""
    is_real = bool({comparison.left.type, comparison.right.type} & REAL)
    return Ranked(comparison.left, is_real), Ranked(comparison.right, is_real)


def compare(
    operator: str, left: Ranks | NDArray[np.object_], right: Ranks | NDArray[np.object_]
) -> Flags:
    """For which ranks, or whole numbers of any size, `left operator right`."""
    verdict: Flags = _OPERATORS[operator](left, right)
    return verdict


def ranks_of(values: pa.Array, ranked: Ranked) -> Ranks | None:
    """The ranks of one side's values; where the column is NULL they mean nothing.

    None where a sum takes more than 64 bits: `wide_sums` has those.
    """
    side, numbers = ranked.side, numbers_of(values)
    if ranked.is_real:
        with np.errstate(over="ignore"):  # a sum beyond all doubles is infinite
            return real_ranks(numbers.astype(np.float64) + np.float64(side.shift))
    whole = numbers.astype(np.int64)
    if not side.shift or not len(whole):
        return whole
    valid = whole if not values.null_count else whole[valid_rows(values)]
    if not len(valid):
        return whole
    sums = int(valid.min()) + side.shift, int(valid.max()) + side.shift
    if min(sums) < MIN_TICK or max(sums) > MAX_TICK:
        return None
    # In two steps, for a constant may take more than 64 bits itself.
    half = int(side.shift) // 2
    return whole + np.int64(half) + np.int64(int(side.shift) - half)


def wide_sums(values: pa.Array, side: Side) -> NDArray[np.object_]:
    """One side's values where ranks of 64 bits cannot hold them: whole numbers of any size."""
    sums: NDArray[np.object_] = numbers_of(values).astype(np.int64).astype(np.object_)
    sums += int(side.shift)
    return sums


def valid_rows(values: pa.Array) -> Flags:
    """Which values are not NULL."""
    found: Flags = values.is_valid().to_numpy(zero_copy_only=False)
    return found


def numbers_of(values: pa.Array) -> NDArray[np.generic]:
    """The values as they lie in memory; a NULL is some number."""
    if pa.types.is_date32(values.type):
        values = values.view(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())
    if values.null_count:
        values = values.fill_null(0)
    found: NDArray[np.generic] = values.to_numpy(zero_copy_only=False)
    return found


def real_ranks(numbers: NDArray[np.float64]) -> Ranks:
    """The ranks of doubles."""
    plain = numbers + 0.0  # -0.0 becomes 0.0
    plain[np.isnan(plain)] = np.nan  # of the many NaNs the one that is positive
    bits = plain.view(np.int64)
    return np.where(bits < 0, bits ^ _LOW_BITS, bits)


def from_real_ranks(ranks: Ranks) -> NDArray[np.float64]:
    """The doubles that have these ranks."""
    bits: Ranks = np.where(ranks < 0, ranks ^ _LOW_BITS, ranks)
    return bits.view(np.float64)
