"""The best pairs among those alive at each instant: pairs with ends in, a changelog out.

For bestmatch joins that say what is best now, and not what is best for good: those over windows of
their own (`[RANGE w]` on both sides), and the plain one, whose pairs never end. The pairs come from
a window join. They are judged among those with equal values in a group of columns: what tells left
tuples apart, right ones, or nothing, for all pairs together. A full outer join has two such lists
of groups, and a pair is in its answer while it is best in either.

    push       keeps the pairs until the watermark has passed their times; of so many that they would
               fill memory, those alone that are best among them at some instant
    advance    compares those passed with the ones there, group by group; gives what comes and goes

What is kept of a pair: what the answer shows, what it is worth (`dominance.py`), and per list of
groups from when on it is free of all that dominate it (`kernels/sliding_skyline.py`). Whether the
answer has it follows: from then on it does. A pair that is never free again in any group is
dropped.

State: two lists of chunks, which never change.

    waiting    pairs in the order of their times
    there      pairs in the order in which they come or go by themselves, the next time

An advance takes out the pairs of which the next such time is below the watermark, and looks up
those that are in a group with one that comes (`keyed_rows.py`). Of these, the ones of which
something has changed are marked as gone in their chunk, and written anew. So a step reads the
groups that pairs come to, and writes what changes, whatever is kept.

Where unmatched tuples are kept, the join gives each tuple once more, with NULLs in place of
another: a pair that is worse than any of the tuple, and so in the answer while there is none.

**A step** (`SkylineStep`) judges together, and writes anew:

    there    [ .. x .. | .. x ... x ]      x: in a group with a pair that comes
    due      [ x x ]                       comes or goes by itself, below the watermark
    coming   [ x x x ]                     waited until now

All x are judged. Those due and coming have left their buffers; of those there, rows stay where they
are unless what is known of them has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.bestmatch.dominance import (
    NO_GROUP,
    Events,
    PairWorth,
    RivalPairs,
    codes_in,
    in_any,
    worst,
)
from windrow.operators.columns.changes import (
    ROW_BITS,
    ROW_MASK,
    ChangeBatch,
    Places,
    concat,
    select,
    take_columns,
)
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.engine.base import Counters, Snapshot, SteppingOp
from windrow.operators.joins.keyed_rows import FoundRows, WantedKeys, rows_with_keys, wanted_keys
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from windrow.physical.nodes.bestmatch import SlidingSkyline


MOST_UNJUDGED = 1 << 17
"""So many pairs wait as they came; of more, the best are looked for at once.

    wait    [ best among themselves ........ | as they came ...... ]
                                               at most as many as the others, or this many

