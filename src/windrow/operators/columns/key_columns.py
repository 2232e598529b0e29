"""Key columns: as 64-bit words for the kernels, and compared by value.

**Words** are read from Arrow buffers, slices and NULLs respected. Those of one type are one
function of the value in every process, so that rows can be routed by them on any machine. -0.0
counts as 0.0 and all NaN as one, as Spark groups and joins them.

**Equal values** are those that SQL's grouping holds for equal: NULL = NULL, NaN = NaN, -0.0 = 0.0,
inside nested values too; the order of a map's entries does not count. Whole columns at a time,
never row by row.

**Keys** of one or more columns have one word:

    one column of at most 8 bytes     the word is the value itself: equal words are equal keys
    anything else                     the word is a hash: equal words are candidates, and
                                      `equal_values` decides

Nothing ever matches by a hash alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.errors import UnsupportedError
from windrow.kernels import keys as kernels
from windrow.kernels.jit import writable
from windrow.operators.columns.arrow_types import DTYPES
from windrow.operators.columns.changes import counted

Words = NDArray[np.uint64]

EXACT_DECIMAL_DIGITS = 18
"""Decimals of so many digits fit a signed 64-bit word."""


@dataclass(frozen=True)
class KeyWords:
    """The keys of some rows.

    Attributes:
        words: one word per row.
        valid: False for the rows whose key can match no other; None when there are none.
        exact: equal words of valid rows mean equal keys. Compare values unless both sides say so.
    """

    words: Words
    valid: NDArray[np.bool_] | None
    exact: bool


def column_words(column: pa.Array) -> KeyWords:
    """The words of one column; not valid where it is NULL."""
    if column.type.id in DTYPES and not column.null_count:
        return KeyWords(exact_words(column), None, exact=True)
    column = plain(column)
    words, exact = _words(column)
    valid = validity(column)
    if valid is not None:
        words = np.where(valid, words, kernels.NULL_WORD)
    return KeyWords(words, valid, exact)


def plain(column: pa.Array) -> pa.Array:
    """The column without an encoding around its values (dictionary, run-end, extension, view)."""
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return plain(column.storage)
    if pa.types.is_dictionary(kind):
        return plain(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(column))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return column.cast(pa.large_binary())
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return column.cast(pa.large_list(kind.value_type))
    return column


def validity(column: pa.Array) -> NDArray[np.bool_] | None:
    """False where the column is NULL; None where it never is."""
    if not column.null_count:
        return None
    valid: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def can_equal(
    rows: int, columns: Sequence[pa.Array], nulls_match: Sequence[bool]
) -> NDArray[np.bool_]:
    """Which rows have a key that can equal another: no NULL in a column where NULLs do not match."""
    can = np.ones(rows, np.bool_)
    for column, matches in zip(columns, nulls_match, strict=True):
        if column.null_count and not matches:
            can &= column.is_valid().to_numpy(zero_copy_only=False)
    return can


def is_exact(kind: pa.DataType) -> bool:
    """Whether the word of a (plain) type is the value itself."""
    types = pa.types
    if types.is_decimal(kind):
        return bool(kind.precision <= EXACT_DECIMAL_DIGITS)
    return bool(
        types.is_primitive(kind)
        and not types.is_null(kind)
        and not types.is_interval(kind)
        and kind.bit_width <= 64
    )


def fixed_values(column: pa.Array, dtype: str) -> NDArray[Any]:
    """The value slots of a fixed-width column, NULL slots included, without copying."""
    width = np.dtype(dtype).itemsize * 8
    per_row = column.type.bit_width // width
    start, stop = column.offset * per_row, (column.offset + len(column)) * per_row
    data = column.buffers()[1]
    if data is None:
        return np.zeros(stop - start, dtype)
    return np.frombuffer(data, dtype, count=stop)[start:]


def list_parts(column: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The values of a list or map column, and where each row's begin in them (n + 1 offsets)."""
    if pa.types.is_fixed_size_list(column.type):
        size = column.type.list_size
        rows = np.arange(column.offset, column.offset + len(column) + 1, dtype=np.int64)
        return column.values, rows * size
    offsets = column.offsets.to_numpy().astype(np.int64)
    if pa.types.is_map(column.type):
        entries = pa.StructArray.from_arrays([column.keys, column.items], names=["key", "value"])
        return entries, offsets
    return column.values, offsets


