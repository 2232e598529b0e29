"""One input of a count-window join: its rows in order of number, and which of them are there.

A row that has been numbered is kept with its number in the place of its end: rows of a count window
leave by number. What a probe may find of an input, as row x of another one enters:

    rows of the input, by number      0   2   3   5   7   8
    [ROWS n], [RANGE w], WINDOW                   [=======]  x      from `first_there` up to x
    [PARTITION BY k ROWS n]           .   2   .   5   .   8         those of them with exit > x

A row with a NULL in a key takes its place but is never found: its exit counts as passed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels._jit import writable
from windrow.kernels.count_join import NEVER, newest_before, partition_exits
from windrow.operators.bew_window import JoinWindow
from windrow.operators.chunks import Chunk, ChunkSlice
from windrow.operators.gather import ROW_BITS
from windrow.operators.join_inputs import can_match
from windrow.operators.key_directory import KeyDirectory
from windrow.physical.specs import WJoin
from windrow.schema import MIN_TICK

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

_ROW_MASK = (1 << ROW_BITS) - 1


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
        self._exits = self._partition_exits(parts)
        self._hide_unmatched(spec, port, parts)

    def index(self, places: Numbers) -> Numbers:
        """Where rows at some places stand in `numbers` and `times`."""
        found: Numbers = self._starts[places >> ROW_BITS] + (places & _ROW_MASK)
        return found

    def first_there(self, entering: Numbers, times: Numbers) -> Numbers:
        """The first number that may still be there as rows of other inputs enter.

        Args:
            entering: the numbers of those rows.
            times: their event times.
        """
        first = np.zeros(len(entering), np.int64)
        if self._own.rows is not None and not self._own.partition:
            first = newest_before(self.numbers, writable(entering), self._own.rows)
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

    def _partition_exits(self, parts: Sequence[ChunkSlice]) -> Numbers | None:
        own = self._own
        if not own.partition or own.rows is None or not parts:
            return None
        keys = [
            pa.chunked_array([part.rows().columns.column(name) for part in parts]).combine_chunks()
            for name in own.partition
        ]
        directory = KeyDirectory()
        slots = directory.slots_of(keys)
        exits = partition_exits(slots, self.numbers, own.rows, directory.slot_count)
        self.is_leaving = exits != NEVER
        return exits

    def _hide_unmatched(self, spec: WJoin, port: int, parts: Sequence[ChunkSlice]) -> None:
        """Lets rows that can match nothing count as gone before anything enters."""
        masks = [_can_match(spec, port, part.chunk)[part.skip :] for part in parts]
        can = np.concatenate(masks) if masks else np.ones(0, np.bool_)
        if can.all():
            return
        exits = np.full(len(can), NEVER, np.int64) if self._exits is None else self._exits
        self._exits = np.where(can, exits, -1)


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
