"""Rows of a chunk buffer by key, found chunk by chunk.

Every chunk has an index, made once: the words of its rows' keys in order. What is asked for is
looked up by binary search, so that a look-up costs the logarithm of the window per chunk; words
that are hashes are compared by value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from windrow.operators.columns import key_columns as keys
from windrow.operators.columns.changes import ChangeBatch, concat
from windrow.operators.columns.key_columns import validity
from windrow.operators.columns.key_directory import KeyDirectory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from windrow.operators.columns.chunks import Chunk, ChunkBuffer, ChunkSlice
    from windrow.physical.nodes.base import KeyClass

NO_KEY = -1
"""The slot of a row whose key equals none."""

MOST_UNUSED, FEW_KEYS = 4, 1024
"""Keys are forgotten once they are so many times as many as are used, and so many more."""


@dataclass(frozen=True)
class WantedKeys:
    """Different keys; a NULL is one like any other.

    Attributes:
        words: their words in ascending order: searches that follow one another stay close.
        slots: the slot of each one's key.
        columns: their values, in the same order; () where the words are the values.
    """

    words: NDArray[np.uint64]
    slots: NDArray[np.int64]
    columns: Sequence[pa.Array] = ()

    def __len__(self) -> int:
        return len(self.words)


class KeySlots:
    """The keys that rows of two inputs have, each with a slot: 0, 1, ..

    Without key columns all rows have the same key. Slots are no state: who asks for some uses them
    at once. Keys are kept for those that come again, and forgotten when they are many more than
    those that do: what is held follows the batch.
    """

    def __init__(self, classes: Sequence[KeyClass]) -> None:
        self._classes = classes
        self._directory = KeyDirectory()

    def __len__(self) -> int:
        return self._directory.slot_count if self._classes else 1

    def slots_of(self, port: int, rows: ChangeBatch) -> NDArray[np.int64]:
        """The slot of each row of an input; NO_KEY where a NULL keeps it from matching."""
        if not self._classes:
            return np.zeros(len(rows), np.int64)
        columns = [rows.columns.column(str(one.columns[port])) for one in self._classes]
        slots = self._directory.slots_of(columns)
        for one, column in zip(self._classes, columns, strict=True):
            valid = None if one.null_safe else validity(column)
            if valid is not None:
                slots = np.where(valid, slots, NO_KEY)
        return slots

    def wanted(self, *slots: NDArray[np.int64]) -> WantedKeys:
        """The keys of these slots, each once."""
        is_wanted = np.zeros(len(self) + 1, np.bool_)  # the last is where NO_KEY leads
        for own in slots:
            is_wanted[own] = True
        found = np.flatnonzero(is_wanted[:-1])
        if not self._classes:
            return WantedKeys(np.zeros(len(found), np.uint64), found)
        has_nulls = any(one.null_safe for one in self._classes)
        return wanted_keys(self._directory, found, has_nulls=has_nulls)

    def forget(self, used: int) -> None:
        """Forgets all keys if they are many more than so many."""
        if len(self) > MOST_UNUSED * used + FEW_KEYS:
            self._directory = KeyDirectory()


def wanted_keys(
    directory: KeyDirectory, slots: NDArray[np.int64], *, has_nulls: bool
) -> WantedKeys:
    """The keys of some slots of a directory, each once; `has_nulls`: some may be, or have, a NULL."""
    words, are_exact = directory.words_of(slots)
    order = np.argsort(words, kind="stable")
    slots = slots[order]
    # Of a NULL, too, the word is that of a value: rows that have one are compared.
    columns = directory.keys_of(slots) if has_nulls or not are_exact else ()
    return WantedKeys(words[order], slots, columns)


class _Index(NamedTuple):
    """The words of a chunk's keys in ascending order, the row of each, and if no two are alike."""

    words: NDArray[np.uint64]
    rows: NDArray[np.int64]
    is_unique: bool


@dataclass(frozen=True)
class FoundRows:
    """Rows of a buffer: per slice, which of its chunk's, and the slots of their keys."""

    slices: tuple[ChunkSlice, ...]
    rows: tuple[NDArray[np.int64], ...]
    slots: tuple[NDArray[np.int64], ...]

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The slot of each row's key, slice by slice."""
        return np.concatenate([np.empty(0, np.int64), *self.slots])

    def __len__(self) -> int:
        return len(self.owners)

    def batch(self) -> ChangeBatch:
        """The rows, slice by slice; there must be some."""
        parts = zip(self.slices, self.rows, strict=True)
        return concat([part.chunk.batch.take(own) for part, own in parts if len(own)])

    def only(self, is_wanted: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
        """Per slice, the rows whose key is marked; for `ChunkBuffer.drop`."""
        return [own[is_wanted[of]] for own, of in zip(self.rows, self.slots, strict=True)]


def rows_with_keys(buffer: ChunkBuffer, names: Sequence[str], wanted: WantedKeys) -> FoundRows:
    """The rows alive that have one of the wanted keys.

    Args:
        buffer: where to look.
        names: its key columns.
        wanted: the keys.
    """
    slices = tuple(buffer.slices) if len(wanted) else ()
    found = [_in_slice(part, tuple(names), wanted) for part in slices]
    return FoundRows(slices, tuple(rows for rows, _ in found), tuple(own for _, own in found))


def _in_slice(
    part: ChunkSlice, names: tuple[str, ...], wanted: WantedKeys
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of a slice's chunk, and the slot of each one's key."""
    index = _index(part.chunk, names)
    rows, numbers = _same_words(index, wanted)
    is_found = (rows >= part.skip) & ~part.is_gone(rows)
    for name, column in zip(names, wanted.columns, strict=bool(wanted.columns)):
        own = part.chunk.batch.columns.column(name)
        is_found &= keys.equal_values(own.take(pa.array(rows)), column.take(pa.array(numbers)))
    return rows[is_found], wanted.slots[numbers[is_found]]


def _same_words(index: _Index, wanted: WantedKeys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of an index and the numbers of the wanted keys that have one word.

    The fewer are looked up among the more, where no word stands for several keys.
    """
    if not wanted.columns and index.is_unique and len(index.words) < len(wanted):
        places = np.searchsorted(wanted.words, index.words)
        is_there = wanted.words[np.minimum(places, len(wanted) - 1)] == index.words
        return index.rows[is_there], places[is_there]
    first = np.searchsorted(index.words, wanted.words, side="left")
    is_there = index.words[np.minimum(first, len(index.words) - 1)] == wanted.words
    numbers, first = np.flatnonzero(is_there), first[is_there]
    if not index.is_unique:
        last = np.searchsorted(index.words, wanted.words[numbers], side="right")
        counts = last - first
        step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        numbers, first = np.repeat(numbers, counts), np.repeat(first, counts) + step
    return index.rows[first], numbers


def _index(chunk: Chunk, names: tuple[str, ...]) -> _Index:
    name = f"keys {names}"
    if name not in chunk.derived:
        words = np.zeros(len(chunk), np.uint64)
        if names:
            columns = [chunk.batch.columns.column(own) for own in names]
            words = keys.key_words(columns, nulls_match=True).words
        order = np.argsort(words, kind="stable")
        words = words[order]
        is_unique = not bool(np.any(words[1:] == words[:-1]))
        chunk.derived[name] = _Index(words, order, is_unique)
    index: _Index = chunk.derived[name]
    return index
