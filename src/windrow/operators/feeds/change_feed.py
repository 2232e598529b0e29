"""A stream of changes as the relation that it describes: each delete finds the row it takes back.

The rows of a change feed say "this row comes" and "a row like this goes". What a delete means for
others, above all when the row would have ended by itself, only its row knows:

    feed, [RANGE 10]    + A at 3            - A at 7
    relation            + A [3, 14)         - A [7, 14)       together  A [3, 7)

1. `push` stores changes in `arriving`, ordered by time: below the watermark more may still come.
2. `advance(W)` takes the changes below W. Rows that are there and equal to one that is deleted are
   looked up by the words of their columns, chunk by chunk (`keyed_rows`): a step costs the
   changes, and the rows equal to a deleted one, whatever is there besides.
3. Each delete takes back the newest equal row (`kernels/change_feed.py`) and comes out with that
   row's end and that row's event time in the time column. One that finds none is ignored where its
   row may have ended before, late where rows were, and bad data otherwise.

State: the rows that are there, without the time column, which their event time tells; and what has
arrived from the watermark on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import DataError
from windrow.kernels.change_feed import NOTHING, rows_taken_back
from windrow.kernels.jit import writable
from windrow.operators.columns.arrow_types import instants, show_instant
from windrow.operators.columns.changes import ChangeBatch, Places, rows_by_chunk, select
from windrow.operators.columns.chunks import ChunkBuffer, ChunkSlice
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.engine.base import SteppingOp
from windrow.operators.joins.join_inputs import last_needed
from windrow.operators.joins.keyed_rows import partition_words, places_of_partitions
from windrow.physical.nodes.feeds import ResolveChanges
from windrow.schema import MAX_TICK

FIRST, LOST = "first", "lost"

_LONGEST_ROW = 300
"""Characters of a row that an error shows."""

Int64s = NDArray[np.int64]


class ResolveChangesOp(SteppingOp):
    """Resolves the deletes of a stream of changes.

    Beside rows it stores when the first change was, and whether late rows were lost.
    """

    kind = "change-feed"

    def __init__(self, node: ResolveChanges) -> None:
        self._node = node
        self._lasts = MAX_TICK if node.ticks is None else min(node.ticks, MAX_TICK - 1) + 1
        self._arriving, self._there = ChunkBuffer("time"), ChunkBuffer("time")
        buffers = {"arriving": self._arriving, "there": self._there}
        super().__init__(buffers, {FIRST: MAX_TICK, LOST: 0})

    def _admit(self, port: int, batch: ChangeBatch) -> None:  # noqa: ARG002
        columns = select(batch.columns, self._node.compared)
        self._arriving.append(ChangeBatch(columns, batch.times, None, batch.signs))

    def lose(self, rows: int) -> None:
        """Late inserts are not there to be deleted: from now on their deletes are late as well."""
        self._numbers[LOST] |= int(rows > 0)

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the changes below the watermark, each delete with the end of its row."""
        yield from super().advance(watermark)
        if self._node.ticks is not None:
            self.counters.drops += self._there.drop_below(last_needed(watermark, self._lasts - 1))
            self._measure()

    def due(self) -> int:
        """One tick after the first change that waits; or as the first row ends."""
        ends = MAX_TICK
        if self._there.first < MAX_TICK - self._lasts:
            ends = self._there.first + self._lasts
        return min(super().due(), ends)

    def _timed(self) -> Sequence[ChunkBuffer]:
        return (self._arriving,)

    def _step(self, bound: int) -> ChangeBatch | None:
        """Takes changes in the order of their instants; what they mean comes out."""
        rows = self._arriving.pop_below(bound)
        assert rows is not None
        self._numbers[FIRST] = min(self._numbers[FIRST], int(rows.times[0]))
        signs = rows.signs_or_insert()
        rows = rows.take(np.lexsort((signs, rows.times)))
        is_delete = rows.signs_or_insert() < 0
        times, ends = rows.times.copy(), self._ends(rows.times)
        is_resolved = np.ones(len(rows), np.bool_)
        is_kept = ~is_delete
        if is_delete.any():
            until = self._may_have_ended
            found = find_deleted(self._there.slices, rows, self._node.compared, self._ends, until)
            places, taken = found.places, found.taken
            self.counters.probes += int(np.count_nonzero(is_delete))
            self.counters.comparisons += len(places)
            self._refuse(rows, is_delete & (taken == NOTHING))
            is_resolved = ~is_delete | (taken != NOTHING)
            # A row taken back is one of those there before, or of those that come now.
            deletes = np.flatnonzero(taken != NOTHING)
            of_before = deletes[taken[deletes] < len(places)]
            of_now = deletes[taken[deletes] >= len(places)]
            times[of_before] = found.times[taken[of_before]]
            times[of_now] = rows.times[taken[of_now] - len(places)]
            ends[deletes] = self._ends(times[deletes])
            is_kept[taken[of_now] - len(places)] = False
            gone = rows_by_chunk(np.sort(places[taken[of_before]]), len(self._there.slices))
            self.counters.drops += self._there.drop(gone)
        kept = rows.where(is_kept)
        self._there.append(ChangeBatch(kept.columns, kept.times))
        given = np.flatnonzero(is_resolved)
        return self._shown(rows.take(given), times[given], ends[given]) if len(given) else None

    def _ends(self, times: Int64s) -> Int64s:
        """The first instant at which rows that came at some times are gone."""
        if self._lasts == MAX_TICK:
            return np.full(len(times), MAX_TICK, np.int64)
        ends: Int64s = np.minimum(times, MAX_TICK - self._lasts) + self._lasts
        return ends

    def _shown(self, rows: ChangeBatch, came: Int64s, ends: Int64s) -> ChangeBatch:
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
        if self._numbers[LOST]:
            self.counters.late += len(unmatched)
        elif len(unmatched):
            first = int(unmatched[0])
            at = show_instant(int(rows.times[first]), self._node.time_type)
            row = select(rows.columns, self._node.compared).slice(first, 1)
            raise DataError(
                "delete-without-row",
                f"a change of {self._node.alias} at {at} deletes a row that is not there",
                reason="a delete takes back an equal row, apart from its time, that was inserted "
                f"at its instant or before; it deletes {_shown_row(row)}",
                hint="check that the changelog is complete and starts with its inserts, that none of "
                "them was kept aside, and that a database logs whole rows and not only their keys "
                "(PostgreSQL: REPLICA IDENTITY FULL)",
            )

    @property
    def _may_have_ended(self) -> int:
        """The first instant at which some row may have left its window: the first row has."""
        return int(self._ends(np.array([self._numbers[FIRST]]))[0])


