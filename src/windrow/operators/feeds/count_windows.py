"""Count windows as changes: rows wait for the watermark, and are then numbered.

Which rows are the newest is known only once no earlier one can come.

    push       lets rows wait
    advance    takes those below the watermark, puts them in the one order (`total_order`), and hands
               them on; who takes them in numbers them on from the last ones

State: what waits, the rows that are there, each with its number, and the number of the next one.

**`CountRowsOp`**: a row goes when the n-th after it comes. What takes rows back (an aggregate,
DISTINCT, a set operation, a join of changelogs) asks which rows are alive at an instant; of a count
window these are the newest n with a time up to it:

    rows by number     0    1    2    3         n = 2
    times              5    5    7    9
    alive            + 5............- 7         row 0 goes with row 2
                          + 5............- 9
                               + 7
                                    + 9

Rows below the watermark go through three steps:

1. They are numbered on from the last ones.
2. Each row that has n rows after it, of its partition, leaves: with a partition, rows of the same
   ones are looked up by their words (`keyed_rows`), so that a step costs what enters.
3. Out come all new rows, and those that leave, each with the columns it came with, at the time of
   the row that pushes it out.

State: what waits, and the newest n rows, of each k, with the columns that are shown.

**`NewestChangesOp`** counts rows that are deleted, too. At every instant the window has the newest
n of the rows that have come and were not deleted. So a row that comes pushes one out, and a deleted
one brings one back:

    changes      +A 1   +B 3   +C 5   -C 8   -A 9        n = 2
    there        A      A B    A B C  A B    B
    window       +A     +B     +C -A  -C +A  -A

1. Changes wait for the watermark.
2. Of those below it the rows that come are numbered on from the last ones, and the row is found that
   each delete is of: one equal to it in all columns, the time at which it came among them, looked
   up chunk by chunk by its words (`keyed_rows`).
3. Of the rows there, those that can be in the window while these changes are applied are looked at:
   with PARTITION BY, of the partitions that change; without it, the newest n and one more for each
   delete. `kernels/change_feed.py` goes through the changes, and says what enters and leaves.

Within an instant rows that come are taken first, for a row may come and go at one instant.

State: what waits, and all rows that have come and were not deleted, with all columns: any of them
may come back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import InternalError
from windrow.kernels.change_feed import NOTHING, window_moves
from windrow.kernels.count_join import NEVER, partition_exits
from windrow.kernels.jit import writable
from windrow.operators.columns.changes import (
    ROW_BITS,
    ChangeBatch,
    Places,
    concat,
    rows_by_chunk,
    select,
)
from windrow.operators.columns.chunks import Chunk, ChunkBuffer, ChunkSlice
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.columns.total_order import in_total_order
from windrow.operators.engine.base import SteppingOp
from windrow.operators.feeds.change_feed import find_deleted
from windrow.operators.joins.keyed_rows import divided_by, partition_words, places_of_partitions
from windrow.physical.nodes.feeds import CountChanges, CountRows
from windrow.schema import MAX_TICK

NEXT_NUMBER = "next_number"

Int64s = NDArray[np.int64]


class NumberedRowsOp(SteppingOp):
    """Numbers rows in the one order, and keeps some of them."""

    step_rows = 1 << 15

    def __init__(self, node: CountRows) -> None:
        self._node = node
        self._shown = list(node.schema.names)
        self._waiting = ChunkBuffer("time")
        self._there = ChunkBuffer("end")  # in place of an end, each row has its number
        buffers = {"there": self._there, "waiting": self._waiting}
        super().__init__(buffers, {NEXT_NUMBER: 0})

    @abstractmethod
    def _entered(self, rows: ChangeBatch) -> ChangeBatch:
        """Takes in rows, which are in the one order; gives what comes and goes with them."""

    def _admit(self, port: int, batch: ChangeBatch) -> None:  # noqa: ARG002
        self._waiting.append(ChangeBatch(batch.columns, batch.times, None, batch.signs))

    def _step(self, bound: int) -> ChangeBatch | None:
        rows = self._waiting.pop_below(bound)
        assert rows is not None
        return self._entered(in_total_order(rows))

    def _timed(self) -> Sequence[ChunkBuffer]:
        """Rows that are there leave by number."""
        return (self._waiting,)

    def _numbers_of(self, rows: int) -> Int64s:
        """The next numbers, for so many rows."""
        first = self._numbers[NEXT_NUMBER]
        self._numbers[NEXT_NUMBER] += rows
        return np.arange(first, first + rows)

    def _replace(self, new: Chunk, gone: Int64s) -> None:
        """Takes rows out, and keeps the new ones but those among these; `gone` are their places.

        New rows have their places in the chunk after all that are stored.
        """
        *stored, passing = rows_by_chunk(np.sort(gone), len(self._there.slices) + 1)
        self.counters.drops += self._there.drop(stored)
        stays = np.ones(len(new), np.bool_)
        stays[passing] = False
        self._there.append(new.batch.where(stays))


class CountRowsOp(NumberedRowsOp):
    """Keeps the newest rows of a stream, and takes back the others."""

    kind = "count-rows"

    def __init__(self, node: CountRows) -> None:
        super().__init__(node)
        self._kept = list(dict.fromkeys([*self._shown, *node.partition]))

    def _entered(self, rows: ChangeBatch) -> ChangeBatch:
        """Takes rows in their order; gives them, and what they push out."""
        numbers = self._numbers_of(len(rows))
        new = ChangeBatch(select(rows.columns, self._kept), rows.times, numbers)
        divides = self._divided_window if self._node.partition else self._whole_window
        leaving, exits = divides(Chunk(new, numbers))
        comes = ChangeBatch(
            select(rows.columns, self._shown), rows.times, None, np.ones(len(rows), np.int8)
        )
        if not len(exits):
            return comes
        times = rows.times[exits - numbers[0]]
        goes = ChangeBatch(
            select(leaving, self._shown), times, None, np.full(len(exits), -1, np.int8)
        )
        changes = concat([goes, comes])
        return changes.sorted_by(changes.times)

    def _whole_window(self, new: Chunk) -> tuple[pa.RecordBatch, Int64s]:
        """Takes rows in; gives those that leave, and the number of the row that each leaves with.

        Without PARTITION BY the oldest leave, and numbers tell which these are.
        """
        self._there.append(new.batch)
        leaving = self._there.pop_below(self._numbers[NEXT_NUMBER] - self._node.rows)
        if leaving is None:
            return new.batch.columns.slice(0, 0), np.zeros(0, np.int64)
        self.counters.drops += len(leaving)
        return leaving.columns, leaving.ends_or_never() + self._node.rows

    def _divided_window(self, new: Chunk) -> tuple[pa.RecordBatch, Int64s]:
        """The same with PARTITION BY: rows leave from the middle."""
        slices = self._there.slices
        divided = divided_by(slices, new, self._node.partition)
        self.counters.comparisons += len(divided.places)
        exits = partition_exits(divided.partitions, divided.numbers, self._node.rows)
        leaves = np.flatnonzero(exits != NEVER)
        places = divided.places[leaves]
        if not len(places):
            self._there.append(new.batch)
            return new.batch.columns.slice(0, 0), exits[leaves]
        all_chunks = [*(part.chunk for part in slices), new]
        leaving = Places(places).columns(lambda at: all_chunks[at].batch.columns)
        self._replace(new, places)  # what comes and leaves in one step is never stored
        return leaving, exits[leaves]


class NewestChangesOp(NumberedRowsOp):
    """Keeps the rows of a changelog that are there, and shows the newest of them."""

    kind = "newest-changes"

    def __init__(self, node: CountChanges) -> None:
        super().__init__(node)
        self._compared = node.input.schema.names

    def _entered(self, changes: ChangeBatch) -> ChangeBatch:
        """Applies changes, which are in the one order; gives what enters and leaves."""
        is_delete = changes.signs_or_insert() < 0
        coming = np.flatnonzero(~is_delete)
        numbers = self._numbers_of(len(coming))
        came = changes.take(coming)
        new = Chunk(ChangeBatch(came.columns, came.times, numbers), numbers)
        places = self._places_of(changes, is_delete, coming)
        slices = list(self._there.slices)
        deleted = places[is_delete]
        looked_at = self._looked_at(slices, new, changes, deleted)
        stored = len(looked_at) - len(new)
        chunks = [*(part.chunk for part in slices), new]
        event_rows = np.searchsorted(looked_at, places)
        order = np.lexsort((is_delete, changes.times))  # of one instant, what comes is first
        # Too old to be in the window, whatever leaves it: such a delete is not seen.
        at = np.minimum(event_rows[order], max(len(looked_at) - 1, 0))
        order = order[looked_at[at] == places[order]]
        slots, slot_count = self._partitions(looked_at, chunks)
        moves = window_moves(
            slots,
            stored,
            event_rows[order],
            np.ascontiguousarray(is_delete[order]),
            slot_count,
            self._node.rows,
        )
        self.counters.comparisons += stored
        self._replace(new, deleted)
        times = changes.times[order][moves.events]
        return self._given(looked_at[moves.rows], moves.signs, times, chunks)

    def _places_of(
        self, changes: ChangeBatch, is_delete: NDArray[np.bool_], coming: Int64s
    ) -> Int64s:
        """Where the row is that each change is of; what comes now is in the chunk after all stored."""
        now = len(self._there.slices)
        places = np.full(len(changes), NOTHING, np.int64)
        places[coming] = (now << ROW_BITS) + np.arange(len(coming))
        if not is_delete.any():
            return places
        self.counters.probes += int(np.count_nonzero(is_delete))
        found = find_deleted(
            self._there.slices,
            changes,
            self._compared,
            lambda times: np.full(len(times), MAX_TICK, np.int64),
            MAX_TICK,
        )
        taken, stored = found.taken[is_delete], len(found.places)
        if (taken == NOTHING).any():
            raise InternalError(
                "wrong-state", f"a row of {self._node.alias} goes that is not in its count window"
            )
        of_before, deletes = taken < stored, np.flatnonzero(is_delete)
        places[deletes[of_before]] = found.places[taken[of_before]]
        places[deletes[~of_before]] = places[taken[~of_before] - stored]
        return places

    def _looked_at(
        self, slices: list[ChunkSlice], new: Chunk, changes: ChangeBatch, deleted: Int64s
    ) -> Int64s:
        """The places of rows that may be in a window that changes, and of those that come; in order."""
        coming = (len(slices) << ROW_BITS) + np.arange(len(new))
        if self._node.partition:
            names = self._node.partition
            wanted = np.unique(partition_words(changes, names))
            return np.concatenate([places_of_partitions(slices, names, wanted), coming])
        parts, missing = [coming], self._node.rows + len(deleted)
        for at in range(len(slices) - 1, -1, -1):
            if missing > 0:
                newest = _newest_of(slices[at], missing)
                parts.append((at << ROW_BITS) + newest)
                missing -= len(newest)
        return np.concatenate(parts[::-1])

    def _partitions(self, places: Int64s, chunks: Sequence[Chunk]) -> tuple[Int64s, int]:
        """Per row the partition that it is of, and how many there are."""
        if not self._node.partition or not len(places):
            return np.zeros(len(places), np.int64), 1
        keys = Places(places).columns(
            lambda at: chunks[at].batch.columns.select(list(self._node.partition))
        )
        directory = KeyDirectory()
        return writable(directory.slots_of(keys.columns)), directory.slot_count

    def _given(
        self, places: Int64s, signs: NDArray[np.int8], times: Int64s, chunks: Sequence[Chunk]
    ) -> ChangeBatch:
        """The rows at some places, shown as changes."""
        if not len(places):
            return ChangeBatch(select(chunks[-1].batch.columns.slice(0, 0), self._shown), times)
        columns = Places(places).columns(lambda at: select(chunks[at].batch.columns, self._shown))
        return ChangeBatch(columns, times, None, signs)


def _newest_of(part: ChunkSlice, count: int) -> Int64s:
    """The newest rows alive of a slice's chunk, so many or all of them, ascending."""
    size = count
    while True:
        start = max(part.skip, len(part.chunk) - size)
        rows = np.arange(start, len(part.chunk))
        rows = rows[~part.is_gone(rows)]
        if len(rows) >= count or start == part.skip:
            return rows[max(0, len(rows) - count) :]
        size *= 2
