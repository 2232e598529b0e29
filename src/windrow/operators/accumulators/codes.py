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
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.extremes import Coded
from windrow.kernels.jit import writable
from windrow.kernels.ordered_values import Texts
from windrow.operators.accumulators.base import Answers, Flags, Int64s, fitted, resized, validity
from windrow.operators.columns.key_columns import (
    byte_strings,
    exact_words,
    fixed_bytes,
    fixed_values,
    is_exact,
    plain,
)
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.columns.total_order import from_real_ranks, real_ranks

NO_TEXTS = Texts(np.zeros(0, np.uint8), np.zeros(1, np.int64), np.zeros(1, np.int64))

WORD_BYTES, DECIMAL_BYTES = 8, 16

LEAST_BYTES = 64
"""So many bytes of texts are kept however few are in use."""


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
    def values(self, words: Int64s, ids: Int64s) -> pa.Array:
        """The values that have these words and ids."""

    def answers(self, words: Int64s, ids: Int64s, valid: Flags) -> Answers:
        """The values that have these words and ids as answers; NULL where they are not valid."""
        return CodedAnswers(words, valid, pa.int64(), ids, self)

    @abstractmethod
    def use(self, values: Coded, rows: Int64s, signs: NDArray[np.int8]) -> None:
        """Counts rows that come and go; what no row has any more is forgotten, but not at once.

        Answers that show it are still read.
        """

    @abstractmethod
    def forget(self) -> None:
        """Forgets all values."""


@dataclass(frozen=True)
class CodedAnswers(Answers):
    """Answers that are words, and ids, of values."""

    ids: Int64s
    codes: Codes

    def mark_changed(self, previous: NDArray[np.int64], changed: NDArray[np.bool_]) -> None:
        """Marks the versions that differ here from the version before."""
        super().mark_changed(previous, changed)
        Answers(self.ids, None, pa.int64()).mark_changed(previous, changed)

    def take(self, versions: NDArray[np.int64]) -> pa.Array:
        """The values of the given versions."""
        assert self.valid is not None, "there is no least value of none"
        is_valid = self.valid[versions]
        shown = versions[is_valid]
        values = self.codes.values(self.values[shown], self.ids[shown])
        if len(shown) == len(versions):
            return values
        places = np.cumsum(is_valid) - 1
        return values.take(pa.array(places, mask=~is_valid))


class Numeric(Codes):
    """Types whose words are the values."""

    nbytes = 0

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind

    def of(self, column: pa.Array) -> Coded:
        """The words of a column."""
        column = plain(column)
        words = np.where(validity(column), self.words(column), 0)
        return Coded(words, np.zeros(len(column), np.int64), validity(column), NO_TEXTS)

    @staticmethod
    def words(column: pa.Array) -> Int64s:
        """The words of a column; where it is NULL, any."""
        words = exact_words(column).view(np.int64)
        return real_ranks(words.view(np.float64)) if pa.types.is_floating(column.type) else words

    def values(self, words: Int64s, ids: Int64s) -> pa.Array:  # noqa: ARG002
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

    def use(self, values: Coded, rows: Int64s, signs: NDArray[np.int8]) -> None:
        """Nothing is kept that could be forgotten."""

    def forget(self) -> None:
        """Nothing is kept."""


class Identified(Codes):
    """Types whose values are bytes, of any length; those in use have an id that leads to them."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forgets all values."""
        self._directory = KeyDirectory()
        self._uses: Int64s = np.zeros(0, np.int64)
        self._touched: Int64s = np.zeros(0, np.int64)
        self._table = TextTable()

    @property
    def nbytes(self) -> int:
        """Bytes of the values, and a few per value."""
        return self._directory.nbytes + self._uses.nbytes + self._table.nbytes

    def use(self, values: Coded, rows: Int64s, signs: NDArray[np.int8]) -> None:
        """Counts rows that come and go; values without a row lose their id before the next ones."""
        is_text = values.valid[rows]
        ids = values.ids[rows[is_text]]
        np.add.at(self._uses, ids, signs[is_text])
        self._touched = np.union1d(self._touched, ids)

    @abstractmethod
    def _bytes(self, keys: Sequence[pa.Array]) -> pa.Array:
        """The bytes of values, none of them NULL, in whose order the values are."""

    def _ids(self, keys: Sequence[pa.Array], valid: Flags) -> Int64s:
        """The ids of values; those not seen before get one. 0 where a value is not valid."""
        gone = self._touched[self._uses[self._touched] == 0]
        self._directory.release(gone)
        self._table.drop(gone)
        self._touched = self._touched[:0]
        ids = np.zeros(len(valid), np.int64)
        if not valid.any():
            return ids
        known = [key.filter(pa.array(valid)) for key in keys]
        ids[valid] = self._directory.slots_of(known)
        self._uses = fitted(self._uses, self._directory.slot_count)
        self._table.fit(self._directory.slot_count)
        new, rows = np.unique(ids[valid], return_index=True)
        is_new = ~self._table.has[new]
        if is_new.any():
            first = pa.array(rows[is_new])
            self._table.put(new[is_new], self._bytes([key.take(first) for key in known]))
        return ids


