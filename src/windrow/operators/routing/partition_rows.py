"""The rows of a chunk by the columns of PARTITION BY: those of some partitions, without a scan.

    words, sorted    [ 3   3   8   8   8   9 ]       made once for a chunk, and kept with it
    rows             [ 4   7   0   2   5   1 ]       wanted 8:  rows 0, 2, 5

Equal keys have equal words; the converse need not hold, and whoever asks compares the keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.count_join import Partitions, partitioned
from windrow.kernels.jit import writable
from windrow.operators.columns.changes import ROW_BITS, Places
from windrow.operators.columns.chunks import Chunk, ChunkSlice
from windrow.operators.columns.key_columns import Words, key_words
from windrow.operators.columns.key_directory import KeyDirectory

Numbers = NDArray[np.int64]


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
    places: Numbers
    numbers: Numbers


def divided_by(stored: Sequence[ChunkSlice], new: Chunk, names: tuple[str, ...]) -> Divided:
    """New rows by their partitions, with the stored rows of the same ones, found by their words."""
    wanted = np.unique(partition_words(new, names))
    chosen = [rows_of_partitions(part, names, wanted) for part in stored]
    chosen.append(np.arange(len(new)))
    places = np.concatenate([(at << ROW_BITS) + rows for at, rows in enumerate(chosen)])
    chunks = [*(part.chunk for part in stored), new]
    found = Places(places)
    keys = found.columns(lambda at: chunks[at].batch.columns.select(names))
    directory = KeyDirectory()
    slots = directory.slots_of(keys.columns)
    partitions = partitioned(slots, directory.slot_count)
    return Divided(directory, partitions, places, found.numbers(lambda at: chunks[at].keys))


def partition_words(chunk: Chunk, names: tuple[str, ...]) -> Words:
    """The words of the columns of PARTITION BY; equal for equal keys."""
    columns = [chunk.batch.columns.column(name) for name in names]
    return writable(key_words(columns, nulls_match=True).words)


def rows_of_partitions(part: ChunkSlice, names: tuple[str, ...], wanted: Words) -> Numbers:
    """The rows alive of a slice's chunk that have one of some different words, ascending."""
    words, rows = _by_words(part.chunk, names)
    starts = np.searchsorted(words, wanted, side="left")
    stops = np.searchsorted(words, wanted, side="right")
    found = np.sort(rows[_ranges(starts, stops)]).astype(np.int64)
    found = found[found >= part.skip]
    return found[~part.is_gone(found)]


def _by_words(chunk: Chunk, names: tuple[str, ...]) -> tuple[Words, NDArray[np.int32]]:
    """The words of all rows in their order, and the row that each is of."""
    name = f"rows by {names}"
    if name not in chunk.derived:
        words = partition_words(chunk, names)
        order = np.argsort(words)
        chunk.derived[name] = words[order], order.astype(np.int32)
    index: tuple[Words, NDArray[np.int32]] = chunk.derived[name]
    return index


def _ranges(starts: Numbers, stops: Numbers) -> Numbers:
    """All numbers from each start up to before its stop, one range after the other."""
    lengths = stops - starts
    ends = np.cumsum(lengths)
    offsets = np.repeat(starts - (ends - lengths), lengths)
    return offsets + np.arange(len(offsets))
