"""Rows that take others back, and those that they take back: pairs that say nothing any more.

    + [t, end)            t |==========================| end
    - [t', end)                   t' |=================| end
    together              t |========|

From t' on the two are nothing. Once the watermark has come to t', whatever may still come begins
later: neither row can add to any combination any more, and both are forgotten.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch, counted
from windrow.operators.columns.chunks import ChunkBuffer, ChunkSlice
from windrow.operators.columns.key_columns import equal_values, key_words
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.joins.keyed_rows import word_index

Numbers = NDArray[np.int64]


def take_back(buffer: ChunkBuffer, gone: ChangeBatch, until: int) -> int:
    """Drops from a buffer, for each row of `gone`, one equal row that ends with it.

    Args:
        buffer: rows that have come, in order of their ends.
        gone: rows that take back others which have come up to an instant.
        until: that instant; rows that come later are left alone.

    Returns:
        How many rows have been dropped: as many as there are in `gone`, if these are sound.
    """
    content = contents(gone)
    firsts, kind_of = kinds_of(content)
    kinds = [column.take(pa.array(firsts)) for column in content]
    found = []
    for part in buffer.slices:
        own_kind, own_rows = equal_rows(part, kinds)
        is_there = part.chunk.batch.times[own_rows] <= until
        found.append((own_kind[is_there], own_rows[is_there]))
    kind = np.concatenate([own for own, _ in found]) if found else np.zeros(0, np.int64)
    is_dropped = _first_of_each(kind, np.bincount(kind_of))
    cuts = np.cumsum([0, *(len(own) for own, _ in found)])
    rows = [own[is_dropped[a:b]] for (_, own), a, b in zip(found, cuts, cuts[1:], strict=False)]
    return buffer.drop(rows)


def contents(rows: ChangeBatch, *, with_ends: bool = True) -> list[pa.Array]:
    """What tells rows apart: all their columns, and their ends unless these do not matter."""
    first = pa.array(rows.ends_or_never() if with_ends else np.zeros(len(rows), np.int64))
    return [first, *rows.columns.columns]


def kinds_of(content: list[pa.Array]) -> tuple[Numbers, Numbers]:
    """Equal rows are of one kind: per kind its first row, and per row its kind."""
    slots = KeyDirectory().slots_of(content)
    _, firsts, kinds = np.unique(slots, return_index=True, return_inverse=True)
    return firsts, kinds


def equal_rows(
    part: ChunkSlice, kinds: list[pa.Array], *, with_ends: bool = True
) -> tuple[Numbers, Numbers]:
    """The rows of a slice that are of one of the kinds given: which kind, and which row."""
    index = word_index(
        part.chunk,
        "by content and end" if with_ends else "by content",
        lambda: contents(part.chunk.batch, with_ends=with_ends),
    )
    rows, kind = index.rows_of(key_words(kinds, nulls_match=True).words)
    is_there = (rows >= part.skip) & ~part.is_gone(rows)
    kind, rows = kind[is_there], rows[is_there]
    is_same = np.ones(len(rows), np.bool_)
    own_content = contents(part.chunk.batch, with_ends=with_ends)
    for theirs, own in zip(kinds, own_content, strict=True):
        is_same &= equal_values(theirs.take(pa.array(kind)), own.take(pa.array(rows)))
    return kind[is_same], rows[is_same]


def _first_of_each(kind: Numbers, wanted: Numbers) -> NDArray[np.bool_]:
    """Marks the first so many rows of each kind as are wanted."""
    order = np.argsort(kind, kind="stable")
    counts = np.bincount(kind, minlength=len(wanted))
    marks = np.zeros(len(kind), np.bool_)
    marks[order] = counted(counts) < np.repeat(wanted, counts)
    return marks
