"""One input of a window join as a push sees it: the chunks stored, then the rows just come.

What is derived from a chunk (words of its keys, buckets by key) is made when first needed and
stays with the chunk as long as it lives. All words here are mixed: still equal for equal keys, and
spread over all 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.alive_index import AliveIndex, AliveProbes, RowTests, alive_index, probe_alive
from windrow.kernels.bew_hash import Buckets, buckets_of, probe_buckets
from windrow.kernels.bew_period import FoundMatches, Probes, Progress
from windrow.kernels.bew_scan import Queue, Wanted, scan_queue
from windrow.kernels.jit import writable
from windrow.operators.columns.changes import ROW_BITS, ChangeBatch, Places
from windrow.operators.columns.chunks import Chunk, ChunkSlice
from windrow.operators.columns.key_columns import (
    KeyWords,
    Words,
    column_words,
    combined,
    is_exact,
    mixed_words,
)
from windrow.operators.columns.total_order import Ranked, ranks_of, valid_rows

Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Scan(NamedTuple):
    """How the rows of a period are tested: by words of key columns, and by lines of ranks.

    `may_ask` says which probes can find anything at all; None for all of them.
    """

    columns: tuple[str, ...]
    lines: tuple[Ranked, ...]
    tests: Wanted
    may_ask: Flags | None


class JoinWindow:
    """The rows of one input that a combination may take.

    Args:
        stored: what the pushes before left.
        new: the rows of this push, if any; no two pushes have the same.
    """

    def __init__(self, stored: Sequence[ChunkSlice], new: Chunk | None) -> None:
        self.slices = list(stored)
        self.stored = len(self.slices)
        if new is not None:
            self.slices.append(ChunkSlice(new))
        self._spans = [part.span for part in self.slices]
        self._exact: dict[str, bool] = {}
        self._has_ranks: dict[Ranked, bool] = {}

    def __bool__(self) -> bool:
        return bool(self.slices)

    @property
    def new(self) -> Chunk | None:
        """The rows of this push."""
        return self.slices[-1].chunk if len(self.slices) > self.stored else None

    @property
    def has_ends(self) -> bool:
        """Whether any row has an end of its own."""
        return any(part.chunk.batch.ends is not None for part in self.slices)

    @property
    def size(self) -> int:
        """Rows in all chunks, dead ones included."""
        return sum([len(part.chunk.keys) for part in self.slices])

    def within(self, least: int, most: int) -> list[int]:
        """The chunks that hold times from least to most."""
        return [
            at for at, (first, last) in enumerate(self._spans) if first <= most and last >= least
        ]

    def is_exact(self, column: str) -> bool:
        """Whether equal words of the column are equal values in every chunk."""
        if column not in self._exact:
            name = f"exact {column}"
            is_known = [part.chunk.derived.get(name) for part in self.slices]
            self._exact[column] = all(
                part.chunk.derive(name, partial(_is_exact, part.chunk, column))
                if own is None
                else own
                for own, part in zip(is_known, self.slices, strict=True)
            )
        return self._exact[column]

    def words(self, column: str, places: Places) -> Words:
        """The words of a column at some places."""
        return places.numbers(lambda at: _column_words(self.slices[at].chunk, column))

    def columns(self, names: Sequence[str], places: Places) -> list[pa.Array]:
        """Some columns at some places."""
        if not names:
            return []
        # Chunks of one window have the same columns.
        has_others = self.slices[0].chunk.batch.columns.schema.names != names
        wanted = names if has_others else None
        taken = places.columns(lambda at: self.slices[at].chunk.batch.columns, wanted)
        columns: list[pa.Array] = taken.columns
        return columns

    def rows(self, names: Sequence[str], places: Places) -> ChangeBatch:
        """The rows at some places, with some columns, at least one."""
        columns = pa.RecordBatch.from_arrays(self.columns(names, places), names=list(names))
        times = places.numbers(lambda at: self.slices[at].chunk.keys)
        return ChangeBatch(columns, times, self.ends(places) if self.has_ends else None)

    def times(self, places: Places) -> Int64s:
        """The event times of the rows at some places."""
        return places.numbers(lambda at: self.slices[at].chunk.batch.times)

    def ends(self, places: Places) -> Int64s:
        """The ends of the rows at some places."""
        return places.numbers(lambda at: self.slices[at].chunk.batch.ends_or_never())

    def probing(
        self, columns: tuple[str, ...]
    ) -> Callable[[int, Probes, FoundMatches, Progress], None]:
        """What looks probes up in a chunk, in the buckets by some key columns."""
        name, slices, spans = buckets_name(columns), self.slices, self._spans

        def probe(at: int, probes: Probes, found: FoundMatches, progress: Progress) -> None:
            chunk = slices[at].chunk
            index = chunk.derived.get(name) or buckets(chunk, columns)
            probe_buckets(index, probes, spans[at], at << ROW_BITS, found, progress)

        return probe

    def scan(
        self, at: int, scan: Scan, probes: Probes, found: FoundMatches, progress: Progress
    ) -> None:
        """Looks probes up in chunk `at` by going through the rows of their periods."""
        part = self.slices[at]
        queue = _queue(part.chunk, scan.columns, scan.lines)._replace(skip=part.skip)
        scan_queue(queue, probes, scan.tests, at << ROW_BITS, found, progress)

    def probe_alive(
        self, at: int, scan: Scan, probes: AliveProbes, found: FoundMatches, progress: Progress
    ) -> None:
        """Looks probes up in chunk `at`, in order of ends: by key, among rows that start in time."""
        chunk = self.slices[at].chunk
        index = _alive_index(chunk, scan.columns)
        tests = RowTests(_queue(chunk, (), scan.lines), scan.tests)
        probe_alive(index, probes, tests, self._spans[at], at << ROW_BITS, found, progress)

    def has(self, column: str) -> bool:
        """Whether the input has a column."""
        return column in self.slices[0].chunk.batch.columns.schema.names

    def has_ranks(self, line: Ranked) -> bool:
        """Whether every value has a rank; a sum that leaves its type has none."""
        if line.is_real or not line.side.shift:
            return True
        if line not in self._has_ranks:
            self._has_ranks[line] = all(_ranks(p.chunk, line) is not None for p in self.slices)
        return self._has_ranks[line]

    def ranked(self, line: Ranked, places: Places) -> tuple[Int64s, Flags | None]:
        """The ranks of a column at some places, and which are no NULL (None for all)."""
        column = line.side.column
        ranks = places.numbers(lambda at: _known(_ranks(self.slices[at].chunk, line)))
        chunks = [part.chunk.batch.columns.column(column) for part in self.slices]
        if not any(values.null_count for values in chunks):
            return ranks, None
        return ranks, places.numbers(lambda at: _valid(self.slices[at].chunk, column))


def buckets_name(columns: tuple[str, ...]) -> str:
    """What the buckets by a key are called among what is derived from a chunk."""
    return f"buckets by {columns}"


def buckets(chunk: Chunk, columns: tuple[str, ...]) -> Buckets:
    """The rows of a chunk in buckets by a key."""

    def made() -> Buckets:
        return buckets_of(_key(chunk, columns), writable(chunk.keys))

    return chunk.derive(buckets_name(columns), made)


def _is_exact(chunk: Chunk, column: str) -> bool:
    """Whether equal words of the column are equal values."""
    values = chunk.batch.columns.column(column)
    return is_exact(values.type) and not values.null_count


def _alive_index(chunk: Chunk, columns: tuple[str, ...]) -> AliveIndex:
    """The rows of a chunk in buckets by a key, with the least starts of stretches."""

    def made() -> AliveIndex:
        return alive_index(buckets(chunk, columns), writable(chunk.batch.times))

    return chunk.derive(f"alive by {columns}", made)


def key_of(parts: Sequence[Words], rows: int) -> Words:
    """The words of a key from those of its columns."""
    if not parts:
        return np.zeros(rows, np.uint64)
    if len(parts) == 1:
        return parts[0]
    return combined([KeyWords(words, None, exact=False) for words in parts]).words


def _queue(chunk: Chunk, columns: tuple[str, ...], lines: tuple[Ranked, ...]) -> Queue:
    """The rows of a chunk as a scan sees them."""

    def made() -> Queue:
        compared = dict.fromkeys(line.side.column for line in lines)
        with_null = [c for c in compared if chunk.batch.columns.column(c).null_count]
        is_valid = [_valid(chunk, column) for column in with_null]
        values = [_known(_ranks(chunk, line)) for line in lines]
        return Queue(
            times=writable(chunk.keys),
            skip=0,
            words=_key(chunk, columns) if columns else np.empty(0, np.uint64),
            values=np.array(values, np.int64).reshape(len(lines), len(chunk)),
            is_valid=np.logical_and.reduce(is_valid) if is_valid else np.empty(0, np.bool_),
        )

    return chunk.derive(f"queue by {columns} and {lines}", made)


def _ranks(chunk: Chunk, line: Ranked) -> Int64s | None:
    """The ranks of a column; None where some value has none."""
    column = chunk.batch.columns.column(line.side.column)
    return chunk.derive(f"ranks of {line}", lambda: ranks_of(column, line))


def _valid(chunk: Chunk, column: str) -> Flags:
    """Which rows of a chunk have a value in a column."""
    return chunk.derive(f"valid {column}", lambda: valid_rows(chunk.batch.columns.column(column)))


def _known(ranks: Int64s | None) -> Int64s:
    assert ranks is not None  # `has_ranks` was asked
    return ranks


def _key(chunk: Chunk, columns: tuple[str, ...]) -> Words:
    parts = [mixed_words(column_words(chunk.batch.columns.column(name)).words) for name in columns]
    return key_of(parts, len(chunk))


def _column_words(chunk: Chunk, column: str) -> Words:
    """The words of a key column, kept: only keys of several classes gather them."""
    return chunk.derive(f"words of {column}", lambda: _key(chunk, (column,)))