Each time as many again have come, so that a pair is looked at a few times, however many come, and
what waits is at most twice what may be in the answer, or that and so many pairs.
"""


class SlidingSkylineOp(SteppingOp):
    """The state and the steps of one search for the best pairs: those that wait, and those there."""

    kind = "sliding-skyline"
    step_rows = 1 << 16

    def __init__(self, node: SlidingSkyline) -> None:
        self._waiting, self._there = ChunkBuffer(), ChunkBuffer()
        super().__init__({"waiting": self._waiting, "there": self._there})
        self._reader = PairReader(node)
        self._unjudged = 0

    def _admit(self, port: int, batch: ChangeBatch) -> None:  # noqa: ARG002  # there is one
        rows = self._reader.read(batch)[1]
        self._waiting.append(rows)
        self._unjudged += len(rows)
        if self._unjudged >= max(MOST_UNJUDGED, self._waiting.rows - self._unjudged):
            self._judge_waiting()

    def _judge_waiting(self) -> None:
        """Keeps those of the pairs that wait that are best among them at some instant."""
        rows = concat([part.rows() for part in self._waiting.slices])
        kept = SkylineStep(self._reader, ChunkBuffer(), None, rows).ever_shown()
        self.counters.drops += len(rows) - len(kept)
        self._waiting.slices, self._unjudged = [], 0
        self._waiting.append(rows.take(np.sort(kept)))

    def _step(self, bound: int) -> ChangeBatch | None:
        """What comes into the answer, and what leaves it, below a bound."""
        coming = self._waiting.pop_below(bound)
        self._unjudged = min(self._unjudged, self._waiting.rows)
        due = self._there.pop_below(bound)
        step = SkylineStep(self._reader, self._there, due, coming)
        result = step.judged(bound, self.counters)
        self.counters.drops += step.put_back(self._there)
        return result

    def restore(self, snapshot: Snapshot) -> None:
        """Puts the pairs back; those that wait are as they came."""
        super().restore(snapshot)
        self._unjudged = self._waiting.rows


def ever_best(
    node: SlidingSkyline,
    pairs: ChangeBatch,
    kept: Sequence[str] = (),  # noqa: ARG001  # pairs stay whole
) -> ChangeBatch:
    """The pairs that are best among the given ones at some instant.

    The others are not best among more pairs either; nor does a pair that they dominate become best
    without them, for whatever dominates them at an instant dominates it as well. So local skylines
    are all that a search needs.
    """
    reader = PairReader(node)
    places, rows = reader.read(pairs)
    step = SkylineStep(reader, ChunkBuffer(), None, rows)
    return pairs.take(np.sort(places[step.ever_shown()]))


FREE = "$free{}"
"""Columns of our own: per list of groups, free from when on; MIN_TICK where the answer has it."""

ALONE = "$alone"
"""A column of our own, the first code: 1 where a row is no pair, but stands for having none."""

Int64s = NDArray[np.int64]


class PairReader:
    """Reads pairs as they are kept: what is shown, what tells groups apart, what they are worth."""

    def __init__(self, node: SlidingSkyline) -> None:
        self.worth = PairWorth(node.dimensions, node.input.schema)
        self.groups = node.groups
        self.shown = node.schema.names
        self.free_names = [FREE.format(number) for number in range(len(node.groups))]
        self.code_names = [*([ALONE] if node.marks else []), *self.worth.code_names]
        self._marks = node.marks
        self._group_marks = node.group_marks
        self._needed = node.needed

    def read(self, batch: ChangeBatch) -> tuple[Int64s, ChangeBatch]:
        """The rows that may ever be in the answer, by place, and as they are kept."""
        ends = batch.ends_or_never()
        is_alive = batch.times < ends
        is_alone = np.zeros(len(batch), np.bool_)
        for mark in self._marks:
            is_alone |= _is_null(batch, mark)
        paired, alone = np.flatnonzero(is_alive & ~is_alone), np.flatnonzero(is_alive & is_alone)
        candidates, worth = self.worth.of(batch.take(paired))
        places = np.concatenate([paired[candidates], alone])
        times, ends = batch.times[places], ends[places]
        if self._marks:
            worth = {
                name: pa.concat_arrays([own, worst(own, len(alone))]) for name, own in worth.items()
            }
            worth[ALONE] = pa.array(is_alone[places].astype(np.uint64))
        free = dict.fromkeys(self.free_names, times)
        for name, mark in zip(self.free_names, self._group_marks, strict=False):
            free[name] = np.where(_is_null(batch, mark)[places], ends, times)
        known = {**worth, **{name: pa.array(own) for name, own in free.items()}}
        columns = _with(take_columns(select(batch.columns, self._needed), places), known)
        return places, ChangeBatch(columns, times, ends)


class _Grouped(NamedTuple):
    """The rivals of pairs that come in one list of groups: those there, and the group of others."""

    found: FoundRows
    due: Int64s
    coming: Int64s


class SkylineStep:
    """The pairs that one advance is about.

    Args:
        reader: who read them.
        there: the pairs there, of which some are rivals of those that come.
        due: pairs taken out of these, which come or go by themselves.
        coming: the pairs that come.
    """

    def __init__(
        self,
        reader: PairReader,
        there: ChunkBuffer,
        due: ChangeBatch | None,
        coming: ChangeBatch | None,
    ) -> None:
        self._reader = reader
        self._stored = len(there.slices)
        self._pieces = [part.chunk.batch for part in there.slices]
        taken = [rows for rows in (due, coming) if rows is not None and len(rows)]
        self._pieces += taken
        grouped = [
            self._grouped(number, there, due, coming) for number in range(len(reader.groups))
        ]
        self._places, self._groups = self._placed(grouped, list(map(len, taken)))
        self._rivals = self._read(len(self._places) - _count(coming)) if taken else None

    def judged(self, watermark: int, counters: Counters) -> ChangeBatch | None:
        """What comes and goes below the watermark, in the order of time; None for nothing."""
        if self._rivals is None:
            return None
        was_shown = self._rivals.is_shown.sum(axis=0)
        pairs, times, signs = in_any(self._events(self._rivals, watermark, counters), was_shown)
        if not len(pairs):
            return None
        return ChangeBatch(self._columns(self._reader.shown, pairs), times, None, signs)

    def ever_shown(self) -> Int64s:
        """Which of the pairs are best at some instant."""
        if self._rivals is None:
            return np.empty(0, np.int64)
        events = self._events(self._rivals, MAX_TICK, Counters())
        return np.unique(np.concatenate([pairs for pairs, _, _ in events]))

    def put_back(self, there: ChunkBuffer) -> int:
        """Writes what has changed; gives how many pairs have left for good."""
        if self._rivals is None:
            return 0
        free, ends = self._rivals.free, self._rivals.ends
        free[self._rivals.is_shown] = MIN_TICK
        stays = (free < ends).any(axis=0)
        chunks = self._places >> ROW_BITS
        is_written = (chunks >= self._stored) | (free != self._free_before).any(axis=0)
        gone = [self._places[is_written & (chunks == at)] & ROW_MASK for at in range(self._stored)]
        if any(map(len, gone)):
            there.drop(gone)
        written = np.flatnonzero(is_written & stays)
        if len(written):
            there.append(self._kept(written, free[:, written], ends[written]))
        return int(np.count_nonzero(~stays))

    def _kept(self, written: Int64s, free: Int64s, ends: Int64s) -> ChangeBatch:
        """Pairs as they are kept, at the times at which they come or go by themselves."""
        own = self._reader.free_names
        names = [name for name in self._pieces[0].columns.schema.names if name not in own]
        known = {name: pa.array(numbers) for name, numbers in zip(own, free, strict=True)}
        is_to_come = (free > MIN_TICK) & (free < ends)
        next_change = np.minimum(np.where(is_to_come, free, MAX_TICK).min(axis=0), ends)
        return ChangeBatch(_with(self._columns(names, written), known), next_change, ends)

    def _events(self, rivals: RivalPairs, watermark: int, counters: Counters) -> list[Events]:
        return [
            rivals.judged(number, groups, watermark, counters)
            for number, groups in enumerate(self._groups)
        ]

    def _grouped(
        self, number: int, there: ChunkBuffer, due: ChangeBatch | None, coming: ChangeBatch | None
    ) -> _Grouped:
        """The groups of one list that pairs come to, and who is in them."""
        names = self._reader.groups[number]
        of_due, of_coming = (np.full(_count(rows), NO_GROUP) for rows in (due, coming))
        if coming is None:
            return _Grouped(FoundRows((), (), ()), of_due, of_coming)
        if not names:
            wanted = WantedKeys(np.zeros(1, np.uint64), np.zeros(1, np.int64))
            return _Grouped(rows_with_keys(there, names, wanted), of_due * 0, of_coming * 0)
        # A row without a tuple of the side that this is about is in none of its groups.
        free = coming.columns.column(FREE.format(number)).to_numpy()
        own = np.flatnonzero(free < coming.ends_or_never())
        directory, taken = KeyDirectory(), pa.array(own)
        of_coming[own] = directory.slots_of([coming.columns.column(n).take(taken) for n in names])
        if due is not None:
            of_due = directory.find([due.columns.column(name) for name in names])
        wanted = wanted_keys(directory, directory.slots_in_use(), has_nulls=True)
        return _Grouped(rows_with_keys(there, names, wanted), of_due, of_coming)

    def _placed(
        self, grouped: Sequence[_Grouped], taken: Sequence[int]
    ) -> tuple[Int64s, list[Int64s]]:
        """The places of all pairs, and per list of groups the group of each."""
        found = [
            np.concatenate([_NOWHERE, *(at << ROW_BITS | rows for at, rows in enumerate(own.rows))])
            for own, _, _ in grouped
        ]
        stored = np.unique(np.concatenate(found))
        others = [
            (self._stored + number) << ROW_BITS | np.arange(count)
            for number, count in enumerate(taken)
        ]
        groups = []
        for one, own in zip(grouped, found, strict=True):
            of_stored = np.full(len(stored), NO_GROUP)
            of_stored[np.searchsorted(stored, own)] = one.found.owners
            groups.append(np.concatenate([of_stored, one.due, one.coming]))
        return np.concatenate([stored, *others]), groups

    def _read(self, first_new: int) -> RivalPairs:
        """What is known of the pairs; those from the first new one on come now."""
        at, worth = Places(self._places), self._reader.worth

        def numbers(name: str) -> Int64s:
            return at.numbers(lambda piece: self._pieces[piece].columns.column(name).to_numpy())

        every = np.arange(len(self._places))
        kept = self._columns(self._reader.code_names, every)
        codes = np.empty((len(every), len(self._reader.code_names)), np.uint64)
        for number, column in enumerate(kept.columns):
            codes[:, number] = codes_in(column)
        columns = self._columns([*worth.set_names, *worth.compared], every)
        free = np.array([numbers(name) for name in self._reader.free_names])
        self._free_before = free.copy()
        return RivalPairs(
            codes=codes,
            sets=[columns.column(name) for name in worth.set_names],
            columns=columns,
            partial=worth.partial,
            times=at.numbers(lambda piece: self._pieces[piece].times),
            ends=at.numbers(lambda piece: self._pieces[piece].ends_or_never()),
            is_new=every >= first_new,
            free=free,
            is_shown=free == MIN_TICK,
        )

    def _columns(self, names: Sequence[str], pairs: Int64s) -> pa.RecordBatch:
        """Some columns of some of the pairs, at least one."""
        if not names:
            return pa.RecordBatch.from_arrays([], names=[])
        at = Places(self._places[pairs])
        return at.columns(lambda piece: self._pieces[piece].columns.select(list(names)))


_NOWHERE = np.empty(0, np.int64)


def _count(rows: ChangeBatch | None) -> int:
    return 0 if rows is None else len(rows)


def _with(columns: pa.RecordBatch, added: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """The columns, and some more."""
    names = [*columns.schema.names, *added]
    return pa.RecordBatch.from_arrays([*columns.columns, *added.values()], names=names)


def _is_null(batch: ChangeBatch, name: str) -> NDArray[np.bool_]:
    is_null: NDArray[np.bool_] = batch.columns.column(name).is_null().to_numpy(zero_copy_only=False)
    return is_null
