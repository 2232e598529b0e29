"""Gives accumulators that keep values the rows that are alive, when they need them.

What they keep follows from the rows alive, so it is no state of its own. It is made

- before the first step after a restart,
- anew, once, when a row comes that does not live as long as all before it, or that takes another
  back: from then on rows may leave in any order.

Rows without an end are in no window, and are kept here, as few as say the same:

    + 7   + 7   - 7   + 5        ->     + 7   + 5

once half or more of them cancel out, and none at all once all do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from windrow.operators.accumulators.base import Accumulator, AliveRows, ValueKeeper
from windrow.operators.changes import ChangeBatch, concat, select
from windrow.operators.chunks import ChunkBuffer, ChunkSlice
from windrow.operators.key_directory import KeyDirectory
from windrow.physical.aggregate_facts import FEW_ROWS
from windrow.schema import MAX_TICK


class AliveValues:
    """The accumulators that keep values, and whether they hold those of all rows alive.

    Args:
        accumulators: those of the operator, by the column that stored rows have for each.
        lasting: rows without an end, as a snapshot kept them.
    """

    def __init__(
        self, accumulators: Mapping[str, Iterable[Accumulator]], lasting: Iterable[ChunkSlice] = ()
    ) -> None:
        self._kept = {
            column: keeping
            for column, own in accumulators.items()
            if (keeping := [each for each in own if isinstance(each, ValueKeeper)])
        }
        self.lasting = ChunkBuffer("time", lasting)
        # Never is more taken back than came: the signs add up to how many rows are left.
        self._left = sum(_sum_of_signs(part.rows()) for part in self.lasting.slices)
        self._lifetime: int | None = None
        self._is_steady = not self.lasting.rows
        self._is_current = False

    @property
    def is_needed(self) -> bool:
        """Whether any accumulator keeps values."""
        return bool(self._kept)

    @property
    def work(self) -> int:
        """Comparisons and probes that the accumulators have made."""
        return sum(each.work for own in self._kept.values() for each in own)

    def observe(self, batch: ChangeBatch) -> None:
        """Looks at how long rows live, before any of them comes into effect."""
        if not self._kept or not self._is_steady or not len(batch):
            return
        ends = batch.ends_or_never()
        lifetimes = ends - batch.times  # of rows without an end any number
        if self._lifetime is None:
            self._lifetime = int(lifetimes[0])
        is_alike = (lifetimes == self._lifetime) & (ends < MAX_TICK)
        if not is_alike.all() or (batch.signs_or_insert() < 0).any():
            self._is_steady = self._is_current = False

    def prepare(self, alive: ChunkBuffer) -> None:
        """Sees to it that the accumulators hold the values of the rows alive."""
        if self._is_current or not self._kept:
            return
        for own in self._kept.values():
            for accumulator in own:
                accumulator.begin(self._lifetime if self._is_steady else None)
        # What cancels out may be of groups that have gone, with their slots.
        self._net()
        parts = [part.rows() for buffer in (alive, self.lasting) for part in buffer.slices]
        if parts:
            self._enter(concat([self._needed(part) for part in parts]))
        self._is_current = True

    def keep(self, rows: ChangeBatch) -> None:
        """Keeps those rows, with the slots of their groups, that have no end."""
        if not self._kept or (rows.ends is not None and not (rows.ends == MAX_TICK).any()):
            return
        lasting = _timeless(
            self._needed(rows.take(np.flatnonzero(rows.ends_or_never() == MAX_TICK)))
        )
        self.lasting.append(lasting)
        self._left += _sum_of_signs(lasting)
        if not self._left:
            self.lasting = ChunkBuffer("time")
        elif self.lasting.rows > 2 * self._left + FEW_ROWS:
            self._net()

    def _net(self) -> None:
        """Forgets those rows without an end that cancel each other out."""
        if self.lasting.rows != self._left:
            netted = _netted(concat([part.rows() for part in self.lasting.slices]))
            self.lasting = ChunkBuffer("time")
            self.lasting.append(netted)

    def _needed(self, rows: ChangeBatch) -> ChangeBatch:
        """Slots and arguments alone, signs written out."""
        columns = select(rows.columns, ["slot", *self._kept])
        return ChangeBatch(columns, rows.times, None, rows.signs_or_insert())

    def _enter(self, rows: ChangeBatch) -> None:
        rows = rows.sorted_by(rows.times)
        slots = np.array(rows.columns.column("slot"))
        alive = AliveRows(slots, np.array(rows.times), np.array(rows.signs_or_insert()))
        for column, own in self._kept.items():
            for accumulator in own:
                accumulator.enter(alive, rows.columns.column(column))


def _sum_of_signs(rows: ChangeBatch) -> int:
    return int(rows.signs_or_insert().sum(dtype=np.int64))


def _timeless(rows: ChangeBatch) -> ChangeBatch:
    return ChangeBatch(rows.columns, np.zeros(len(rows), np.int64), None, rows.signs)


def _netted(rows: ChangeBatch) -> ChangeBatch:
    """The rows without those that cancel each other out."""
    numbers = KeyDirectory().slots_of(rows.columns.columns)
    signs = rows.signs_or_insert()
    net = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    np.add.at(net, numbers, signs)
    # Of each kind as many rows stay as are left over, the first ones with their sign.
    order = np.lexsort((np.arange(len(rows)), numbers))
    same = order[signs[order] == np.sign(net)[numbers[order]]]
    starts = np.searchsorted(numbers[same], numbers[same], side="left")
    is_kept = np.arange(len(same)) - starts < np.abs(net)[numbers[same]]
    return rows.take(np.sort(same[is_kept]))
