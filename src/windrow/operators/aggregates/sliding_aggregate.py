"""Aggregates over a sliding window, exact at every instant: rows in, a changelog out.

Rows, groups and versions are as `sliding.py` has them. What is kept per group is the number of its
rows, and accumulators (`accumulators/build.py` says which). Groups come and go with their rows; the
one group of an aggregate without keys stays from the first instant on at which a row is there: what
comes and is taken back at one instant, as joins of changelogs give it, is none. Rows may have been
merged before they come (`merged_rows.py`): each then says how many tuples, and values, it is.

**Values** (`AliveValues`) that accumulators keep follow from the rows alive, so they are no state
of their own. They are made

- before the first step after a restart,
- anew, once, when a row comes that does not live as long as all before it, or that takes another
  back: from then on rows may leave in any order.

Rows without an end are in no window, and are kept here, as few as say the same:

    + 7   + 7   - 7   + 5        ->     + 7   + 5

once half or more of them cancel out, and none at all once all do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.jit import writable
from windrow.kernels.sliding_aggregate import Weights, slide_counts
from windrow.kernels.versions import Versions, changes_of
from windrow.operators.accumulators.base import (
    Accumulator,
    Answers,
    SlotRows,
    ValueKeeper,
    nothing_to_delete,
    resized,
)
from windrow.operators.accumulators.build import accumulators_of, key_of, readers
from windrow.operators.accumulators.sums import CountOnly, Totals
from windrow.operators.aggregates.merged_rows import weight_column
from windrow.operators.aggregates.sliding import SlidingOp, Slots
from windrow.operators.columns.changes import TUPLES, ChangeBatch, concat, select
from windrow.operators.columns.chunks import ChunkBuffer, ChunkSlice
from windrow.operators.columns.key_columns import fixed_values
from windrow.operators.engine.base import Snapshot
from windrow.operators.feeds.net_changes import net_changes
from windrow.physical.nodes.sliding_aggregate import FEW_ROWS, SlidingAggregate
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
        return sum([each.work for own in self._kept.values() for each in own])

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
        lasting = self._needed(rows.where(rows.ends_or_never() == MAX_TICK))
        lasting = replace(lasting, times=np.zeros(len(lasting), np.int64))
        self.lasting.append(lasting)
        self._left += _sum_of_signs(lasting)
        if not self._left:
            self.lasting = ChunkBuffer("time")
        elif self.lasting.rows > 2 * self._left + FEW_ROWS:
            self._net()

    def _net(self) -> None:
        """Forgets those rows without an end that cancel each other out."""
        if self.lasting.rows != self._left:
            netted = net_changes(concat([part.rows() for part in self.lasting.slices]))
            self.lasting = ChunkBuffer("time")
            self.lasting.append(netted)

    def _needed(self, rows: ChangeBatch) -> ChangeBatch:
        """Slots and arguments alone, signs written out."""
        columns = select(rows.columns, ["slot", *self._kept])
        return ChangeBatch(columns, rows.times, None, rows.signs_or_insert())

    def _enter(self, rows: ChangeBatch) -> None:
        rows = rows.sorted_by(rows.times)
        slots = np.array(rows.columns.column("slot"))
        alive = SlotRows(slots, np.array(rows.times), np.array(rows.signs_or_insert()))
        for column, own in self._kept.items():
            for accumulator in own:
                accumulator.enter(alive, rows.columns.column(column))


def _sum_of_signs(rows: ChangeBatch) -> int:
    return int(rows.signs_or_insert().sum(dtype=np.int64))


HAS_BEGUN = "has_begun"
"""The number that says whether the one group of an aggregate without keys has had a row."""


class SlidingAggregateOp(SlidingOp):
    """GROUP BY and aggregates over the rows alive at each instant."""

    kind = "sliding-aggregate"

    def __init__(self, node: SlidingAggregate) -> None:
        self._node = node
        super().__init__()

    def _reset(self) -> None:
        super()._reset()
        self._accumulators = self._new_accumulators()
        self._readers = readers(self._node.aggregates, self._accumulators)
        self._values = self._alive_values()
        self._row_counts: NDArray[np.int64] = np.zeros(0, np.int64)
        self._has_begun = False

    def _new_accumulators(self) -> dict[str, Accumulator]:
        return accumulators_of(self._node.aggregates)

    def _alive_values(self, lasting: tuple[ChunkSlice, ...] = ()) -> AliveValues:
        stored = {f"argument{i}": own for i, own in enumerate(self._readers.values())}
        return AliveValues(stored, lasting)

    def buffers(self) -> Sequence[ChunkBuffer]:
        """Rows that have yet to come into effect, those alive, and those kept without an end."""
        return (*super().buffers(), self._values.lasting)

    def snapshot(self) -> Snapshot:
        """As of every sliding operator; rows without an end where values are kept."""
        made = super().snapshot()
        if self._values.is_needed:
            made.buffers["lasting"] = tuple(self._values.lasting.slices)
        return made

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back; values are made from the rows alive before they are needed."""
        super().restore(snapshot)
        self._values = self._alive_values(snapshot.buffers.get("lasting", ()))
        if self._values.is_needed:
            for part in (*self._alive.slices, *self._arriving.slices):
                self._values.observe(part.rows())
        self._measure()

    def _kept(self, port: int, batch: ChangeBatch) -> ChangeBatch:
        kept = super()._kept(port, batch)
        self._values.observe(kept)
        return kept

    def _kept_columns(self, port: int, batch: ChangeBatch) -> dict[str, pa.Array]:  # noqa: ARG002
        """Keys and arguments."""
        columns = {f"key{i}": batch.columns.column(k) for i, k in enumerate(self._node.keys)}
        if not columns:
            # One group: all rows have the same key.
            columns["key0"] = pa.array(np.zeros(len(batch), np.int8))
        return columns | self._kept_values(batch.columns)

    def _kept_values(self, columns: pa.RecordBatch) -> dict[str, pa.Array]:
        """What is stored of rows beside their keys, to take them back later."""
        kept = {}
        for i, (name, own) in enumerate(self._readers.items()):
            # What only counts keeps the least; what others keep serves it too.
            reader = next((each for each in own if not isinstance(each, CountOnly)), own[0])
            kept[f"argument{i}"] = reader.kept(columns.column(name))
            if self._node.is_merged:
                kept[f"weight{i}"] = columns.column(weight_column(i))
        if self._node.is_merged:
            kept["tuples"] = columns.column(TUPLES)
        return kept

    def _group_columns(self, slots: Slots) -> tuple[dict[str, pa.Array], dict[str, int]]:
        """Row counts and accumulators; what is no column goes into the numbers."""
        columns = {"rows": pa.array(self._row_counts[slots])}
        numbers = {} if self._node.keys else {HAS_BEGUN: int(self._has_begun)}
        for i, accumulator in enumerate(self._accumulators.values()):
            numbers[f"low{i}"], parts = accumulator.state(slots)
            columns |= {f"state{i}_{j}": part for j, part in enumerate(parts)}
        return columns, numbers

    def _load_groups(self, slots: Slots, columns: pa.RecordBatch, numbers: dict[str, int]) -> None:
        self._row_counts[slots] = columns.column("rows").to_numpy()
        self._has_begun = bool(numbers.get(HAS_BEGUN, 1))  # groups were stored without it before
        for i, accumulator in enumerate(self._accumulators.values()):
            names = [name for name in columns.schema.names if name.startswith(f"state{i}_")]
            accumulator.load(slots, numbers[f"low{i}"], [columns.column(name) for name in names])

    def _step(self, bound: int) -> ChangeBatch:
        self._values.prepare(self._alive)
        worked = self._values.work
        changes = super()._step(bound)
        self.counters.comparisons += self._values.work - worked
        return changes

    def _changes(self, versions: Versions, rows: ChangeBatch) -> ChangeBatch:
        weights: Weights | None = self._weights(rows, "tuples")
        if weights is None:
            weights = np.ones(len(rows), np.bool_)
        row_counts = slide_counts(versions, weights, self._row_counts)
        if row_counts.min() < 0:
            raise nothing_to_delete()
        answers = self._answers(versions, rows, row_counts)
        for answer in answers:
            answer.check()  # the answer has every instant
        exists = row_counts > 0
        if not self._node.keys:
            exists = np.logical_or.accumulate(exists) | self._has_begun
            self._has_begun = bool(exists.any())
        return self._differences(versions, answers, exists)

    def _answers(
        self, versions: Versions, rows: ChangeBatch, row_counts: NDArray[np.int64]
    ) -> list[Answers]:
        """The answers of every version, one per aggregate."""
        self._values.keep(rows)
        columns = {name: f"argument{i}" for i, name in enumerate(self._readers)}
        answers: dict[str | None, dict[str, Answers]] = {
            None: {"count": Answers(row_counts, None, pa.int64())}
        }
        for each in self._node.aggregates:
            key = key_of(each)
            if each.argument is not None and key not in answers:
                name = columns[each.argument.columns[0]]
                answers[key] = self._slid(self._accumulators[str(key)], name, versions, rows)
        return [answers[key_of(each)][each.function] for each in self._node.aggregates]

    def _slid(
        self, accumulator: Accumulator, name: str, versions: Versions, rows: ChangeBatch
    ) -> dict[str, Answers]:
        column = rows.columns.column(name)
        weights = self._weights(rows, name.replace("argument", "weight"))
        if weights is None or not isinstance(accumulator, Totals):
            return accumulator.slide(versions, column)
        return accumulator.slide(versions, column, weights)

    def _weights(self, rows: ChangeBatch, name: str) -> NDArray[np.int32] | None:
        """How many tuples or values each row counts for; None where each is one."""
        if not self._node.is_merged:
            return None
        return writable(fixed_values(rows.columns.column(name), "<i4"))

    def _differences(
        self, versions: Versions, answers: Sequence[Answers], exists: NDArray[np.bool_]
    ) -> ChangeBatch:
        """The rows that go and come, version by version."""
        changed = np.zeros(len(exists), np.bool_)
        for answer in answers:
            answer.mark_changed(versions.previous, changed)
        changes = changes_of(versions, exists, changed)
        keys: list[pa.Array] = []
        if self._node.keys:
            keys = self._directory.keys_of(versions.slots[changes.versions])
        columns = [*keys, *(answer.take(changes.versions) for answer in answers)]
        shown = pa.RecordBatch.from_arrays(columns, names=list(self._node.schema.names))
        return ChangeBatch(shown, changes.times, None, changes.signs)

    def _has_nothing(self, slots: Slots) -> NDArray[np.bool_]:
        """The groups without rows; the one group without keys stays once it has had some."""
        if not self._node.keys:
            return np.full(len(slots), not self._has_begun)
        empty: NDArray[np.bool_] = self._row_counts[slots] == 0
        return empty

    def _clear(self, slots: Slots) -> None:
        for accumulator in self._accumulators.values():
            accumulator.clear(slots)

    def _fit(self) -> None:
        super()._fit()
        for accumulator in self._accumulators.values():
            accumulator.fit(self._directory.slot_count)

    def _resize(self, room: int) -> None:
        super()._resize(room)
        self._row_counts = resized(self._row_counts, room)

    def _group_bytes(self) -> int:
        return self._row_counts.nbytes + sum([each.nbytes for each in self._accumulators.values()])
