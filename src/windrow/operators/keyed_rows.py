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

from windrow.operators import keys
from windrow.operators.changes import ChangeBatch, concat
from windrow.operators.key_columns import validity
from windrow.operators.key_directory import KeyDirectory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from windrow.operators.chunks import Chunk, ChunkBuffer, ChunkSlice
    from windrow.physical.specs import KeyClass

NO_KEY = -1
"""The slot of a row whose key equals none."""


@dataclass(frozen=True)
class WantedKeys:
    """Different keys; a NULL is one like any other.

    Attributes:
        columns: their values.
        words: their words in ascending order: searches that follow one another stay close.
        order: which key has each of these.
        exact: whether the words are the values themselves.
    """

    columns: Sequence[pa.Array]
    words: NDArray[np.uint64]
    order: NDArray[np.int64]
    exact: bool

    def __len__(self) -> int:
        return len(self.words)


class StepKeys:
    """The keys that rows of two inputs have, each with a slot: 0, 1, ..

    Without key columns all rows have the same key.
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

    def wanted(self) -> WantedKeys:
        """All of them, in the order of their slots."""
        columns = self._directory.keys_of(np.arange(len(self))) if self._classes else []
        found = _words(columns, len(self))
        order = np.argsort(found.words, kind="stable")
        return WantedKeys(columns, found.words[order], order, found.exact)


def _words(columns: Sequence[pa.Array], rows: int) -> keys.KeyWords:
    if not columns:
        return keys.KeyWords(np.zeros(rows, np.uint64), None, exact=True)
    return keys.key_words(columns, nulls_match=True)


class _Index(NamedTuple):
    """The words of a chunk's keys in ascending order, and the row of each.

    `exact`: they are the values themselves; `is_unique`: no two are alike.
    """

    words: NDArray[np.uint64]
    rows: NDArray[np.int64]
    exact: bool
    is_unique: bool


@dataclass(frozen=True)
class FoundRows:
    """Rows of a buffer: per slice, which of its chunk's, and which of the wanted keys each has."""

    slices: tuple[ChunkSlice, ...]
    rows: tuple[NDArray[np.int64], ...]
    keys: tuple[NDArray[np.int64], ...]

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """The wanted key of each row, slice by slice."""
        return np.concatenate([np.empty(0, np.int64), *self.keys])

    def __len__(self) -> int:
        return len(self.owners)

    def batch(self) -> ChangeBatch:
        """The rows, slice by slice; there must be some."""
        parts = zip(self.slices, self.rows, strict=True)
        return concat([part.chunk.batch.take(own) for part, own in parts if len(own)])

    def only(self, is_wanted: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
        """Per slice, the rows whose key is marked; for `ChunkBuffer.drop`."""
        return [own[is_wanted[of]] for own, of in zip(self.rows, self.keys, strict=True)]


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
    """The rows of a slice's chunk, and the wanted key of each."""
    index = _index(part.chunk, names)
    first = np.searchsorted(index.words, wanted.words, side="left")
    is_there = index.words[np.minimum(first, len(index.words) - 1)] == wanted.words
    owners, first = np.flatnonzero(is_there), first[is_there]
    if not index.is_unique:
        last = np.searchsorted(index.words, wanted.words[owners], side="right")
        counts = last - first
        step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        owners, first = np.repeat(owners, counts), np.repeat(first, counts) + step
    rows, owners = index.rows[first], wanted.order[owners]
    is_found = (rows >= part.skip) & ~part.is_gone(rows)
    if not (index.exact and wanted.exact):
        for name, column in zip(names, wanted.columns, strict=True):
            own = part.chunk.batch.columns.column(name)
            is_found &= keys.equal_values(own.take(pa.array(rows)), column.take(pa.array(owners)))
    return rows[is_found], owners[is_found]


def _index(chunk: Chunk, names: tuple[str, ...]) -> _Index:
    name = f"keys {names}"
    if name not in chunk.derived:
        found = _words([chunk.batch.columns.column(own) for own in names], len(chunk))
        order = np.argsort(found.words, kind="stable")
        words = found.words[order]
        is_unique = not bool(np.any(words[1:] == words[:-1]))
        chunk.derived[name] = _Index(words, order, found.exact, is_unique)
    index: _Index = chunk.derived[name]
    return index
