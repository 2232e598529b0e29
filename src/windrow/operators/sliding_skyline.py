"""The best pairs among those alive at each instant: pairs with ends in, a changelog out.

For bestmatch joins that say what is best now, and not what is best for good: those over windows of
their own (`[RANGE w]` on both sides), and the plain one, whose pairs never end. The pairs come from
a window join. They are judged among those with equal values in a group of columns: what tells left
tuples apart, right ones, or nothing, for all pairs together. A full outer join has two such groups,
and a pair is in its answer while it is best in either.

    push       keeps the pairs until the watermark has passed their times
    advance    compares those passed with the ones there, group by group; gives what comes and goes

What is kept of a pair beside its row, per group of columns: from when on it is free of all that
dominate it (`kernels/sliding_skyline.py`), and whether the answer has it. A pair that is never free
again in any group is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels._jit import writable
from windrow.kernels.sliding_skyline import Pairs, compare_new_pairs
from windrow.operators.base import Counters, Operator, Snapshot
from windrow.operators.changes import ChangeBatch, concat, select
from windrow.operators.chunks import ChunkBuffer
from windrow.operators.pair_codes import PairCodes
from windrow.schema import MAX_TICK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.physical.sliding_skyline import SlidingSkyline

KIND = "sliding-skyline"

Events: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]
"""Pairs, instants, and whether each comes (1) or goes (-1)."""

FREE, SHOWN = "$free{}", "$shown{}"
"""Columns of our own in what is stored: per group of columns, free from when on, and in the answer."""


class SlidingSkylineOp(Operator):
    """The state and the steps of one search for the best pairs."""

    def __init__(self, spec: SlidingSkyline) -> None:
        super().__init__()
        self._spec = spec
        self._codes_of = PairCodes(spec.dimensions, spec.input.schema)
        self._needed = spec.needed
        self._waiting = ChunkBuffer()
        self._there = _There.nothing(len(spec.groups))

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Keeps the pairs; what is best is known once the watermark has passed them."""
        (batch,) = batches
        if batch is not None and len(batch):
            self.counters.rows_in += len(batch)
            columns = select(batch.columns, self._needed)
            self._waiting.append(ChangeBatch(columns, batch.times, batch.ends_or_never()))
        self._count_stored()
        return iter(())

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives what comes into the answer, and what leaves it, below the watermark."""
        if self.due() > watermark:
            return
        new = self._waiting.pop_below(watermark)
        there = self._there if new is None else self._there.with_new(new, self._codes_of)
        was_shown = there.is_shown.sum(axis=0)
        events = [
            there.judged(group, columns, watermark, self.counters)
            for group, columns in enumerate(self._spec.groups)
        ]
        changes = _in_any(events, was_shown)
        result = there.shown(changes, self._spec.schema.names)
        before = len(there.rows)
        self._there = there.still_there()
        self.counters.drops += before - len(self._there.rows)
        self.counters.rows_out += len(result)
        self._count_stored()
        if len(result):
            yield result

    def due(self) -> int:
        """One tick after the first pair that waits, or after a pair there comes, or ends."""
        first = min(self._waiting.first, self._there.next_change)
        return MAX_TICK if first == MAX_TICK else first + 1

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The pairs that wait; those there are small, and counted in the bytes of the state."""
        return [self._waiting]

    def snapshot(self) -> Snapshot:
        """The pairs that wait, and those there, with what is known of them."""
        there = ChunkBuffer()
        there.append(self._there.stored())
        buffers = {"waiting": tuple(self._waiting.slices), "there": tuple(there.slices)}
        return Snapshot(KIND, buffers)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts the pairs back."""
        snapshot.check_kind(KIND)
        self._waiting.slices = list(snapshot.buffers.get("waiting", ()))
        self._there = _There.nothing(len(self._spec.groups))
        slices = snapshot.buffers.get("there", ())
        if slices:
            rows = concat([part.rows() for part in slices])
            self._there = _There.restored(rows, self._needed, self._codes_of)
        self._count_stored()

    def _count_stored(self) -> None:
        self.counters.stored = self._waiting.rows + len(self._there.rows)
        self.counters.state_bytes = self._waiting.nbytes + self._there.nbytes


def ever_best(spec: SlidingSkyline, pairs: ChangeBatch) -> ChangeBatch:
    """The pairs that are best among the given ones at some instant.

    The others are not best among more pairs either; nor does a pair that they dominate become best
    without them, for whatever dominates them at an instant dominates it as well. So local skylines
    are all that a search needs.
    """
    codes_of = PairCodes(spec.dimensions, spec.input.schema)
    ending = ChangeBatch(pairs.columns, pairs.times, pairs.ends_or_never())
    there = _There.nothing(len(spec.groups)).with_new(ending, codes_of)
    events = [
        there.judged(group, columns, MAX_TICK, Counters())
        for group, columns in enumerate(spec.groups)
    ]
    shown = np.unique(np.concatenate([places for places, _, _ in events]))
    kept = there.rows.take(shown)
    return ChangeBatch(kept.columns, kept.times, None if pairs.ends is None else kept.ends)


class _There:
    """The pairs that are, or may come, into the answer; `free` and `is_shown` by group and pair."""

    def __init__(
        self,
        rows: ChangeBatch,
        codes: NDArray[np.uint64],
        free: NDArray[np.int64],
        is_shown: NDArray[np.bool_],
        new: int = 0,
    ) -> None:
        self.rows = rows
        self.codes = codes
        self.free = free
        self.is_shown = is_shown
        self.new = new  # so many of the last are

    @staticmethod
    def nothing(groups: int) -> _There:
        none = np.empty(0, np.int64)
        rows = ChangeBatch(pa.RecordBatch.from_arrays([], names=[]), none, none)
        codes = np.empty((0, 0), np.uint64)
        return _There(rows, codes, np.empty((groups, 0), np.int64), np.empty((groups, 0), np.bool_))

    @staticmethod
    def restored(rows: ChangeBatch, names: Sequence[str], codes_of: PairCodes) -> _There:
        columns = rows.columns
        groups = sum(name.startswith("$free") for name in columns.schema.names)
        numbers = [columns.column(FREE.format(g)).to_numpy() for g in range(groups)]
        flags = [
            columns.column(SHOWN.format(g)).to_numpy(zero_copy_only=False) for g in range(groups)
        ]
        own = ChangeBatch(select(columns, names), rows.times, rows.ends_or_never())
        codes, _ = codes_of.of(own)
        return _There(own, codes, np.array(numbers, np.int64), np.array(flags, np.bool_))

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, and of what is known of them."""
        known = self.codes.nbytes + self.free.nbytes + self.is_shown.nbytes
        rows = int(self.rows.columns.nbytes) if len(self.rows) else 0
        return rows + 16 * len(self.rows) + known

    @property
    def next_change(self) -> int:
        """The first instant at which a pair comes into the answer by itself, or ends."""
        if not len(self.rows):
            return MAX_TICK
        ends = self.rows.ends_or_never()
        comes = np.where(self.is_shown | (self.free >= ends), MAX_TICK, self.free)
        return int(min(comes.min(), ends.min()))

    def with_new(self, rows: ChangeBatch, codes_of: PairCodes) -> _There:
        """With pairs that come now, in the order of their times; what is no candidate is left out."""
        codes, is_candidate = codes_of.of(rows)
        is_candidate = is_candidate & (rows.times < rows.ends_or_never())
        if not is_candidate.all():
            kept = np.flatnonzero(is_candidate)
            rows, codes = rows.take(kept), codes[kept]
        groups = len(self.free)
        free = np.tile(rows.times, (groups, 1))
        is_shown = np.zeros((groups, len(rows)), np.bool_)
        if not len(self.rows):
            return _There(rows, codes, free, is_shown, len(rows))
        return _There(
            concat([self.rows, rows]),
            np.concatenate([self.codes, codes]),
            np.concatenate([self.free, free], axis=1),
            np.concatenate([self.is_shown, is_shown], axis=1),
            len(rows),
        )

    def judged(
        self, group: int, columns: Sequence[str], watermark: int, counters: Counters
    ) -> Events:
        """What comes and goes below the watermark in one group of columns, pair by pair."""
        rows, free, is_shown = self.rows, self.free[group], self.is_shown[group]
        ends = writable(rows.ends_or_never())
        made: list[Events] = []
        if self.new:
            is_new = np.zeros(len(rows), np.bool_)
            is_new[len(rows) - self.new :] = True
            numbers = group_numbers([rows.columns.column(name) for name in columns], len(rows))
            is_alive = is_new | (free < ends)
            touched = np.zeros(numbers.max(initial=0) + 1, np.bool_)
            touched[numbers[is_new]] = True
            chosen = np.flatnonzero(touched[numbers] & is_alive)
            # Those there first, then by time: new ones come at or after all others.
            chosen = chosen[np.lexsort((rows.times[chosen], is_new[chosen], numbers[chosen]))]
            _, starts = np.unique(numbers[chosen], return_index=True)
            pairs = Pairs(
                np.append(starts, len(chosen)),
                self.codes[chosen],
                rows.times[chosen],
                ends[chosen],
                free[chosen],
                is_shown[chosen],
                is_new[chosen],
            )
            found = compare_new_pairs(pairs)
            counters.probes += self.new
            counters.comparisons += found.comparisons
            free[chosen], is_shown[chosen] = pairs.free, pairs.is_shown
            made.append((chosen[found.pairs], found.times, found.signs.astype(np.int8)))
        comes = np.flatnonzero(~is_shown & (free < np.minimum(ends, watermark)))
        is_shown[comes] = True
        made.append((comes, free[comes], np.ones(len(comes), np.int8)))
        goes = np.flatnonzero(ends < watermark)
        left = goes[is_shown[goes]]
        is_shown[goes] = False
        free[goes] = ends[goes]
        made.append((left, ends[left], np.full(len(left), -1, np.int8)))
        pairs_, times, signs = (np.concatenate(part) for part in zip(*made, strict=True))
        return pairs_, times, signs

    def shown(self, changes: Events, names: Sequence[str]) -> ChangeBatch:
        """Changes as rows, in the order of their times."""
        pairs, times, signs = changes
        columns = select(self.rows.columns, names) if len(self.rows) else self.rows.columns
        taken = ChangeBatch(columns, self.rows.times).take(pairs) if len(pairs) else None
        if taken is None:
            return ChangeBatch(columns.slice(0, 0), np.empty(0, np.int64))
        return ChangeBatch(taken.columns, times, None, signs)

    def still_there(self) -> _There:
        """Without the pairs that no group of columns lets come into the answer any more."""
        kept = np.flatnonzero((self.free < self.rows.ends_or_never()).any(axis=0))
        if len(kept) == len(self.rows):
            return _There(self.rows, self.codes, self.free, self.is_shown)
        return _There(
            self.rows.take(kept), self.codes[kept], self.free[:, kept], self.is_shown[:, kept]
        )

    def stored(self) -> ChangeBatch:
        """The pairs with what is known of them as columns."""
        columns, names = list(self.rows.columns.columns), list(self.rows.columns.schema.names)
        for group in range(len(self.free)):
            columns += [pa.array(self.free[group]), pa.array(self.is_shown[group])]
            names += [FREE.format(group), SHOWN.format(group)]
        batch = pa.RecordBatch.from_arrays(columns, names=names)
        return ChangeBatch(batch, self.rows.times, self.rows.ends_or_never())


