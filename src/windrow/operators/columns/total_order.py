"""The one order of a stream's rows: time, then the columns from left to right.

A column becomes codes, unsigned 64-bit integers in the order of its values, so that rows of any
types are sorted as rows of integers:

    NULL  ->  0                                       first
    3     ->  its bits with the sign turned, + 1      whole numbers, times, reals
    "süd" ->  its place among the values, from 1 on   texts, bytes, wide decimals
    [3, "süd"], structs, maps: the codes of their parts, 8 bytes each and the greatest byte first,
              are a text of bytes in the same order, which has its place among the others

Only rows that share their time with another one are looked at.

Where predicates compare numbers and times, one loop does by their *ranks*, 64-bit integers:

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
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch, take_columns
from windrow.operators.columns.key_columns import (
    as_byte_strings,
    exact_words,
    fixed_bytes,
    fixed_values,
    list_parts,
    plain,
    validity,
)
from windrow.plan.exprs import Comparison, Side
from windrow.schema import MAX_TICK, MIN_TICK

Codes = NDArray[np.uint64]

_SIGN_BIT = np.uint64(1 << 63)
_LAST = np.uint64(2**64 - 1)
CODE_BYTES = 8


def in_total_order(rows: ChangeBatch) -> ChangeBatch:
    """The rows, which are sorted by time, with those of one time sorted by their columns."""
    is_same = rows.times[1:] == rows.times[:-1]
    if not is_same.any():
        return rows
    is_tied = np.zeros(len(rows), np.bool_)
    is_tied[1:] |= is_same
    is_tied[:-1] |= is_same
    return rows.take(order_with_tied(rows, np.flatnonzero(is_tied)))


def order_with_tied(rows: ChangeBatch, tied: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order of rows, which are sorted by time, with some sorted by time and columns.

    These take one another's places; all others stay.
    """
    columns = take_columns(rows.columns, tied)
    keys = [order_codes(column) for column in columns.columns]
    order = np.lexsort((*reversed(keys), rows.times[tied]))
    places = np.arange(len(rows))
    places[tied] = tied[order]
    return places


def order_codes(column: pa.Array) -> Codes:
    """Codes in the order of the column's values; equal for equal ones, 0 for NULL."""
    column = plain(column)
    codes = _codes(column)
    valid = validity(column)
    return codes if valid is None else np.where(valid, codes, np.uint64(0))


def _codes(column: pa.Array) -> Codes:
    """Codes from 1 on, whatever they say of NULL rows."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.ones(len(column), np.uint64)
    if pa.types.is_nested(kind):
        return _places(_parts_as_bytes(column))
    if pa.types.is_floating(kind):
        return _real_codes(column)
    if pa.types.is_primitive(kind) and kind.bit_width <= 64 and not pa.types.is_interval(kind):
        return _whole_codes(column)
    return _places(column)


def _parts_as_bytes(column: pa.Array) -> pa.Array:
    """Structs, lists and maps as texts of bytes in the same order."""
    if pa.types.is_struct(column.type):
        fields = [order_codes(field) for field in column.flatten()]
        codes = np.array(fields, np.uint64).reshape(len(fields), len(column)).T
        return _joined(codes.reshape(-1), np.arange(len(column) + 1) * len(fields))
    values, offsets = list_parts(column)
    first, last = int(offsets[0]), int(offsets[-1])
    values, offsets = values.slice(first, last - first), offsets - first
    if not pa.types.is_map(column.type):
        return _joined(order_codes(values), offsets)
    # The entries of each map, sorted by key and value.
    keys, items = (order_codes(part) for part in values.flatten())
    order = np.lexsort((items, keys, np.repeat(np.arange(len(column)), np.diff(offsets))))
    both = np.stack([keys[order], items[order]], axis=1).reshape(-1)
    return _joined(both, offsets * 2)


def _whole_codes(column: pa.Array) -> Codes:
    """Whole numbers and times: the bits themselves, negative ones first.

    Beside NULL there is one code fewer than there are values of 64 bits: where the greatest value
    occurs, the codes are places among the values instead.
    """
    bits = exact_words(column)
    codes = bits if pa.types.is_unsigned_integer(column.type) else bits ^ _SIGN_BIT
    if len(codes) and int(codes.max()) == int(_LAST):
        codes = np.unique(codes, return_inverse=True)[1].astype(np.uint64)
    return codes + np.uint64(1)


def _real_codes(column: pa.Array) -> Codes:
    """-inf .. -0.0, 0.0 .. inf, NaN; see `Ranks`, which take the two zeros for one."""
    numbers = fixed_values(column, f"<f{column.type.bit_width // 8}").astype(np.float64)
    numbers[np.isnan(numbers)] = np.nan  # of the many NaNs the one that is positive
    bits = numbers.view(np.uint64)
    turned = np.where(bits & _SIGN_BIT, ~bits, bits | _SIGN_BIT)
    codes: Codes = turned + np.uint64(1)  # the bits of NaN are not the last ones
    return codes


def _places(column: pa.Array) -> Codes:
    """The place of each value among all values, equal ones sharing it; bytes compare as bytes."""
    kind = column.type
    if pa.types.is_fixed_size_binary(kind) or not _has_order(kind):
        # The slots of a fixed-width type, calendar intervals for instance, as texts of bytes.
        column = fixed_bytes(fixed_values(column, "u1").reshape(-1, kind.bit_width // 8))
    ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    codes: Codes = ranks.to_numpy(zero_copy_only=False).astype(np.uint64)
    return codes


def _has_order(kind: pa.DataType) -> bool:
    types = pa.types
    is_bytes = types.is_string(kind) or types.is_large_string(kind)
    is_bytes = is_bytes or types.is_binary(kind) or types.is_large_binary(kind)
    return bool(is_bytes or types.is_decimal(kind))


def _joined(codes: Codes, offsets: NDArray[np.int64]) -> pa.Array:
    """The codes between two offsets each, as one text of bytes per row.

    codes   7 | 2   ->   00 .. 07 00 .. 02        bytes compare as the codes do, one by one,
            7       ->   00 .. 07                 and what another one begins with is before it
    """
    return as_byte_strings(codes.astype(">u8"), (offsets * CODE_BYTES).astype(np.int64))


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
