"""Change batches, the one language between operators, and rows picked out of several at once.

A change batch is a set of rows with, for each row,

    time   the instant the change becomes true, in ticks
    end    the instant it ceases to be true (MAX_TICK: never)
    sign   +1 the row comes, -1 it goes

    alive:   [time, end)        a [RANGE w] tuple: end = time + w + 1

The one law: changes are linear. A row adds `sign` copies of its columns to the relation at every
instant in [time, end), and the relation at an instant is the sum over all rows. Two sets of rows
with the same sums at every instant are the same relation, however they are cut:

    + [t, e)      and   - [t', e)          is   + [t, t')      a delete ends with the row it takes back
    + [t, never)  and   - [t', never)      is   + [t, t')      signs alone: what aggregates give

So a row is two events: `sign` at its time, `-sign` at its end; one with end <= time is none. A join
is linear in each input: a combination has the greatest time, the least end and the product of the
signs of its rows.

A plain stream has no ends and no signs (None stands for "all alike"), and costs nothing extra.

**Places** name rows of several chunks. A place is one number: the chunk's position in a list, then
the row within it.

    place = chunk << 32 | row

Gathering costs what is gathered: each chunk that occurs gives its rows by one `take`, and the
chunks as a whole are never joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.schema import END, MAX_TICK, SIGN, TIME

TUPLES = "__tuples"
"""The column of merged rows that says how many tuples each stands for (`merged_rows.py`)."""

POOL = pa.system_memory_pool()
"""Where copies of rows are made. Arrow's default gives what is freed back to the system within
milliseconds; steps of a query would have the same pages cleared for them over and over."""


@dataclass(frozen=True, init=False)
class ChangeBatch:
    """Rows with event times, and ends and signs where they differ from row to row."""

    columns: pa.RecordBatch
    times: NDArray[np.int64]
    ends: NDArray[np.int64] | None = None
    signs: NDArray[np.int8] | None = None

    def __init__(
        self,
        columns: pa.RecordBatch,
        times: NDArray[np.int64],
        ends: NDArray[np.int64] | None = None,
        signs: NDArray[np.int8] | None = None,
    ) -> None:
        # A small batch makes a dozen of these: what is written for a frozen class takes twice the time.
        own = self.__dict__
        own["columns"], own["times"], own["ends"], own["signs"] = columns, times, ends, signs

    def __len__(self) -> int:
        return len(self.times)

    def take(self, rows: NDArray[np.int64]) -> ChangeBatch:
        """The given rows, in the given order."""
        return ChangeBatch(
            take_columns(self.columns, rows),
            self.times[rows],
            None if self.ends is None else self.ends[rows],
            None if self.signs is None else self.signs[rows],
        )

    def where(self, is_meant: NDArray[np.bool_]) -> ChangeBatch:
        """The rows that are marked; the same batch where all are."""
        return self if is_meant.all() else self.take(np.flatnonzero(is_meant))

    def slice(self, start: int, stop: int) -> ChangeBatch:
        """Rows start to stop, without copying."""
        return ChangeBatch(
            self.columns.slice(start, stop - start),
            self.times[start:stop],
            None if self.ends is None else self.ends[start:stop],
            None if self.signs is None else self.signs[start:stop],
        )

    def sorted_by(self, keys: NDArray[np.int64]) -> ChangeBatch:
        """The rows in ascending order of `keys`, ties in their present order."""
        if len(keys) < 2 or bool(np.all(keys[:-1] <= keys[1:])):
            return self
        return self.take(np.argsort(keys, kind="stable"))

    def ends_or_never(self) -> NDArray[np.int64]:
        """The ends, MAX_TICK where rows never expire."""
        if self.ends is None:
            return np.full(len(self), MAX_TICK, np.int64)
        return self.ends

    def signs_or_insert(self) -> NDArray[np.int8]:
        """The signs, +1 where all rows are inserts."""
        return np.ones(len(self), np.int8) if self.signs is None else self.signs

    def tuples(self) -> NDArray[np.int64]:
        """How many tuples each row stands for: one, but where rows were merged."""
        if TUPLES not in self.columns.schema.names:
            return np.ones(len(self), np.int64)
        return _numbers(self.columns, TUPLES).astype(np.int64)

    def to_arrow(self) -> pa.RecordBatch:
        """One record batch: the columns, then time, end and sign where present."""
        arrays = [*self.columns.columns, pa.array(self.times)]
        names = [*self.columns.schema.names, TIME]
        if self.ends is not None:
            arrays.append(pa.array(self.ends))
            names.append(END)
        if self.signs is not None:
            arrays.append(pa.array(self.signs))
            names.append(SIGN)
        return pa.RecordBatch.from_arrays(arrays, names=names)

    @staticmethod
    def from_arrow(batch: pa.RecordBatch) -> ChangeBatch:
        """The inverse of `to_arrow`; times, ends and signs must hold no NULL."""
        names = batch.schema.names
        own = [name for name in names if name not in {TIME, END, SIGN}]
        return ChangeBatch(
            select(batch, own),
            _numbers(batch, TIME),
            _numbers(batch, END) if END in names else None,
            _numbers(batch, SIGN).astype(np.int8, copy=False) if SIGN in names else None,
        )


def _numbers(batch: pa.RecordBatch, name: str) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = batch.column(name).to_numpy(zero_copy_only=False)
    return numbers


def select(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """The named columns, in that order; `batch` keeps its length even with none of them."""
    if batch.schema.names == list(names):
        return batch
    return pa.RecordBatch.from_arrays(
        [batch.column(name) for name in names],
        schema=pa.schema([batch.schema.field(name) for name in names]),
    )


def take_columns(columns: pa.RecordBatch, rows: NDArray[np.int64]) -> pa.RecordBatch:
    """The given rows of every column."""
    if columns.num_columns == 0:
        return columns
    return pc.take(columns, pa.array(rows), memory_pool=POOL)


def concat(batches: Sequence[ChangeBatch]) -> ChangeBatch:
    """All rows of one or more batches of one schema, in order."""
    if len(batches) == 1:
        return batches[0]
    columns = [batch.columns for batch in batches]
    whole = (
        pa.concat_batches(columns, memory_pool=POOL)
        if columns[0].num_columns
        else columns[0]  # no columns: the length is that of the times
    )
    any_ends = [batch for batch in batches if batch.ends is not None]
    any_signs = [batch for batch in batches if batch.signs is not None]
    return ChangeBatch(
        whole,
        np.concatenate([batch.times for batch in batches]),
        np.concatenate([batch.ends_or_never() for batch in batches]) if any_ends else None,
        np.concatenate([batch.signs_or_insert() for batch in batches]) if any_signs else None,
    )


def no_rows(schema: pa.Schema) -> ChangeBatch:
    """A batch without rows."""
    return ChangeBatch(pa.RecordBatch.from_pylist([], schema), np.empty(0, np.int64))


def signs_alone(rows: ChangeBatch, times: NDArray[np.int64], factor: int = 1) -> ChangeBatch:
    """The rows as changes at some times, without ends; their signs times a factor, 1 or -1."""
    signs = (rows.signs_or_insert() * factor).astype(np.int8)
    return ChangeBatch(rows.columns, times, None, signs)


def in_time_order(rows: ChangeBatch) -> ChangeBatch:
    """The rows in the order of time; within an instant, those that go before those that come."""
    return rows.take(np.lexsort((rows.signs_or_insert(), rows.times)))


def counted(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers from 0 up to before each count, one row after another: of 2, 3 these are 0 1 0 1 2."""
    numbers: NDArray[np.int64] = np.arange(int(counts.sum()))
    return numbers - np.repeat(np.cumsum(counts) - counts, counts)