def _words(column: pa.Array) -> tuple[Words, bool]:
    """Words of the slots, whatever they say of NULL rows; whether they are exact."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), kernels.NULL_WORD), False
    if is_exact(kind):
        return exact_words(column), True
    if pa.types.is_struct(kind):
        parts = [column_words(field) for field in column.flatten()]
        hashes = np.full(len(column), len(parts), np.uint64)
        for part in parts:
            kernels.chain_words(hashes, writable(part.words))
        return hashes, False
    if pa.types.is_nested(kind):
        return _nested_words(column), False
    return kernels.hashed_bytes(*byte_strings(column)), False


def exact_words(column: pa.Array) -> Words:
    """The words of a column of a type that is exact; where it is NULL, any."""
    kind = column.type
    dtype = DTYPES.get(kind.id)
    if dtype is not None and dtype.kind == "i":
        if not len(column):
            return np.zeros(0, np.uint64)
        start = column.offset * dtype.itemsize
        slots = np.frombuffer(column.buffers()[1], dtype, len(column), start)
        return slots.astype(np.int64, copy=False).view(np.uint64)
    if pa.types.is_boolean(kind):
        column, kind = column.cast(pa.uint8()), pa.uint8()
    if pa.types.is_floating(kind):
        values = fixed_values(column, f"<f{kind.bit_width // 8}")
        with np.errstate(invalid="ignore"):  # below a NULL may be anything, signaling NaNs too
            numbers = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
        numbers[np.isnan(numbers)] = np.nan  # one bit pattern for all
        return numbers.view(np.uint64)
    if pa.types.is_decimal128(kind) or pa.types.is_decimal256(kind):
        # Two's complement, least significant word first: the first word is the whole number.
        return np.ascontiguousarray(fixed_values(column, "<u8")[:: kind.bit_width // 64])
    sign = "u" if pa.types.is_unsigned_integer(kind) else "i"
    numbers = fixed_values(column, f"<{sign}{kind.bit_width // 8}")
    return numbers.astype(np.uint64 if sign == "u" else np.int64, copy=False).view(np.uint64)


def _nested_words(column: pa.Array) -> Words:
    if not (pa.types.is_map(column.type) or hasattr(column, "values")):
        raise UnsupportedError(
            "key-type",
            f"a column of type {column.type} cannot be a key",
            reason="its values have no equality that Windrow knows",
            hint="compare a number, a text, a time, or a struct, list or map of those",
        )
    values, offsets = list_parts(column)
    first, last = int(offsets[0]), int(offsets[-1])
    words = writable(column_words(values.slice(first, last - first)).words)
    fold = kernels.hashed_bags if pa.types.is_map(column.type) else kernels.hashed_lists
    hashes: Words = fold(words, offsets - first)
    return hashes


def byte_strings(column: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of each row: data and n + 1 offsets into it."""
    kind = column.type
    stop = column.offset + len(column)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        dtype = "<i8"
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        dtype = "<i4"
    else:
        width = kind.bit_width // 8  # fixed-size binary, wide decimals, calendar intervals
        slots = fixed_values(column, "u1")
        return writable(slots), np.arange(len(column) + 1, dtype=np.int64) * width
    _, ends, data = column.buffers()
    if ends is None or not len(column):
        return np.zeros(0, np.uint8), np.zeros(len(column) + 1, np.int64)
    offsets = np.frombuffer(ends, dtype, count=stop + 1)[column.offset :].astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    text = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8, count=last)
    return writable(text[first:]), offsets - first


