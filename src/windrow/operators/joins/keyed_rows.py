"""Rows of a chunk buffer by key, found chunk by chunk: by a join's keys, by PARTITION BY, by content.

Every chunk has an index, made once and kept with it: the words of its rows' keys in order. What is
asked for is looked up by binary search, so that a look-up costs the logarithm of the window per chunk:

    words, sorted    [ 3   3   8   8   8   9 ]
    rows             [ 4   7   0   2   5   1 ]       wanted 8:  rows 0, 2, 5

Equal keys have equal words; the converse need not hold. Words that are hashes are compared by value,
by `rows_with_keys`, or by whoever asks for the rows of words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.jit import writable
from windrow.operators.columns import key_columns
from windrow.operators.columns.changes import ROW_BITS, ChangeBatch, Places, concat, counted
from windrow.operators.columns.key_columns import Words, can_equal, equal_values
from windrow.operators.columns.key_directory import KeyDirectory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from windrow.kernels.count_join import Partitions
    from windrow.operators.columns.chunks import Chunk, ChunkBuffer, ChunkSlice
    from windrow.physical.nodes.base import KeyClass

Int64s = NDArray[np.int64]

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

    words: Words
    slots: Int64s
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

    def slots_of(self, port: int, rows: ChangeBatch) -> Int64s:
        """The slot of each row of an input; NO_KEY where a NULL keeps it from matching."""
        if not self._classes:
            return np.zeros(len(rows), np.int64)
        columns = [rows.columns.column(str(one.columns[port])) for one in self._classes]
        can_match = can_equal(len(rows), columns, [one.null_safe for one in self._classes])
        return np.where(can_match, self._directory.slots_of(columns), NO_KEY)

    def wanted(self, *slots: Int64s) -> WantedKeys:
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


def wanted_keys(directory: KeyDirectory, slots: Int64s, *, has_nulls: bool) -> WantedKeys:
    """The keys of some slots of a directory, each once; `has_nulls`: some may be, or have, a NULL."""
    words, are_exact = directory.words_of(slots)
    order = np.argsort(words, kind="stable")
    slots = slots[order]
    # Of a NULL, too, the word is that of a value: rows that have one are compared.
    columns = directory.keys_of(slots) if has_nulls or not are_exact else ()
    return WantedKeys(words[order], slots, columns)


@dataclass(frozen=True)
class FoundRows:
    """Rows of a buffer: per slice, which of its chunk's, and the slots of their keys."""

    slices: tuple[ChunkSlice, ...]
    rows: tuple[Int64s, ...]
    slots: tuple[Int64s, ...]

    @cached_property
    def owners(self) -> Int64s:
        """The slot of each row's key, slice by slice."""
        return np.concatenate([np.empty(0, np.int64), *self.slots])

    def __len__(self) -> int:
        return len(self.owners)

    def batch(self) -> ChangeBatch:
        """The rows, slice by slice; there must be some."""
        parts = zip(self.slices, self.rows, strict=True)
        return concat([part.chunk.batch.take(own) for part, own in parts if len(own)])

    def only(self, is_wanted: NDArray[np.bool_]) -> list[Int64s]:
        """Per slice, the rows whose key is marked; for `ChunkBuffer.drop`."""
        return [own[is_wanted[of]] for own, of in zip(self.rows, self.slots, strict=True)]


def rows_with_keys(buffer: ChunkBuffer, names: Sequence[str], wanted: WantedKeys) -> FoundRows:
    """The rows alive that have one of the wanted keys in the named columns."""
    slices = tuple(buffer.slices) if len(wanted) else ()
    found = [_in_slice(part, tuple(names), wanted) for part in slices]
    return FoundRows(slices, tuple(rows for rows, _ in found), tuple(own for _, own in found))


def _in_slice(
    part: ChunkSlice, names: tuple[str, ...], wanted: WantedKeys
) -> tuple[Int64s, Int64s]:
    """The rows of a slice's chunk, and the slot of each one's key."""
    rows, numbers = _index(part.chunk, names).rows_of(wanted.words, are_keys=not wanted.columns)
    is_found = (rows >= part.skip) & ~part.is_gone(rows)
    for name, column in zip(names, wanted.columns, strict=bool(wanted.columns)):
        own = part.chunk.batch.columns.column(name)
        is_found &= equal_values(own.take(pa.array(rows)), column.take(pa.array(numbers)))
    return rows[is_found], wanted.slots[numbers[is_found]]