def group_numbers(columns: Sequence[pa.Array], rows: int) -> NDArray[np.int64]:
    """A number per row, equal where all columns are."""
    numbers = np.zeros(rows, np.int64)
    for column in columns:
        coded = column.dictionary_encode(null_encoding="encode").indices
        codes = coded.to_numpy(zero_copy_only=False).astype(np.int64)
        _, numbers = np.unique(numbers * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    return numbers


def _in_any(events: Sequence[Events], was_shown: NDArray[np.int64]) -> Events:
    """When a pair is in the answer for some group of columns: changes of that, in time order.

    for the left    +.......-       +....
    for the right       +.......-
    in the answer   +...........-   +....
    """
    pairs, times, signs = (np.concatenate(part) for part in zip(*events, strict=True))
    order = np.lexsort((times, pairs))
    pairs, times, signs = pairs[order], times[order], signs[order]
    is_first = np.diff(pairs, prepend=-1) != 0
    starts = np.flatnonzero(is_first)
    # How many groups show the pair after each event: those before all, and the events so far.
    total = np.cumsum(signs, dtype=np.int64)
    lengths = np.diff(np.append(starts, len(pairs)))
    before_run = np.repeat(total[starts] - signs[starts], lengths)
    after = total - before_run + was_shown[pairs]
    is_last_of_instant = np.append((np.diff(pairs) != 0) | (np.diff(times) != 0), True)[
        : len(pairs)
    ]
    at = np.flatnonzero(is_last_of_instant)
    is_in = after[at] > 0
    was_in = np.empty(len(at), np.bool_)
    was_in[1:] = is_in[:-1]
    opens = np.append(True, np.diff(pairs[at]) != 0)[: len(at)]
    was_in[opens] = was_shown[pairs[at][opens]] > 0
    changed = at[is_in != was_in]
    signs = np.where(after[changed] > 0, 1, -1).astype(np.int8)
    order = np.argsort(times[changed], kind="stable")
    return pairs[changed][order], times[changed][order], signs[order]
