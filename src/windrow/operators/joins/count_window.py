"""One input of a count-window join: its rows in order of number, and which of them are there.

A row that has been numbered is kept with its number in the place of its end: rows of a count window
leave by number. What a probe may find of an input, as row x of another one enters:

    rows of the input, by number      0   2   3   5   7   8
    [ROWS n], [RANGE w], WINDOW                   [=======]  x      from `first_there` up to x
    [PARTITION BY k ROWS n]           .   2   .   5   .   8         those of them that have not
                                                                    left before x;
                                                                    k known: from the n-th before x

Of a window that is divided, rows leave from the middle of chunks. Those that left in an earlier step
are marked as gone in their slices; those that leave in this one are known by the number at which
they do. Only partitions that new rows are of can lose a row: their rows are looked up, by the words
of PARTITION BY, so that a step costs what enters, whatever the window holds.

A row with a NULL in a key takes its place but is never found.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.count_join import (
    NEVER,
    Partitions,
    newest_of_partition,
    partition_exits,
)
from windrow.kernels.jit import writable
from windrow.operators.columns.arrow_types import moved
from windrow.operators.columns.changes import ROW_BITS, Places, rows_by_chunk
from windrow.operators.columns.chunks import Chunk
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.joins.bew_window import JoinWindow
from windrow.operators.joins.join_inputs import can_match
from windrow.operators.joins.join_steps import both
from windrow.operators.joins.keyed_rows import divided_by
from windrow.physical.nodes.count_join import CountJoin

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class CountWindow:
    """The rows of one input that are there, with those that enter now.

    They are the rows that a search sees; there, their keys are their numbers.
    """

    def __init__(self, node: CountJoin, port: int, rows: JoinWindow) -> None:
        assert node.counts is not None
        self._node, self._port = node, port
        self._own = node.counts.own[port]
        self._within = node.counts.within
        self._parts = rows.slices
        self._stored = rows.stored
        self._has_gone = any(part.gone for part in rows.slices)
        self._hides = any(len(self._unmatched(part.chunk)) for part in rows.slices)
        self._directory = KeyDirectory()
        self._partitions: Partitions | None = None
        self._members: Numbers = np.zeros(0, np.int64)
        self._leaving: Numbers = np.zeros(0, np.int64)  # places, ascending
        self._exits: Numbers = np.zeros(0, np.int64)  # the number at which each of them leaves
        if self._own.partition and rows.new is not None:
            self._divide(rows.new)

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
            first = self._newest_before(entering, rows)
        if rows is not None and self._partitions is not None and keys is not None:
            slots = self._directory.slots_of(keys)
            entering = writable(entering)
            first = newest_of_partition(self._partitions, self._members, slots, entering, rows)
        if self._own.ticks is not None:
            first = np.maximum(first, self.first_since(moved(times, -self._own.ticks)))
        if self._within is not None:
            first = np.maximum(first, entering - self._within)
        return first

    def first_since(self, times: Numbers) -> Numbers:
        """The number of the first row from each of some times on; NEVER for none."""
        parts = self._parts
        lasts = np.array([part.chunk.batch.times[-1] for part in parts], np.int64)
        # Times ascend with numbers, over all chunks: the first that reaches a time has the row.
        holders = np.searchsorted(lasts, times, side="left")
        first = np.full(len(times), NEVER, np.int64)
        for at in np.unique(holders[holders < len(parts)]).tolist():
            part, asked = parts[at], np.flatnonzero(holders == at)
            rows = np.searchsorted(part.chunk.batch.times, times[asked], side="left")
            first[asked] = part.chunk.keys[np.maximum(rows, part.skip)]
        return first

    def is_there(self, places: Numbers, entering: Numbers) -> Flags | None:
        """Whether rows that `first_there` allows are there as others enter; None: all are."""
        there: Flags | None = None
        if self._has_gone:
            there = Places(places).computed(lambda at, rows: ~self._parts[at].is_gone(rows))
        if self._hides:
            there = both(there, self._can_match(places))
        if len(self._leaving):
            at = np.minimum(np.searchsorted(self._leaving, places), len(self._leaving) - 1)
            there = both(there, (self._leaving[at] != places) | (self._exits[at] > entering))
        return there

    def can_enter(self, places: Numbers) -> Flags | None:
        """Whether rows can match anything at all as they enter; None: all can."""
        return self._can_match(places) if self._hides else None

    def leaving(self) -> tuple[list[Numbers], Numbers]:
        """Per slice stored the rows of its chunk that leave in this step, and those of the new."""
        *stored, new = rows_by_chunk(self._leaving, self._stored + 1)
        return stored, new

    def _newest_before(self, entering: Numbers, rows: int) -> Numbers:
        """The number of the oldest row in [ROWS n] as each of some others enters.

            numbers    2   5   6   9           n = 2
            entering             8             5 and 6 are there: gives 5

        Where fewer than n have come, all of them are there: gives the first number possible, 0.
        All that is stored came before all that enters.
        """
        lengths = [len(part) for part in self._parts]
        starts = np.array([sum(lengths[:at]) for at in range(len(lengths))], np.int64)
        skips = np.array([part.skip for part in self._parts], np.int64)
        before = np.full(len(entering), sum(lengths[: self._stored]), np.int64)
        for part in self._parts[self._stored :]:
            before += np.searchsorted(part.chunk.keys, entering, side="left")
        first = np.zeros(len(entering), np.int64)
        asked = np.flatnonzero(before >= rows)
        if len(asked):
            oldest = before[asked] - rows
            at = np.searchsorted(starts, oldest, side="right") - 1
            places = Places((at << ROW_BITS) + skips[at] + oldest - starts[at])
            first[asked] = places.numbers(lambda at: self._parts[at].chunk.keys)
        return first

    def _divide(self, new: Chunk) -> None:
        """Finds the rows of the partitions that new rows are of, and which of them leave when."""
        assert self._own.rows is not None
        divided = divided_by(self._parts[: self._stored], new, self._own.partition)
        self._directory, self._partitions = divided.directory, divided.partitions
        self._members = divided.numbers
        exits = partition_exits(divided.partitions, divided.numbers, self._own.rows)
        leaves = np.flatnonzero(exits != NEVER)
        self._leaving, self._exits = divided.places[leaves], exits[leaves]

    def _can_match(self, places: Numbers) -> Flags:
        return Places(places).computed(
            lambda at, rows: ~_is_among(rows, self._unmatched(self._parts[at].chunk))
        )

    def _unmatched(self, chunk: Chunk) -> Numbers:
        """The rows of a chunk with a key that can equal no other, ascending."""
        keys = [(key.columns[self._port], key.null_safe) for key in self._node.classes]

        def found() -> Numbers:
            return np.flatnonzero(~can_match(self._node, self._port, chunk.batch))

        return chunk.derive(f"unmatched by {keys}", found)


def partition_keys(node: CountJoin, start: int, port: int) -> tuple[str, ...] | None:
    """The columns of one input that equal those of another's PARTITION BY; None if some do not."""
    assert node.counts is not None
    found = []
    for name in node.counts.own[port].partition:
        equal = [key.columns[start] for key in node.classes if key.columns[port] == name]
        columns = [column for column in equal if column is not None]
        if not columns:
            return None
        found.append(columns[0])
    return tuple(found)


def _is_among(rows: Numbers, some: Numbers) -> Flags:
    """Which rows are among some others, which ascend."""
    if not len(some):
        return np.zeros(len(rows), np.bool_)
    found: Flags = some[np.minimum(np.searchsorted(some, rows), len(some) - 1)] == rows
    return found