class Spelled(Identified):
    """Texts, bytes and wide decimals: values that are their bytes."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        super().__init__()

    def of(self, column: pa.Array) -> Coded:
        """The words and ids of a column."""
        column = plain(column)
        valid = validity(column)
        ids = self._ids([spelled(column)], valid)
        return Coded(self._table.words_of(ids), ids, valid, self._table.texts)

    def _bytes(self, keys: Sequence[pa.Array]) -> pa.Array:
        return keys[0]

    def values(self, words: Int64s, ids: Int64s) -> pa.Array:  # noqa: ARG002
        """The values that have these ids; all in use."""
        (texts,) = self._directory.keys_of(ids) if len(self._directory) else [_NO_BYTES]
        if not pa.types.is_decimal(self.kind):
            return texts.cast(self.kind)
        data, offsets = byte_strings(texts)
        high_first = data[: offsets[-1]].reshape(-1, DECIMAL_BYTES).copy()
        high_first[:, 0] ^= 0x80
        low_first = np.ascontiguousarray(high_first[:, ::-1])
        return pa.Array.from_buffers(self.kind, len(texts), [None, pa.py_buffer(low_first)])


class TextTable:
    """The bytes of values by id, and the first eight of them as words.

    New ones are appended; the bytes of those that went are given back once they are more than half.
    """

    def __init__(self) -> None:
        self._data: NDArray[np.uint8] = np.zeros(LEAST_BYTES, np.uint8)
        self._used = self._in_use = 0
        self._starts: Int64s = np.zeros(0, np.int64)
        self._stops: Int64s = np.zeros(0, np.int64)
        self._words: Int64s = np.zeros(0, np.int64)
        self.has: Flags = np.zeros(0, np.bool_)

    @property
    def nbytes(self) -> int:
        """Bytes of the texts, and of what leads to them."""
        arrays = (self._data, self._starts, self._stops, self._words, self.has)
        return sum(array.nbytes for array in arrays)

    @property
    def texts(self) -> Texts:
        """The bytes of every id."""
        return Texts(self._data, self._starts, self._stops) if len(self._starts) else NO_TEXTS

    def words_of(self, ids: Int64s) -> Int64s:
        """The words of ids; 0 while there are none."""
        return self._words[ids] if len(self._words) else np.zeros(len(ids), np.int64)

    def fit(self, slots: int) -> None:
        """Makes room for at least so many ids."""
        self._starts, self._stops = fitted(self._starts, slots), fitted(self._stops, slots)
        self._words, self.has = fitted(self._words, slots), fitted(self.has, slots)

    def put(self, ids: Int64s, values: pa.Array) -> None:
        """Adds the bytes of new ids."""
        data, offsets = byte_strings(values)
        stop = self._used + int(offsets[-1])
        if stop > len(self._data):
            self._data = resized(self._data, 2 * stop)
        self._data[self._used : stop] = data[: offsets[-1]]
        self._starts[ids], self._stops[ids] = self._used + offsets[:-1], self._used + offsets[1:]
        self._words[ids] = _first_words(Texts(data, offsets[:-1], offsets[1:]))
        self.has[ids] = True
        self._in_use += stop - self._used
        self._used = stop

    def drop(self, ids: Int64s) -> None:
        """Forgets the bytes of ids."""
        self.has[ids] = False
        self._in_use -= int((self._stops[ids] - self._starts[ids]).sum())
        if self._used > 2 * self._in_use + LEAST_BYTES:
            self._compact()

    def _compact(self) -> None:
        ids = np.flatnonzero(self.has)
        sizes = self._stops[ids] - self._starts[ids]
        stops = np.cumsum(sizes)
        starts = stops - sizes
        places = np.arange(self._in_use) + np.repeat(self._starts[ids] - starts, sizes)
        self._data = resized(self._data[places], max(2 * self._in_use, LEAST_BYTES))
        self._starts[ids], self._stops[ids] = starts, stops
        self._used = self._in_use


_NO_BYTES = pa.array([], pa.large_binary())


def codes_of(kind: pa.DataType) -> Codes:
    """The codes of values of a type that has an order."""
    return Numeric(kind) if is_exact(kind) else Spelled(kind)


def spelled(column: pa.Array) -> pa.Array:
    """Texts, bytes or wide decimals as bytes, in whose order they are."""
    if not pa.types.is_decimal(column.type):
        return column.cast(pa.large_binary())
    low_first = fixed_values(column, "u1").reshape(-1, DECIMAL_BYTES)
    high_first = np.ascontiguousarray(low_first[:, ::-1])
    high_first[:, 0] ^= 0x80
    return fixed_bytes(high_first)


def _first_words(texts: Texts) -> Int64s:
    """The first eight bytes of every text as a signed number in the order of the bytes."""
    padded = np.zeros((len(texts.starts), WORD_BYTES), np.uint8)
    for at in range(WORD_BYTES):
        has_more = np.flatnonzero(texts.starts + at < texts.stops)
        padded[has_more, at] = texts.data[texts.starts[has_more] + at]
    padded[:, 0] ^= 0x80
    words: Int64s = padded.view(">i8").reshape(-1).astype(np.int64)
    return writable(words)
