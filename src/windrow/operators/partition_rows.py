"""The rows of a chunk by the columns of PARTITION BY: those of some partitions, without a scan.

    words, sorted    [ 3   3   8   8   8   9 ]       made once for a chunk, and kept with it
    rows             [ 4   7   0   2   5   1 ]       wanted 8:  rows 0, 2, 5

Equal keys have equal words; the converse need not hold, and whoever asks compares the keys.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels._jit import writable
from windrow.operators.chunks import Chunk, ChunkSlice
from windrow.operators.key_columns import Words
from windrow.operators.keys import key_words

Numbers = NDArray[np.int64]


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
