"""The rows of one input of a join while they are alive: what takes a row back ends it.

A join that met rows and what takes them back alike would find every version of a row with every
version of another, and all but a few of those pairs would undo one another. Here a row and what
takes it back are one row with an earlier end, before either is joined:

    + [t, end)            t |==========================| end
    - [t', end)                   t' |=================| end
    is                    t |=====|

1. Rows that come and are taken back in one push are made one (`netted`). Versions that follow one
   another within a push thus never meet.
2. What takes back a row that is kept already shortens it: [t, t') is kept, and [t', end) is what is
   gone of it, for the join to take back what it has formed.
3. What finds no row that ends when it does waits in `back`, with its sign. The sum of equal rows
   says what is there, however the rows came:

       kept          0 |===========| 8      (a row that never ended, taken back at 8)
       comes             5 -|=========..    one that takes it back, before
       comes                     8 |==..    one that undoes what took it back at 8
       sum           0 |===|
       is cut at           5                kept is what lies before the first change, gone is what
                                            lay behind it, new is the sum from there on

   With the watermark past its time, what still waits has taken back what never was.

State: `come`, the rows that have come, until their ends; `back`, those that wait for what they take
back. Both in the order of ends.

A join that keeps both instead forgets the pairs that say nothing any more (`take_back`):

    + [t, end)            t |==========================| end
    - [t', end)                   t' |=================| end
    together              t |========|

From t' on the two are nothing. Once the watermark has come to t', whatever may still come begins
later: neither row can add to any combination any more, and both are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.jit import writable
from windrow.kernels.retractions import NOBODY, stretches, taken_by
from windrow.operators.accumulators.base import nothing_to_delete
from windrow.operators.columns.changes import ChangeBatch, concat, counted, take_columns
from windrow.operators.columns.chunks import Chunk, ChunkBuffer, ChunkSlice
from windrow.operators.columns.key_columns import equal_values, key_words
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.joins.keyed_rows import word_index
from windrow.schema import MAX_TICK

Int64s = NDArray[np.int64]


class Met(NamedTuple):
    """What a push does to the rows kept: what is new, and what is no more; None for nothing."""

    new: ChangeBatch | None
    gone: ChangeBatch | None


class Equal(NamedTuple):
    """Rows of a buffer that are of some kinds: per row its kind, and per slice which rows."""

    kinds: Int64s
    rows: list[Int64s]
    batch: ChangeBatch


class AliveRows:
    """The rows of one input, each until it ends or is taken back.

    Args:
        come: chunks of rows to start with, as a snapshot kept them.
        back: chunks of rows that take back others, of these or such as are still to come.
    """

    def __init__(self, come: Iterable[ChunkSlice] = (), back: Iterable[ChunkSlice] = ()) -> None:
        self.come, self.back = ChunkBuffer("end", come), ChunkBuffer("end", back)
        self.meet_again()

    def meet_again(self) -> None:
        """Lets rows of `back` find what they take back: some that a snapshot kept never looked."""
        back, self.back.slices = self.back.slices, []
        for part in back:
            left = self.meet(part.rows()).new  # what is gone has been joined
            if left is not None:
                self._keep(left)

    @property
    def slices(self) -> list[ChunkSlice]:
        """All rows kept."""
        return [*self.come.slices, *self.back.slices]

    @property
    def first_waiting(self) -> int:
        """The least time of a row that waits for what it takes back; MAX_TICK for none."""
        times = [int(part.rows().times.min()) for part in self.back.slices]
        return min(times, default=MAX_TICK)

    def meet(self, rows: ChangeBatch | None) -> Met:
        """Ends the rows kept that new ones take back; gives what is new, and what is gone.

        The new rows are not kept yet. They, and what is kept now, are all that is there; what was
        kept before is what is kept now, and what is gone.
        """
        if rows is None or not len(rows):
            return Met(None, None)
        if not self.back.slices and not (rows.signs_or_insert() < 0).any():
            return Met(rows, None)
        new = netted(rows)
        signs = new.signs_or_insert()
        coming, taking = (new.where(signs == sign) for sign in (1, -1))
        gone = []
        if len(taking):
            shortened, taking = self._shorten(taking)
            gone.append(shortened)
        if len(taking) or self.back.slices:
            coming, undone = self._untangle(coming, taking)
            gone.append(undone)
        return Met(_or_none([coming]), _or_none(gone))

    def keep(self, new: Chunk) -> None:
        """Adds new rows; what was derived from them goes along, unless they were merged."""
        coming = self._keep(new.batch)
        if len(coming) == len(new) and self.come.slices[-1].chunk.batch is coming:
            self.come.slices[-1].chunk.derived.update(new.derived)

    def check(self, last: int) -> None:
        """Sees to it that nothing up to an instant waits for what it takes back.

        Raises:
            DataError: it does, and no more rows up to there will come.
        """
        if self.back.slices and self.first_waiting <= last:
            raise nothing_to_delete()

    def drop_ended(self, watermark: int) -> int:
        """Drops the rows whose end is not after the watermark; at the end of time, all."""
        dropped = 0
        for buffer in (self.come, self.back):
            if watermark < MAX_TICK:
                dropped += buffer.drop_below(watermark + 1)
            else:
                dropped += buffer.rows
                buffer.slices = []
        return dropped

    def _keep(self, rows: ChangeBatch) -> ChangeBatch:
        """Adds new rows; gives those that come."""
        signs, coming = rows.signs_or_insert(), replace(rows, signs=None)
        if (signs < 0).any():
            self.back.append(rows.where(signs < 0))
            coming = coming.where(signs > 0)
        self.come.append(coming)
        return coming

    def _shorten(self, taking: ChangeBatch) -> tuple[ChangeBatch, ChangeBatch]:
        """Ends rows that others take back, which end with them; gives what is gone of them.

        And those of the others for which there is no row.
        """
        content = contents(taking)
        firsts, kinds = kinds_of(content)
        kept = [column.take(pa.array(firsts)) for column in content]
        equal = _equal(self.come, kept, taking.slice(0, 0))
        stored = len(equal.kinds)
        partners = _partners(
            np.concatenate([equal.kinds, kinds]),
            np.concatenate([equal.batch.times, taking.times]),
            np.repeat(np.array([1, -1], np.int8), [stored, len(taking)]),
        )
        taken = np.flatnonzero(partners[:stored] != NOBODY)
        rows, ends = equal.batch.take(taken), taking.times[partners[taken] - stored]
        _drop(self.come, equal, taken)
        is_ever = np.flatnonzero(rows.times < ends)
        self.come.append(replace(rows, ends=ends, signs=None).take(is_ever))
        left = np.flatnonzero(partners[stored:] == NOBODY)
        return replace(rows, times=ends, signs=np.ones(len(rows), np.int8)), taking.take(left)

    def _untangle(
        self, coming: ChangeBatch, taking: ChangeBatch
    ) -> tuple[ChangeBatch, ChangeBatch]:
        """New rows, with all rows equal to one that waits, as their sum says; and what is gone."""
        waiting = [part.rows() for part in self.back.slices]
        content = contents(concat([*waiting, taking]), with_ends=False)
        firsts, _ = kinds_of(content)
        kinds = [column.take(pa.array(firsts)) for column in content]
        directory = KeyDirectory()
        slots = directory.slots_of(kinds)
        new = concat([coming, taking])
        kind_of = np.full(len(firsts) + 1, NOBODY)
        kind_of[slots] = np.arange(len(firsts))
        own = kind_of[directory.find(contents(new, with_ends=False))]  # the last one: no kind
        first_change = np.full(len(firsts), MAX_TICK)
        np.minimum.at(first_change, own[own != NOBODY], new.times[own != NOBODY])
        buffers = (self.come, self.back)
        found = [_equal(own, kinds, new.slice(0, 0), with_ends=False) for own in buffers]
        cut = [
            self._cut(buffer, equal, first_change)
            for buffer, equal in zip(buffers, found, strict=True)
        ]
        gone = concat([rows for _, rows in cut])
        involved = new.where(own != NOBODY)
        all_kinds = np.concatenate([*(kind for kind, _ in cut), own[own != NOBODY]])
        summed = _summed(concat([gone, involved]), all_kinds)
        return concat([new.where(own == NOBODY), summed]), gone

    def _cut(
        self, buffer: ChunkBuffer, equal: Equal, first_change: Int64s
    ) -> tuple[Int64s, ChangeBatch]:
        """Keeps of some rows what lies before the first change of their kind; gives the rest."""
        ends, changes = equal.batch.ends_or_never(), first_change[equal.kinds]
        cut = np.flatnonzero(changes < ends)
        _drop(buffer, equal, cut)
        rows, ends, changes = equal.batch.take(cut), ends[cut], changes[cut]
        before = replace(rows, ends=changes).where(rows.times < changes)
        buffer.append(before if buffer is self.back else replace(before, signs=None))
        times = np.maximum(rows.times, changes)
        return equal.kinds[cut], replace(rows, times=times, ends=ends)


def netted(rows: ChangeBatch) -> ChangeBatch:
    """The rows of a push, those that are taken back in it with the end that this gives them."""
    signs = rows.signs_or_insert()
    _, kinds = kinds_of(contents(rows))
    partners = _partners(kinds, rows.times, signs)
    ends = rows.ends_or_never().copy()
    taken = np.flatnonzero((partners != NOBODY) & (signs > 0))
    ends[taken] = rows.times[partners[taken]]
    is_left = (rows.times < ends) & ((partners == NOBODY) | (signs > 0))
    return replace(rows, ends=ends, signs=signs).where(is_left)


def _partners(kinds: Int64s, times: Int64s, signs: NDArray[np.int8]) -> Int64s:
    """Per row the one that it takes back, or that takes it back, equal to it; NOBODY for none."""
    order = np.lexsort((-signs, times, kinds))
    paired = taken_by(kinds[order], writable(signs[order]))
    partners = np.full(len(kinds), NOBODY)
    partners[order] = np.where(paired == NOBODY, NOBODY, order[paired])
    return partners


def _summed(rows: ChangeBatch, kinds: Int64s) -> ChangeBatch:
    """The rows as the stretches of time in which there are copies of them."""
    signs, ends = rows.signs_or_insert().astype(np.int64), rows.ends_or_never()
    does_end = np.flatnonzero(ends < MAX_TICK)
    event_kinds = np.concatenate([kinds, kinds[does_end]])
    times = np.concatenate([rows.times, ends[does_end]])
    steps = np.concatenate([signs, -signs[does_end]])
    order = np.lexsort((times, event_kinds))
    kind, starts, stops, sign = stretches(event_kinds[order], times[order], steps[order], MAX_TICK)
    present, firsts = np.unique(kinds, return_index=True)
    examples = firsts[np.searchsorted(present, kind)]
    return ChangeBatch(take_columns(rows.columns, examples), starts, stops, sign.astype(np.int8))


def _equal(
    buffer: ChunkBuffer, kinds: list[pa.Array], none: ChangeBatch, *, with_ends: bool = True
) -> Equal:
    """The rows of a buffer that are of some kinds; `none` is a batch of no rows."""
    found = [equal_rows(part, kinds, with_ends=with_ends) for part in buffer.slices]
    rows = [own for _, own in found]
    parts = [part.chunk.batch.take(own) for part, own in zip(buffer.slices, rows, strict=True)]
    kind = np.concatenate([np.zeros(0, np.int64), *(own for own, _ in found)])
    return Equal(kind, rows, concat([none, *parts]))


def _drop(buffer: ChunkBuffer, equal: Equal, taken: Int64s) -> None:
    """Drops some of the rows found in a buffer."""
    is_taken = np.zeros(len(equal.kinds), np.bool_)
    is_taken[taken] = True
    starts = np.cumsum([0, *map(len, equal.rows)])
    buffer.drop(
        [own[is_taken[at : at + len(own)]] for own, at in zip(equal.rows, starts, strict=False)]
    )


def _or_none(batches: Sequence[ChangeBatch]) -> ChangeBatch | None:
    rows = [batch for batch in batches if len(batch)]
    return concat(rows) if rows else None


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


def kinds_of(content: list[pa.Array]) -> tuple[Int64s, Int64s]:
    """Equal rows are of one kind: per kind its first row, and per row its kind."""
    slots = KeyDirectory().slots_of(content)
    _, firsts, kinds = np.unique(slots, return_index=True, return_inverse=True)
    return firsts, kinds


def equal_rows(
    part: ChunkSlice, kinds: list[pa.Array], *, with_ends: bool = True
) -> tuple[Int64s, Int64s]:
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


def _first_of_each(kind: Int64s, wanted: Int64s) -> NDArray[np.bool_]:
    """Marks the first so many rows of each kind as are wanted."""
    order = np.argsort(kind, kind="stable")
    counts = np.bincount(kind, minlength=len(wanted))
    marks = np.zeros(len(kind), np.bool_)
    marks[order] = counted(counts) < np.repeat(wanted, counts)
    return marks