FEW = 16
"""Rows that are cut out of their chunks one by one, which takes a tenth of the time of a `take` each."""

ROW_BITS = 32
ROW_MASK = (1 << ROW_BITS) - 1

Int64s = NDArray[np.int64]
Item = TypeVar("Item", bound=np.generic)


def rows_by_chunk(places: Int64s, chunks: int) -> list[Int64s]:
    """Per chunk of so many, its rows at some places."""
    owners, rows = places >> ROW_BITS, places & ROW_MASK
    return [rows[owners == at] for at in range(chunks)]


class Places:
    """Rows of a list of chunks, in any order, some perhaps several times."""

    def __init__(self, places: Int64s) -> None:
        self._chunks = (places >> ROW_BITS).astype(np.int16)
        self._rows = places & ROW_MASK

    def __len__(self) -> int:
        return len(self._rows)

    def columns(
        self, chunk: Callable[[int], pa.RecordBatch], names: Sequence[str] | None = None
    ) -> pa.RecordBatch:
        """The rows at these places; `chunk` gives the columns of a chunk, at least one.

        `names` are those that are wanted; None: all.
        """
        if len(self) <= FEW:
            places = zip(self._chunks.tolist(), self._rows.tolist(), strict=True)
            few = [chunk(at).slice(row, 1) for at, row in places]
            # A copy, of one row too: a slice would keep its whole chunk in memory.
            together = pa.concat_batches([*few, few[0].slice(0, 0)])
            return together if names is None else together.select(names)

        def taken(at: int) -> pa.RecordBatch:
            return chunk(at) if names is None else chunk(at).select(names)

        runs = [taken(at).take(pa.array(rows)) for at, rows in self._runs]
        whole = runs[0] if len(runs) == 1 else pa.concat_batches(runs)
        return whole if self._order is None else whole.take(pa.array(self._back))

    def numbers(self, chunk: Callable[[int], NDArray[Item]]) -> NDArray[Item]:
        """The numbers at these places; `chunk` gives those of a chunk."""
        return self.computed(lambda at, rows: chunk(at)[rows])

    def computed(self, of: Callable[[int, Int64s], NDArray[Item]]) -> NDArray[Item]:
        """What `of` gives for each place, told a chunk and rows of it."""
        taken = [of(at, rows) for at, rows in self._runs]
        whole = taken[0] if len(taken) == 1 else np.concatenate(taken)
        return whole if self._order is None else whole[self._back]

    @cached_property
    def _order(self) -> Int64s | None:
        """What brings the places into the order of their chunks; None if they are."""
        if bool(np.all(self._chunks[:-1] <= self._chunks[1:])):
            return None
        return np.argsort(self._chunks, kind="stable")  # 16-bit numbers: a radix sort

    @cached_property
    def _back(self) -> Int64s:
        assert self._order is not None
        back = np.empty_like(self._order)
        back[self._order] = np.arange(len(back))
        return back

    @cached_property
    def _runs(self) -> list[tuple[int, Int64s]]:
        """Each chunk that occurs, with the rows taken from it."""
        chunks, rows = self._chunks, self._rows
        if self._order is not None:
            chunks, rows = chunks[self._order], rows[self._order]
        cuts = np.flatnonzero(chunks[1:] != chunks[:-1]) + 1
        starts, stops = [0, *cuts.tolist()], [*cuts.tolist(), len(rows)]
        return [
            (int(chunks[start]), rows[start:stop])
            for start, stop in zip(starts, stops, strict=True)
        ]
