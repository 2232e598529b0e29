"""Values of any type as words that kernels compare, and back.

    whole numbers, times, booleans      the number itself
    float, double                       `ranks.real_ranks`: -0.0 is 0.0, NaN above all
    decimals of 18 digits or fewer      the unscaled number
    texts, bytes, wider decimals        the first eight bytes; an id per value leads to all of them

A text has an id while some row alive has it. Bytes compare one by one, as Spark compares texts; a
wide decimal is 16 bytes, the greatest first and its sign turned, so that bytes are in its order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels._jit import writable
from windrow.kernels.extremes import Coded
from windrow.kernels.ordered_values import Texts
from windrow.operators.accumulators.base import Numbers, fitted, validity
from windrow.operators.key_columns import (
    EXACT_DECIMAL_DIGITS,
    byte_strings,
    fixed_values,
    is_exact,
    plain,
)
from windrow.operators.key_directory import KeyDirectory
from windrow.operators.ranks import from_real_ranks, real_ranks

NO_TEXTS = Texts(np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(1, np.int64))

WORD_BYTES, DECIMAL_BYTES = 8, 16


class Codes(ABC):
    """How values of one type become words."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of what is kept to know them."""

    @abstractmethod
    def of(self, column: pa.Array) -> Coded:
        """The words of a column."""

    @abstractmethod
    def values(self, words: Numbers, ids: Numbers) -> pa.Array:
        """The values that have these words and ids."""

    @abstractmethod
    def use(self, values: Coded, rows: Numbers, signs: NDArray[np.int8]) -> None:
        """Counts rows that come and go; what no row has any more is forgotten, but not at once.

        Answers that show it are still read.
        """

    @abstractmethod
    def forget(self) -> None:
        """Forgets all values."""


class Numeric(Codes):
    """Types whose words are the values."""

    nbytes = 0

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind

    def of(self, column: pa.Array) -> Coded:
        """The words of a column."""
        column = plain(column)
        words = np.where(validity(column), self._words(column), 0)
        return Coded(words, np.zeros(len(column), np.int64), validity(column), NO_TEXTS)

    def _words(self, column: pa.Array) -> Numbers:
        kind = column.type
        if pa.types.is_boolean(kind):
            column, kind = column.cast(pa.int8()), pa.int8()
        width = kind.bit_width // 8
        if pa.types.is_floating(kind):
            return real_ranks(fixed_values(column, f"<f{width}").astype(np.float64))
        if pa.types.is_decimal(kind):
            return fixed_values(column, "<i8")[:: width // 8]
        return fixed_values(column, f"<i{width}").astype(np.int64)

    def values(self, words: Numbers, ids: Numbers) -> pa.Array:  # noqa: ARG002
        """The values that have these words."""
        kind = self.kind
        if pa.types.is_boolean(kind):
            return pa.array(words.astype(np.bool_))
        if pa.types.is_floating(kind):
            return pa.array(from_real_ranks(words).astype(f"<f{kind.bit_width // 8}"))
        if pa.types.is_decimal(kind):
            parts = np.stack([words, words >> 63], axis=1)
            return pa.Array.from_buffers(kind, len(words), [None, pa.py_buffer(parts)])
        numbers = words.astype(f"<i{kind.bit_width // 8}")
        return pa.Array.from_buffers(kind, len(words), [None, pa.py_buffer(numbers)])

    def use(self, values: Coded, rows: Numbers, signs: NDArray[np.int8]) -> None:
        """Nothing is kept that could be forgotten."""

    def forget(self) -> None:
        """Nothing is kept."""


class Spelled(Codes):
    """Types whose values are bytes, of any length, in the order of their bytes."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.forget()

    def forget(self) -> None:
        """Forgets all values."""
        self._directory = KeyDirectory()
        self._uses: Numbers = np.zeros(0, np.int64)
        self._touched: Numbers = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of the values, and a few per value."""
        return self._directory.nbytes + self._uses.nbytes

    def of(self, column: pa.Array) -> Coded:
        """The words and ids of a column; values not seen before get an id."""
        self._directory.release(self._touched[self._uses[self._touched] == 0])
        self._touched = self._touched[:0]
        column = plain(column)
        valid = validity(column)
        ids = np.zeros(len(column), np.int64)
        texts = self._as_bytes(column.filter(pa.array(valid)))
        if len(texts):
            ids[valid] = self._directory.slots_of([texts])
        self._uses = fitted(self._uses, self._directory.slot_count)
        texts_of_ids = self._texts()
        words = _first_words(texts_of_ids)[ids] if len(texts) else np.zeros(len(ids), np.int64)
        return Coded(words, ids, valid, texts_of_ids)

    def values(self, words: Numbers, ids: Numbers) -> pa.Array:  # noqa: ARG002
        """The values that have these ids; all in use."""
        (texts,) = self._directory.keys_of(ids) if len(self._directory) else [_NO_BYTES]
        if not pa.types.is_decimal(self.kind):
            return texts.cast(self.kind)
        data, offsets = byte_strings(texts)
        high_first = data[: offsets[-1]].reshape(-1, DECIMAL_BYTES).copy()
        high_first[:, 0] ^= 0x80
        low_first = np.ascontiguousarray(high_first[:, ::-1])
        return pa.Array.from_buffers(self.kind, len(texts), [None, pa.py_buffer(low_first)])

    def use(self, values: Coded, rows: Numbers, signs: NDArray[np.int8]) -> None:
        """Counts rows that come and go; values without a row lose their id before the next ones."""
        is_text = values.valid[rows]
        ids = values.ids[rows[is_text]]
        np.add.at(self._uses, ids, signs[is_text])
        self._touched = np.union1d(self._touched, ids)

    def _as_bytes(self, column: pa.Array) -> pa.Array:
        if not pa.types.is_decimal(column.type):
            return column.cast(pa.large_binary())
        low_first = fixed_values(column, "u1").reshape(-1, DECIMAL_BYTES)
        high_first = np.ascontiguousarray(low_first[:, ::-1])
        high_first[:, 0] ^= 0x80
        offsets = np.arange(len(column) + 1, dtype=np.int64) * DECIMAL_BYTES
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(high_first)]
        return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(column), buffers)

    def _texts(self) -> Texts:
        """The bytes of every id; those of ids not in use are empty."""
        in_use = self._directory.slots_in_use()
        if not len(in_use):
            return NO_TEXTS
        (texts,) = self._directory.keys_of(in_use)
        data, offsets = byte_strings(texts)
        starts = np.zeros(self._directory.slot_count, np.int64)
        stops = np.zeros_like(starts)
        starts[in_use], stops[in_use] = offsets[:-1], offsets[1:]
        return Texts(data, starts, stops)


_NO_BYTES = pa.array([], pa.large_binary())


def codes_of(kind: pa.DataType) -> Codes:
    """The codes of values of a type that has an order."""
    if pa.types.is_decimal(kind):
        return Numeric(kind) if kind.precision <= EXACT_DECIMAL_DIGITS else Spelled(kind)
    return Numeric(kind) if is_exact(kind) else Spelled(kind)


def _first_words(texts: Texts) -> Numbers:
    """The first eight bytes of every text as a signed number in the order of the bytes."""
    padded = np.zeros((len(texts.starts), WORD_BYTES), np.uint8)
    for at in range(WORD_BYTES):
        has_more = np.flatnonzero(texts.starts + at < texts.stops)
        padded[has_more, at] = texts.data[texts.starts[has_more] + at]
    padded[:, 0] ^= 0x80
    words: Numbers = padded.view(">i8").reshape(-1).astype(np.int64)
    return writable(words)
