"""Aggregates over a sliding window, exact at every instant: rows in, a changelog out.

Rows, groups and versions are as `sliding.py` has them. What is kept per group is the number of its
rows, and accumulators (`accumulators/build.py` says which). Groups come and go with their rows; the
one group of an aggregate without keys stays from the first instant on at which a row is there: what
comes and is taken back at one instant, as joins of changelogs give it, is none. Rows may have been
merged before they come (`merged_rows.py`): each then says how many tuples, and values, it counts for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels._jit import writable
from windrow.kernels.sliding_aggregate import Weights, slide_counts
from windrow.kernels.versions import Versions, changes_of
from windrow.operators.accumulators.base import Accumulator, nothing_to_delete, resized
from windrow.operators.accumulators.build import accumulators_of, key_of, readers
from windrow.operators.accumulators.sums import CountOnly, Totals
from windrow.operators.alive_values import AliveValues
from windrow.operators.answers import Answers
from windrow.operators.base import Snapshot
from windrow.operators.changes import TUPLES, ChangeBatch
from windrow.operators.chunks import ChunkBuffer, ChunkSlice
from windrow.operators.key_columns import fixed_values
from windrow.operators.merged_rows import weight_column
from windrow.operators.sliding import SlidingOp, Slots
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate

HAS_BEGUN = "has_begun"
"""The number that says whether the one group of an aggregate without keys has had a row."""


class SlidingAggregateOp(SlidingOp):
    """GROUP BY and aggregates over the rows alive at each instant."""

    kind = "sliding-aggregate"

    def __init__(self, spec: SlidingAggregate) -> None:
        self._spec = spec
        super().__init__()

    def _reset(self) -> None:
        super()._reset()
        self._accumulators = self._new_accumulators()
        self._readers = readers(self._spec.aggregates, self._accumulators)
        self._values = self._alive_values()
        self._row_counts: NDArray[np.int64] = np.zeros(0, np.int64)
        self._has_begun = False

    def _new_accumulators(self) -> dict[str, Accumulator]:
        return accumulators_of(self._spec.aggregates)

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
        columns = {f"key{i}": batch.columns.column(k) for i, k in enumerate(self._spec.keys)}
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
            if self._spec.is_merged:
                kept[f"weight{i}"] = columns.column(weight_column(i))
        if self._spec.is_merged:
            kept["tuples"] = columns.column(TUPLES)
        return kept

    def _group_columns(self, slots: Slots) -> tuple[dict[str, pa.Array], dict[str, int]]:
        """Row counts and accumulators; what is no column goes into the numbers."""
        columns = {"rows": pa.array(self._row_counts[slots])}
        numbers = {} if self._spec.keys else {HAS_BEGUN: int(self._has_begun)}
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
        if not self._spec.keys:
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
        for each in self._spec.aggregates:
            key = key_of(each)
            if each.argument is not None and key not in answers:
                name = columns[each.argument.columns[0]]
                answers[key] = self._slid(self._accumulators[str(key)], name, versions, rows)
        return [answers[key_of(each)][each.function] for each in self._spec.aggregates]

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
        if not self._spec.is_merged:
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
        if self._spec.keys:
            keys = self._directory.keys_of(versions.slots[changes.versions])
        columns = [*keys, *(answer.take(changes.versions) for answer in answers)]
        shown = pa.RecordBatch.from_arrays(columns, names=list(self._spec.schema.names))
        return ChangeBatch(shown, changes.times, None, changes.signs)

    def _has_nothing(self, slots: Slots) -> NDArray[np.bool_]:
        """The groups without rows; the one group without keys stays once it has had some."""
        if not self._spec.keys:
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
        return self._row_counts.nbytes + sum(each.nbytes for each in self._accumulators.values())
