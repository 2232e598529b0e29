"""One key column as 64-bit words: read from its Arrow buffers, slices and NULLs respected.

Words of one type are one function of the value in every process, so that rows can be routed by
them on any machine. -0.0 counts as 0.0 and all NaN as one, as Spark groups and joins them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.errors import UnsupportedError
from windrow.kernels import key_words as kernels
from windrow.kernels.jit import writable

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
        return _exact_words(column), True
    if pa.types.is_struct(kind):
        parts = [column_words(field) for field in column.flatten()]
        hashes = np.full(len(column), len(parts), np.uint64)
        for part in parts:
            kernels.chain_words(hashes, writable(part.words))
        return hashes, False
    if pa.types.is_nested(kind):
        return _nested_words(column), False
    return kernels.hashed_bytes(*byte_strings(column)), False


def _exact_words(column: pa.Array) -> Words:
    kind = column.type
    if pa.types.is_boolean(kind):
        column, kind = column.cast(pa.uint8()), pa.uint8()
    if pa.types.is_floating(kind):
        numbers = fixed_values(column, f"<f{kind.bit_width // 8}").astype(np.float64)
        numbers += 0.0  # -0.0 becomes 0.0
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