class WordIndex(NamedTuple):
    """The words of a chunk's rows in ascending order, the row of each, and if no two are alike."""

    words: Words
    rows: Int64s
    is_unique: bool

    def rows_of(self, wanted: Words, *, are_keys: bool = False) -> tuple[Int64s, Int64s]:
        """The rows that have one of some words, and the number of that word.

        Args:
            wanted: the words, in any order.
            are_keys: they ascend, and none stands for several keys: the fewer are then looked up
                among the more.
        """
        if are_keys and self.is_unique and len(self.words) < len(wanted):
            places = np.searchsorted(wanted, self.words)
            is_there = wanted[np.minimum(places, len(wanted) - 1)] == self.words
            return self.rows[is_there], places[is_there]
        first = np.searchsorted(self.words, wanted, side="left")
        is_there = self.words[np.minimum(first, len(self.words) - 1)] == wanted
        numbers, first = np.flatnonzero(is_there), first[is_there]
        if not self.is_unique:
            counts = np.searchsorted(self.words, wanted[numbers], side="right") - first
            numbers, first = np.repeat(numbers, counts), np.repeat(first, counts) + counted(counts)
        return self.rows[first], numbers


def word_index(chunk: Chunk, name: str, columns: Callable[[], Sequence[pa.Array]]) -> WordIndex:
    """The index of a chunk by the words of some columns of its rows, under a name; none: all are alike."""

    def made() -> WordIndex:
        parts = columns()
        words = (
            key_columns.key_words(parts, nulls_match=True).words
            if parts
            else np.zeros(len(chunk), np.uint64)
        )
        order = np.argsort(words, kind="stable")
        words = words[order]
        return WordIndex(words, order, not bool(np.any(words[1:] == words[:-1])))

    return chunk.derive(name, made)


def _index(chunk: Chunk, names: Sequence[str]) -> WordIndex:
    columns = chunk.batch.columns
    return word_index(chunk, f"keys {names}", lambda: [columns.column(name) for name in names])


@dataclass(frozen=True)
class Divided:
    """The rows of the partitions that new rows are of, by partition.

    Attributes:
        directory: which partition has which number.
        partitions: the rows of each.
        places: where each row is; the new ones are in the chunk after all stored ones.
        numbers: the order key of each row.
    """

    directory: KeyDirectory
    partitions: Partitions
    places: Int64s
    numbers: Int64s


def divided_by(stored: Sequence[ChunkSlice], new: Chunk, names: tuple[str, ...]) -> Divided:
    """New rows by their partitions, with the stored rows of the same ones, found by their words."""
    # Of those who look rows up, only count windows load this kernel.
    from windrow.kernels.count_join import partitioned  # noqa: PLC0415

    wanted = np.unique(partition_words(new.batch, names))
    places = np.append(
        places_of_partitions(stored, names, wanted), (len(stored) << ROW_BITS) + np.arange(len(new))
    )
    chunks = [*(part.chunk for part in stored), new]
    found = Places(places)
    keys = found.columns(lambda at: chunks[at].batch.columns.select(names))
    directory = KeyDirectory()
    slots = directory.slots_of(keys.columns)
    partitions = partitioned(slots, directory.slot_count)
    return Divided(directory, partitions, places, found.numbers(lambda at: chunks[at].keys))


def partition_words(rows: ChangeBatch, names: Sequence[str]) -> Words:
    """The words of the columns of PARTITION BY; equal for equal keys."""
    columns = [rows.columns.column(name) for name in names]
    return writable(key_columns.key_words(columns, nulls_match=True).words)


def places_of_partitions(
    slices: Sequence[ChunkSlice], names: tuple[str, ...], wanted: Words
) -> Int64s:
    """The places of the rows alive that have one of some different words, ascending."""
    places = [np.zeros(0, np.int64)]
    for at, part in enumerate(slices):
        rows = np.sort(_index(part.chunk, names).rows_of(wanted)[0])
        rows = rows[(rows >= part.skip) & ~part.is_gone(rows)]
        places.append((at << ROW_BITS) + rows)
    return np.concatenate(places)