def as_byte_strings(data: NDArray[Any], offsets: NDArray[np.int64]) -> pa.Array:
    """The bytes of an array between two offsets each, as values."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def fixed_bytes(rows: NDArray[np.uint8]) -> pa.Array:
    """Rows of equally many bytes as values."""
    return as_byte_strings(rows, np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1])


Flags = NDArray[np.bool_]


def equal_values(left: pa.Array, right: pa.Array) -> Flags:
    """Row by row, whether left and right hold the same value."""
    left, right = plain(left), plain(right)
    if left.type != right.type:
        right = right.cast(left.type)
    same = _equal_slots(left, right)
    left_valid, right_valid = validity(left), validity(right)
    if left_valid is None and right_valid is None:
        return same
    left_valid = np.ones(len(left), np.bool_) if left_valid is None else left_valid
    right_valid = np.ones(len(right), np.bool_) if right_valid is None else right_valid
    equal: Flags = np.where(left_valid & right_valid, same, left_valid == right_valid)
    return equal


def _equal_slots(left: pa.Array, right: pa.Array) -> Flags:
    """Equality of rows that are NULL on neither side; anything for the others."""
    kind = left.type
    if pa.types.is_null(kind):
        return np.ones(len(left), np.bool_)
    if is_exact(kind):
        exact: Flags = column_words(left).words == column_words(right).words
        return exact
    if pa.types.is_struct(kind):
        same = np.ones(len(left), np.bool_)
        for left_field, right_field in zip(left.flatten(), right.flatten(), strict=True):
            same &= equal_values(left_field, right_field)
        return same
    if pa.types.is_nested(kind):
        return _equal_lists(left, right)
    answers = pc.fill_null(pc.equal(left, right), False)
    flags: Flags = answers.to_numpy(zero_copy_only=False)
    return flags


def _equal_lists(left: pa.Array, right: pa.Array) -> Flags:
    """Equal lengths, and no differing element; map entries are paired by key first."""
    left_values, left_offsets = list_parts(left)
    right_values, right_offsets = list_parts(right)
    lengths = np.diff(left_offsets)
    same: Flags = lengths == np.diff(right_offsets)
    lengths = np.where(same, lengths, 0)
    row_of = np.repeat(np.arange(len(left)), lengths)
    left_elements = left_values.take(pa.array(_elements(left_offsets, lengths)))
    right_elements = right_values.take(pa.array(_elements(right_offsets, lengths)))
    if pa.types.is_map(left.type):
        return _equal_entries(left_elements, right_elements, row_of, same)
    same[row_of[~equal_values(left_elements, right_elements)]] = False
    return same


def _elements(offsets: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions of the first `lengths[i]` elements of each row i, one row after another."""
    return np.repeat(offsets[:-1], lengths) + counted(lengths)


def _equal_entries(
    left: pa.StructArray, right: pa.StructArray, row_of: NDArray[np.int64], same: Flags
) -> Flags:
    """Equality of maps from their aligned entries, `same` saying which have equal lengths."""
    left_order, left_tied = _by_key(left, row_of)
    right_order, right_tied = _by_key(right, row_of)
    different = ~equal_values(left.take(pa.array(left_order)), right.take(pa.array(right_order)))
    same[row_of[different]] = False
    # Keys whose words tie have no order of their own: such a row's entries are paired by search.
    for row in np.union1d(left_tied, right_tied):
        start, stop = np.searchsorted(row_of, [row, row + 1])
        same[row] = _same_bag(left.slice(start, stop - start), right.slice(start, stop - start))
    return same


def _by_key(
    entries: pa.StructArray, row_of: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The order of the entries by (row, word of the key), and the rows in which words tie."""
    words = column_words(entries.field(0)).words
    order = np.lexsort((words, row_of))
    rows, words = row_of[order], words[order]
    ties = (rows[1:] == rows[:-1]) & (words[1:] == words[:-1])
    return order, rows[1:][ties]


def _same_bag(left: pa.StructArray, right: pa.StructArray) -> bool:
    """Whether two bags of equally many entries are the same, each entry used once."""
    free = np.ones(len(right), np.bool_)
    for at in range(len(left)):
        one = left.take(pa.array(np.full(len(right), at)))
        found = np.flatnonzero(free & equal_values(one, right))
        if not len(found):
            return False
        free[found[0]] = False
    return True


__all__ = ["KeyWords", "column_words", "combined", "equal_values", "key_words", "mixed_words"]


def key_words(columns: Sequence[pa.Array], *, nulls_match: bool) -> KeyWords:
    """The words of a key of one or more columns.

    Args:
        columns: the components, all of one length.
        nulls_match: whether NULL equals NULL; if not, a key with a NULL component is not valid.
    """
    parts = [column_words(column) for column in columns]
    whole = combined(parts)
    if whole.valid is None:
        return whole
    if nulls_match:
        return KeyWords(whole.words, None, exact=False)
    return whole


def combined(parts: Sequence[KeyWords]) -> KeyWords:
    """The words of a key from those of its components; valid where all are."""
    if len(parts) == 1:
        return parts[0]
    hashes = np.zeros(len(parts[0].words), np.uint64)
    valid: NDArray[np.bool_] | None = None
    for part in parts:
        kernels.chain_words(hashes, writable(part.words))
        if part.valid is not None:
            valid = part.valid if valid is None else valid & part.valid
    return KeyWords(hashes, valid, exact=False)


def mixed_words(words: Words) -> Words:
    """The words spread over all 64 bits, for cutting rows into buckets."""
    mixed: Words = kernels.mixed_words(writable(words))
    return mixed
