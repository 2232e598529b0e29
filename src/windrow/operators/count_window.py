"""One input of a count-window join: its rows in order of number, and which of them are there.

A row that has been numbered is kept with its number in the place of its end: rows of a count window
leave by number. What a probe may find of an input, as row x of another one enters:

    rows of the input, by number      0   2   3   5   7   8
    [ROWS n], [RANGE w], WINDOW                   [=======]  x      from `first_there` up to x
    [PARTITION BY k ROWS n]           .   2   .   5   .   8         those of them with exit > x;
                                                                    k known: from the n-th before x

A row with a NULL in a key takes its place but is never found: its exit counts as passed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels._jit import writable
from windrow.kernels.count_join import (
    NEVER,
    Partitions,
    is_among,
    newest_before,
    newest_of_partition,
    partition_exits,
    partitioned,
)
from windrow.operators.bew_window import JoinWindow
from windrow.operators.chunks import Chunk, ChunkSlice
from windrow.operators.gather import ROW_BITS, ROW_MASK
from windrow.operators.join_inputs import can_match
from windrow.operators.key_columns import Words
from windrow.operators.key_directory import KeyDirectory
from windrow.operators.keys import key_words
from windrow.physical.specs import WJoin
from windrow.schema import MIN_TICK

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class CountWindow:
    """The rows of one input that are there, with those that enter now.

    Args:
        spec: the join.
        port: which input.
        rows: the same rows, as a search sees them; their keys are their numbers.
    """

    def __init__(self, spec: WJoin, port: int, rows: JoinWindow) -> None:
        assert spec.counts is not None
        self._own = spec.counts.own[port]
        self._within = spec.counts.within
        parts = rows.slices
        self.numbers = _joined([part.chunk.keys[part.skip :] for part in parts])
        self.times = _joined([part.chunk.batch.times[part.skip :] for part in parts])
        skips = [part.skip for part in parts]
        lengths = [len(part) for part in parts]
        self._starts = np.array([sum(lengths[:at]) for at in range(len(parts))], np.int64)
        self._starts -= np.array(skips, np.int64)
        self.is_leaving: Flags | None = None
        self._exits: Numbers | None = None
        self._directory = KeyDirectory()
        self._partitions: Partitions | None = None
        self._members: Numbers = self.numbers
        if self._own.partition and rows.new is not None:
            self._divide(parts, rows.new)
        self._hide_unmatched(spec, port, parts)

    def index(self, places: Numbers) -> Numbers:
        """Where rows at some places stand in `numbers` and `times`."""
        found: Numbers = self._starts[places >> ROW_BITS] + (places & ROW_MASK)
        return found

    def first_there(
        self, entering: Numbers, times: Numbers, keys: Sequence[pa.Array] | None
    ) -> Numbers:
        """The first number that may still be there as rows of another input enter.

        Args:
            entering: the numbers of those rows.
            times: their event times.
            keys: what each asks for in the columns of PARTITION BY; None: it may be anything.
                A partition that no row enters now has at most n rows, all of them there.
        """
        rows = self._own.rows
        first = np.zeros(len(entering), np.int64)
        if rows is not None and not self._own.partition:
            first = newest_before(self.numbers, writable(entering), rows)
        if rows is not None and self._partitions is not None and keys is not None:
            slots = self._directory.slots_of(keys)
            entering = writable(entering)
            first = newest_of_partition(self._partitions, self._members, slots, entering, rows)
        if self._own.ticks is not None:
            first = np.maximum(first, self.first_since(_earlier(times, self._own.ticks)))
        if self._within is not None:
            first = np.maximum(first, entering - self._within)
        return first

    def first_since(self, times: Numbers) -> Numbers:
        """The number of the first row from each of some times on; NEVER for none."""
        at = np.searchsorted(self.times, times, side="left")
        return np.append(self.numbers, NEVER)[at]

    def is_there(self, places: Numbers, entering: Numbers) -> Flags | None:
        """Whether rows that `first_there` allows are there as others enter; None: all are."""
        if self._exits is None:
            return None
        there: Flags = self._exits[self.index(places)] > entering
        return there

    def can_enter(self, places: Numbers) -> Flags | None:
        """Whether rows can match anything at all as they enter; None: all can."""
        if self._exits is None:
            return None
        able: Flags = self._exits[self.index(places)] >= 0
        return able

    def _divide(self, parts: Sequence[ChunkSlice], new: Chunk) -> None:
        """Finds the partition of rows, and the number at which each leaves that.

        Only rows of a partition that new rows are of: from any other, none can leave now.
        """
        assert self._own.rows is not None
        names = self._own.partition
        wanted = _partition_words(new, names)
        words = [_partition_words(part.chunk, names)[part.skip :] for part in parts]
        chosen = [
            part.skip + np.flatnonzero(is_among(own, wanted))
            for part, own in zip(parts, words, strict=True)
        ]
        keys = [
            pa.concat_arrays(
                [
                    part.chunk.batch.columns.column(name).take(pa.array(rows))
                    for part, rows in zip(parts, chosen, strict=True)
                ]
            )
            for name in names
        ]
        places = np.concatenate(
            [rows + start for rows, start in zip(chosen, self._starts, strict=True)]
        )
        self._members = self.numbers[places]
        slots = self._directory.slots_of(keys)
        self._partitions = partitioned(slots, self._directory.slot_count)
        self._exits = np.full(len(self.numbers), NEVER, np.int64)
        self._exits[places] = partition_exits(self._partitions, self._members, self._own.rows)
        self.is_leaving = self._exits != NEVER

    def _hide_unmatched(self, spec: WJoin, port: int, parts: Sequence[ChunkSlice]) -> None:
        """Lets rows that can match nothing count as gone before anything enters."""
        masks = [_can_match(spec, port, part.chunk)[part.skip :] for part in parts]
        can = np.concatenate(masks) if masks else np.ones(0, np.bool_)
        if can.all():
            return
        exits = np.full(len(can), NEVER, np.int64) if self._exits is None else self._exits
        self._exits = np.where(can, exits, -1)


def partition_keys(spec: WJoin, start: int, port: int) -> tuple[str, ...] | None:
    """The columns of one input that equal those of another's PARTITION BY; None if some do not."""
    assert spec.counts is not None
    found = []
    for name in spec.counts.own[port].partition:
        equal = [key.columns[start] for key in spec.classes if key.columns[port] == name]
        columns = [column for column in equal if column is not None]
        if not columns:
            return None
        found.append(columns[0])
    return tuple(found)


def _partition_words(chunk: Chunk, names: tuple[str, ...]) -> Words:
    """The words of the columns of PARTITION BY; equal for equal keys."""
    name = f"partition words of {names}"
    if name not in chunk.derived:
        columns = [chunk.batch.columns.column(column) for column in names]
        chunk.derived[name] = key_words(columns, nulls_match=True).words
    words: Words = writable(chunk.derived[name])
    return words


def _joined(arrays: Sequence[Numbers]) -> Numbers:
    return np.concatenate(arrays) if arrays else np.zeros(0, np.int64)


def _earlier(times: Numbers, ticks: int) -> Numbers:
    """The times so many ticks before, or the first tick there is."""
    return np.where(times < MIN_TICK + ticks, MIN_TICK, times - np.int64(ticks))


def _can_match(spec: WJoin, port: int, chunk: Chunk) -> Flags:
    """Which rows of a chunk have a key that can equal another."""
    keys = [(key.columns[port], key.null_safe) for key in spec.classes]
    name = f"can match by {keys}"
    if name not in chunk.derived:
        chunk.derived[name] = can_match(spec, port, chunk.batch)
    known: Flags = chunk.derived[name]
    return known
