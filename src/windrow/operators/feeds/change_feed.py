"""A stream of changes as the relation that it describes: each delete finds the row it takes back.

The rows of a change feed say "this row comes" and "a row like this goes". What a delete means for
others, above all when the row would have ended by itself, only its row knows:

    feed, [RANGE 10]    + A at 3            - A at 7
    relation            + A [3, 14)         - A [7, 14)       together  A [3, 7)

1. `push` stores changes in `arriving`, ordered by time: below the watermark more may still come.
2. `advance(W)` takes the changes below W. Rows that are there and equal to one that is deleted are
   looked up by the words of their columns, chunk by chunk (`partition_rows`): a step costs the
   changes, and the rows equal to a deleted one, whatever is there besides.
3. Each delete takes back the newest equal row (`kernels/change_feed.py`) and comes out with that
   row's end and that row's event time in the time column. One that finds none is ignored where its
   row may have ended before, late where rows were, and bad data otherwise.

State: the rows that are there, without the time column, which their event time tells; and what has
arrived from the watermark on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import DataError
from windrow.kernels.change_feed import NOTHING, rows_taken_back
from windrow.kernels.jit import writable
from windrow.operators.columns.arrow_types import instants, show_instant
from windrow.operators.columns.changes import ROW_BITS, ROW_MASK, ChangeBatch, Places, select
from windrow.operators.columns.chunks import Chunk, ChunkBuffer, bound_of_step
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.engine.base import Operator, Snapshot
from windrow.operators.routing.partition_rows import partition_words, rows_of_partitions
from windrow.physical.nodes.resolve_changes import ResolveChanges
from windrow.schema import MAX_TICK, MIN_TICK

STEP_ROWS = 1 << 17
"""About how many changes are taken at once."""

FIRST, LOST = "first", "lost"

Numbers = NDArray[np.int64]


class ResolveChangesOp(Operator):
    """Resolves the deletes of a stream of changes."""

    kind = "change-feed"

    def __init__(self, node: ResolveChanges) -> None:
        super().__init__()
        self._node = node
        self._lasts = MAX_TICK if node.ticks is None else min(node.ticks, MAX_TICK - 1) + 1
        self._arriving = ChunkBuffer("time")
        self._there = ChunkBuffer("time")
        self._first = MAX_TICK
        self._has_lost = False

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Stores the changes; gives nothing."""
        (batch,) = batches
        if batch is not None and len(batch):
            self.counters.rows_in += len(batch)
            columns = select(batch.columns, self._node.compared)
            self._arriving.append(ChangeBatch(columns, batch.times, None, batch.signs))
            self._measure()
        return iter(())

    def lose(self, rows: int) -> None:
        """Late inserts are not there to be deleted: from now on their deletes are late as well."""
        self._has_lost = self._has_lost or rows > 0

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the changes below the watermark, each delete with the end of its row."""
        while self._arriving.first < watermark:
            rows = self._arriving.pop_below(bound_of_step([self._arriving], watermark, STEP_ROWS))
            assert rows is not None
            yield from self._resolved(rows)
        if self._node.ticks is not None:
            self.counters.drops += self._there.drop_below(self._last_alive(watermark))
        self._measure()

    def due(self) -> int:
        """One tick after the first change that waits; or as the first row ends."""
        arrives = self._arriving.first + 1 if self._arriving.slices else MAX_TICK
        ends = MAX_TICK
        if self._there.slices and self._there.first < MAX_TICK - self._lasts:
            ends = self._there.first + self._lasts
        return min(arrives, ends)

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The changes that wait, and the rows that are there."""
        return (self._arriving, self._there)

    def snapshot(self) -> Snapshot:
        """The changes that wait, the rows that are there, and when the first change was."""
        buffers = {"arriving": tuple(self._arriving.slices), "there": tuple(self._there.slices)}
        return Snapshot(self.kind, buffers, {FIRST: self._first, LOST: int(self._has_lost)})

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back."""
        snapshot.check_kind(self.kind)
        self._arriving = ChunkBuffer("time", snapshot.buffers["arriving"])
        self._there = ChunkBuffer("time", snapshot.buffers["there"])
        self._first = snapshot.numbers[FIRST]
        self._has_lost = bool(snapshot.numbers[LOST])
        self._measure()

    def _last_alive(self, watermark: int) -> int:
        """The least event time of a row that a delete from the watermark on may still find."""
        if watermark == MAX_TICK:
            return MAX_TICK
        return max(MIN_TICK, watermark - self._lasts + 1)

    def _resolved(self, rows: ChangeBatch) -> Iterator[ChangeBatch]:
        """Takes changes in the order of their instants; what they mean comes out."""
        self._first = min(self._first, int(rows.times[0]))
        signs = rows.signs_or_insert()
        rows = rows.take(np.lexsort((signs, rows.times)))
        is_delete = rows.signs_or_insert() < 0
        times, ends = rows.times.copy(), self._ends(rows.times)
        is_resolved = np.ones(len(rows), np.bool_)
        is_kept = ~is_delete
        if is_delete.any():
            places, stored, taken = self._taken_back(rows, ends)
            self._refuse(rows, is_delete & (taken == NOTHING))
            is_resolved = ~is_delete | (taken != NOTHING)
            # A row taken back is one of those there before, or of those that come now.
            deletes = np.flatnonzero(taken != NOTHING)
            of_before = deletes[taken[deletes] < len(places)]
            of_now = deletes[taken[deletes] >= len(places)]
            times[of_before] = stored[taken[of_before]]
            times[of_now] = rows.times[taken[of_now] - len(places)]
            ends[deletes] = self._ends(times[deletes])
            is_kept[taken[of_now] - len(places)] = False
            self._take_out(places[taken[of_before]])
        kept = rows.take(np.flatnonzero(is_kept))
        self._there.append(ChangeBatch(kept.columns, kept.times))
        given = np.flatnonzero(is_resolved)
        if len(given):
            self.counters.rows_out += len(given)
            yield self._shown(rows.take(given), times[given], ends[given])

    def _taken_back(self, rows: ChangeBatch, ends: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """The places and times of rows there that equal a deleted one; what each change takes back."""
        names = self._node.compared
        signs = rows.signs_or_insert()
        words = partition_words(Chunk(rows, rows.times), names)
        wanted = np.unique(words[signs < 0])
        chosen = [rows_of_partitions(part, names, wanted) for part in self._there.slices]
        places = np.concatenate(
            [np.zeros(0, np.int64), *((at << ROW_BITS) + own for at, own in enumerate(chosen))]
        )
        asked = np.flatnonzero(np.isin(words, wanted))
        self.counters.probes += int(np.count_nonzero(signs < 0))
        self.counters.comparisons += len(places)
        own = select(rows.columns, names).take(pa.array(asked))
        stored = np.zeros(0, np.int64)
        if len(places):
            found = Places(places)
            before = found.columns(lambda at: self._there.slices[at].chunk.batch.columns)
            stored = found.numbers(lambda at: self._there.slices[at].chunk.keys)
            own = pa.concat_batches([before, own])
        directory = KeyDirectory()
        slots = directory.slots_of(own.columns)
        taken = rows_taken_back(
            writable(slots),
            np.concatenate([stored, rows.times[asked]]),
            np.concatenate([self._ends(stored), ends[asked]]),
            np.concatenate([np.zeros(len(places), np.bool_), signs[asked] < 0]),
            len(places),
            directory.slot_count,
            self._may_have_ended,
        )[len(places) :]
        # From positions among those asked to positions among all changes.
        of_now = taken >= len(places)
        taken[of_now] = asked[taken[of_now] - len(places)] + len(places)
        result = np.full(len(rows), NOTHING, np.int64)
        result[asked] = taken
        return places, stored, result

    def _take_out(self, places: Numbers) -> None:
        """Drops rows from where they are stored."""
        if len(places):
            ordered = np.sort(places)
            chunks, rows = ordered >> ROW_BITS, ordered & ROW_MASK
            self.counters.drops += self._there.drop(
                [rows[chunks == at] for at in range(len(self._there.slices))]
            )

    def _ends(self, times: Numbers) -> Numbers:
        """The first instant at which rows that came at some times are gone."""
        if self._lasts == MAX_TICK:
            return np.full(len(times), MAX_TICK, np.int64)
        ends: Numbers = np.minimum(times, MAX_TICK - self._lasts) + self._lasts
        return ends

    def _shown(self, rows: ChangeBatch, came: Numbers, ends: Numbers) -> ChangeBatch:
        """Changes with the columns of the node; in the time column, when the row came."""
        node = self._node
        arrays = [
            instants(came, node.time_type) if name == node.time else rows.columns.column(name)
            for name in node.schema.names
        ]
        columns = pa.RecordBatch.from_arrays(arrays, names=list(node.schema.names))
        return ChangeBatch(
            columns, rows.times, None if node.ticks is None else ends, rows.signs_or_insert()
        )

    def _refuse(self, rows: ChangeBatch, is_unmatched: NDArray[np.bool_]) -> None:
        """Raises for the first delete of a row that cannot have been there."""
        unmatched = np.flatnonzero(is_unmatched & (rows.times < self._may_have_ended))
        if self._has_lost:
            self.counters.late += len(unmatched)
        elif len(unmatched):
            at = show_instant(int(rows.times[unmatched[0]]), self._node.time_type)
            raise DataError(
                "delete-without-row",
                f"a change of {self._node.alias} at {at} deletes a row that is not there",
                reason="a delete takes back an equal row, apart from its time, that was inserted "
                "at its instant or before",
                hint="check that the changelog is complete and starts with its inserts",
            )

    @property
    def _may_have_ended(self) -> int:
        """The first instant at which some row may have left its window: the first row has."""
        return int(self._ends(np.array([self._first]))[0])

    def _measure(self) -> None:
        self.counters.stored = self._arriving.rows + self._there.rows
        self.counters.state_bytes = self._arriving.nbytes + self._there.nbytes