def _shown_row(row: pa.RecordBatch) -> str:
    """The one row of a batch, as a message has it.

    Examples:
        >>> _shown_row(pa.record_batch({"id": [1], "name": pa.array([None], pa.string())}))
        'id=1, name=NULL'
    """
    text = ", ".join(
        f"{name}={_shown_value(column[0])}"
        for name, column in zip(row.schema.names, row.columns, strict=True)
    )
    return text if len(text) <= _LONGEST_ROW else f"{text[:_LONGEST_ROW]} .."


def _shown_value(value: pa.Scalar) -> str:
    if not value.is_valid:
        return "NULL"
    try:
        return repr(value.as_py())
    except (OverflowError, ValueError):
        return "a value that Python cannot hold"  # such as a year beyond 9999


class Deleted(NamedTuple):
    """Which rows deletes take back.

    Attributes:
        places: where the rows there are that equal a deleted one.
        times: when these came.
        taken: per change the row that it takes back: the number of one of these, or, from their
            number on, of another change; NOTHING for none, and for a row that comes.
    """

    places: Int64s
    times: Int64s
    taken: Int64s


def find_deleted(
    there: Sequence[ChunkSlice],
    changes: ChangeBatch,
    names: Sequence[str],
    ends_of: Callable[[Int64s], Int64s],
    until: int,
) -> Deleted:
    """Finds the row that each delete takes back: the newest that is equal, of those there or that come.

    Args:
        there: the rows that are there.
        changes: what comes and goes, in the order of time.
        names: the columns by which rows are equal.
        ends_of: when rows end that came at some times.
        until: the first instant at which some row may have ended.
    """
    is_delete = changes.signs_or_insert() < 0
    words = partition_words(changes, names)
    wanted = np.unique(words[is_delete])
    places = places_of_partitions(there, tuple(names), wanted)
    asked = np.flatnonzero(np.isin(words, wanted))
    # Of one instant `rows_taken_back` wants deletes first; it looks at inserts after them.
    asked = asked[np.lexsort((~is_delete[asked], changes.times[asked]))]
    columns = select(changes.columns, names).take(pa.array(asked))
    times = np.zeros(0, np.int64)
    if len(places):
        found = Places(places)
        before = found.columns(lambda at: select(there[at].chunk.batch.columns, names))
        times = found.numbers(lambda at: there[at].chunk.batch.times)
        columns = pa.concat_batches([before, columns])
    directory = KeyDirectory()
    slots = writable(directory.slots_of(columns.columns))
    came = np.concatenate([times, changes.times[asked]])
    goes = np.concatenate([np.zeros(len(places), np.bool_), is_delete[asked]])
    taken = rows_taken_back(
        slots, came, ends_of(came), goes, len(places), directory.slot_count, until
    )[len(places) :]
    # From positions among those asked to positions among all changes.
    of_now = taken >= len(places)
    taken[of_now] = asked[taken[of_now] - len(places)] + len(places)
    result = np.full(len(changes), NOTHING, np.int64)
    result[asked] = taken
    return Deleted(places, times, result)
