"""A source outside, followed: its rows as batches of a stream, and how far a query has read it.

A reader's thread is ahead of the query, so that what is read is not what was taken. Every batch leaves a
mark, how many rows were read up to its end, and which offsets that is:

    read      |---- 500 ----|-- 300 --|------ 700 ------|        marks 0, 500, 800, 1500
    taken     |=============|====                                600 rows: the batch that begins at 500

A query that is stopped in the middle of a batch goes on in the same batch: the offsets of both its ends
are kept, for there may be more to read by then.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.errors import DataError
from windrow.io.protocol import FEW_ROWS, Aside, Connector, Json, Offsets, Source, source_of
from windrow.operators.columns.arrow_types import arrow_schema
from windrow.run.local.sources import NOTHING_NOW, BatchReader, Silence


@dataclass(frozen=True)
class Mark:
    """Rows read of a stream up to the end of a batch, the offsets there, and what is no row in it."""

    rows: int
    offsets: Offsets
    aside: Sequence[Aside] = ()


@dataclass(frozen=True)
class Place:
    """How far a query has taken a source: all up to `taken`, and some of what lies before `reading`."""

    taken: Offsets
    reading: Offsets | None = None

    def to_json(self) -> Json:
        """As a checkpoint keeps it."""
        reading = None if self.reading is None else dict(self.reading)
        return {"taken": dict(self.taken), "reading": reading}

    @classmethod
    def from_json(cls, told: Json) -> Place:
        """What `to_json` has made."""
        return cls(told["taken"], told["reading"])


def not_by_rows(stream: str) -> DataError:
    """The error of resuming by a checkpoint that has no offsets."""
    return DataError(
        "resume-by-rows",
        f"{stream} is read by offsets, and the checkpoint counts its rows",
        reason="rows that were read are not skipped by their number where they come from outside",
        hint="let run(.., to=.., checkpoint='folder') keep the checkpoint, and go on with the same call",
    )


class FollowedSource(BatchReader):
    """A stream that is read from a source outside, as far as there is data, and then as it comes.

    Args:
        name: the stream's.
        outside: where its rows are. Each query opens a connector for itself; a source that a user has
            made serves one at a time.
        columns: those that a query was planned by; those that the source has if None.
        patiently: calls something outside, again and again while it does not answer; for the thread
            that reads.
        until_done: whether it is read no further where there is nothing more now.
        ends: whether the stream has ended there; else more may come, to a later run.
        most_rows: about so many rows make a batch.

    Attributes:
        is_dry: whether there was nothing more, and it is read no further.
    """

    may_block = True

    def __init__(
        self,
        name: str,
        outside: Connector | Source,
        *,
        columns: pa.Schema | None = None,
        patiently: Callable[[Callable[[], Any]], Any] = lambda call: call(),
        until_done: bool = False,
        ends: bool = False,
        most_rows: int = FEW_ROWS,
    ) -> None:
        self.outside = source_of(outside)
        self._outside = outside
        self.is_cut_by_arrival = self.outside.is_cut_by_arrival
        found = self.outside.columns()  # so it has looked at what is there before a sink writes
        self._columns = found if columns is None else columns
        super().__init__(name, self._columns)
        self._patiently = patiently
        self._until_done = until_done
        self._ends = ends
        self.is_dry = False
        self._most_rows = most_rows
        self._from: Place | None = None
        self._marks: deque[Mark] = deque()
        self._lock = threading.Lock()

    def anew(
        self,
        *,
        patiently: Callable[[Callable[[], Any]], Any] = lambda call: call(),
        until_done: bool = False,
        ends: bool = False,
    ) -> FollowedSource:
        """The same stream for a query of its own, with the columns that it was planned by."""
        return FollowedSource(
            self._name,
            self._outside,
            columns=self._columns,
            patiently=patiently,
            until_done=until_done,
            ends=ends,
        )

    def for_query(self) -> FollowedSource:
        """One that follows the outside by itself."""
        return self.anew()

    def end_here(self) -> None:
        """Has the stream end where there is nothing more now."""
        self._ends = True
        self._until_done = True

    def go_on_from(self, place: Place, rows: int) -> None:
        """Is told where to begin, and how many rows were taken up to there."""
        self._from = place
        self._marks = deque([Mark(rows, place.taken)])

    def batches(self, time: str | None, skip: int) -> Iterator[pa.RecordBatch | Silence]:
        """What there is, batch by batch; rows taken before (`skip`) lie before the offsets."""
        del time
        if self._from is None and skip:
            raise not_by_rows(self._name)
        place = self._from or Place(self._patiently(self.outside.start))
        since, ahead, rows = place.taken, place.reading, skip
        self._marks = self._marks or deque([Mark(rows, since)])
        try:
            while True:
                # Asked before the look: what was there when it was told to end here is read.
                is_last, ends = self._until_done, self._ends
                end = ahead or self._patiently(lambda: self.outside.latest(since, self._most_rows))  # noqa: B023
                ahead = None
                if end == since:
                    is_over = self.outside.has_ended(since)
                    self.is_dry = is_over or is_last
                    if is_over or (is_last and ends):
                        return
                    yield NOTHING_NOW
                    continue
                batch = self._patiently(lambda: self._read(since, end))  # noqa: B023
                rows, since = rows + batch.num_rows, end
                with self._lock:
                    self._marks.append(Mark(rows, since, self.outside.take_aside()))
                yield batch
        finally:
            self.outside.close()

    def place(self, rows: int, *, is_within: bool) -> tuple[Place, list[Aside]]:
        """Where the source stands when so many rows were taken, and what was aside up to there.

        Args:
            rows: taken in whole batches.
            is_within: whether some rows of the batch behind these were taken too.
        """
        with self._lock:
            aside: list[Aside] = []
            while len(self._marks) > 1 and self._marks[1].rows <= rows:
                self._marks.popleft()
                aside += self._marks[0].aside
            taken = self._marks[0].offsets
            reading = self._marks[1].offsets if is_within and len(self._marks) > 1 else None
        return Place(taken, reading), aside

    def _read(self, since: Offsets, end: Offsets) -> pa.RecordBatch:
        """All rows between two offsets, partition by partition, as one batch."""
        self.outside.take_aside()  # of a try that was broken off
        parts = [
            self._shape.fit(pa.Table.from_batches([part]))
            for partition, reached in end.items()
            if reached != since.get(partition)
            for part in self.outside.read(partition, since.get(partition), reached)
        ]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return pa.RecordBatch.from_pylist([], schema=arrow_schema(self.schema))
        return pa.concat_batches(parts)


def table_at(name: str, outside: Source) -> pa.Table:
    """All rows that a source has, for a table.

    Raises:
        DataError: something there is no row, for which a table has no place aside.
    """
    whole = FollowedSource(name, outside, until_done=True, ends=True)
    batches = [batch for batch in whole.batches(None, 0) if isinstance(batch, pa.RecordBatch)]
    _, aside = whole.place(sum(batch.num_rows for batch in batches), is_within=False)
    if aside:
        raise DataError(
            "aside-of-table",
            f"the table {name} has {len(aside):,} records that could not be read as rows",
            reason=f"the first, at {aside[0].offset}: {aside[0].why}",
            hint="mend them, or leave them out where the table is kept; only streams have a place aside",
        )
    return pa.Table.from_batches(batches, arrow_schema(whole.schema))
