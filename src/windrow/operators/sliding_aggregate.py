"""Aggregates over a sliding window, exact at every instant: rows in, a changelog out.

    row, alive in [time, end)       +........-
    row, alive in [time, end)            +........-
    answer of the group           a      b   c    (gone)
    changelog                    +a    -a+b -b+c -c

1. `push` stores rows in `arriving`, ordered by time: below the watermark more may still come.
2. `advance(W)` takes the rows with time < W out of it, and those with end < W out of `alive`.
   Each is an event of its group: its sign at its time, the opposite at its end. (A row that takes
   another back ends with it: - at its time, + at the instant at which the other is a - too.)
3. The events of one group at one instant make one version of its answer (`kernels/versions.py`);
   the changelog is what differs from version to version. Groups come and go with their rows. The
   one group of an aggregate without keys stays from its first event on.
4. Rows that end at W or later wait in `alive`, ordered by end, with the slot of their group in
   place of its keys. Rows that never end are only in the accumulators.

State: the rows alive and pending, and one accumulator per group and argument. An advance costs its
events, plus a small constant per group for what is indexed by slot and stored anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import DataError, InternalError
from windrow.kernels._jit import writable
from windrow.kernels.sliding_aggregate import slide_counts
from windrow.kernels.versions import OPENING, Events, Versions, changes_of, versions_of
from windrow.operators.accumulators import Accumulator, accumulator_of, resized
from windrow.operators.answers import Answers
from windrow.operators.base import Operator, Snapshot
from windrow.operators.changes import ChangeBatch, concat
from windrow.operators.chunks import Chunk, ChunkBuffer, ChunkSlice
from windrow.operators.key_directory import KeyDirectory
from windrow.physical.specs import SlidingAggregate
from windrow.plan.nodes import Aggregate
from windrow.schema import MAX_TICK

STEP_ROWS = 1 << 17
"""About how many rows of a chunk are worked on at once: their arrays then stay in the cache."""


class SlidingAggregateOp(Operator):
    """GROUP BY with SUM, COUNT and AVG over the rows alive at each instant."""

    kind = "sliding-aggregate"

    def __init__(self, spec: SlidingAggregate) -> None:
        super().__init__()
        self._spec = spec
        self._arguments = _by_argument(spec.aggregates)
        self._reset()

    def _reset(self) -> None:
        self._arriving = ChunkBuffer("time")
        self._alive = ChunkBuffer("end")
        self._directory = KeyDirectory()
        self._accumulators = self._new_accumulators()
        self._row_counts: NDArray[np.int64] = np.zeros(0, np.int64)
        self._held: NDArray[np.int64] = np.zeros(0, np.int64)
        self._groups: tuple[tuple[ChunkSlice, ...], dict[str, int]] | None = None

    def _new_accumulators(self) -> dict[str, Accumulator]:
        return {name: accumulator_of(aggregates) for name, aggregates in self._arguments.items()}

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Stores the rows; gives nothing."""
        (batch,) = batches
        if batch is not None and len(batch):
            self.counters.rows_in += len(batch)
            self._arriving.append(self._kept(batch))
            self._measure()
        return iter(())

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Applies all events below the watermark, in steps, and gives their changes."""
        while self.due() <= watermark and self.due() < MAX_TICK:
            changes = self._step(self._bound_of_step(watermark))
            self.counters.rows_out += len(changes)
            self._measure()
            if len(changes):
                yield changes

    def due(self) -> int:
        """One tick after the first event that waits."""
        first = min(self._arriving.first, self._alive.first)
        return first + 1 if first < MAX_TICK else MAX_TICK

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows that have yet to come into effect, and those alive."""
        return (self._arriving, self._alive)

    def snapshot(self) -> Snapshot:
        """The waiting rows, and the groups as one chunk, made anew only if they changed."""
        if self._groups is None:
            self._groups = self._stored_groups()
        groups, numbers = self._groups
        buffers = {
            "arriving": tuple(self._arriving.slices),
            "alive": tuple(self._alive.slices),
            "groups": groups,
        }
        return Snapshot(self.kind, buffers, numbers)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back."""
        if snapshot.kind != self.kind:
            raise InternalError(
                "state-kind", f"a {self.kind} operator was given the state of a {snapshot.kind}"
            )
        groups = snapshot.buffers["groups"]
        self._reset()
        if groups:
            self._load(groups[0].rows().columns, snapshot.numbers)
        self._groups = groups, snapshot.numbers
        self._arriving = ChunkBuffer("time", snapshot.buffers["arriving"])
        self._alive = ChunkBuffer("end", snapshot.buffers["alive"])
        for part in self._alive.slices:
            np.add.at(self._held, _slots(part.rows()), 1)
        self._measure()

    def _stored_groups(self) -> tuple[tuple[ChunkSlice, ...], dict[str, int]]:
        """Slots, keys, row counts and accumulators; what is no column goes into the numbers."""
        slots = self._directory.slots_in_use()
        if not len(slots):
            return (), {}
        columns = {"slot": pa.array(slots), "rows": pa.array(self._row_counts[slots])}
        columns |= {f"key{i}": key for i, key in enumerate(self._directory.keys_of(slots))}
        numbers = {}
        for i, accumulator in enumerate(self._accumulators.values()):
            numbers[f"low{i}"], parts = accumulator.state(slots)
            columns |= {f"state{i}_{j}": part for j, part in enumerate(parts)}
        batch = ChangeBatch(pa.RecordBatch.from_pydict(columns), np.zeros_like(slots))
        return (ChunkSlice(Chunk(batch, batch.times)),), numbers

    def _load(self, columns: pa.RecordBatch, numbers: dict[str, int]) -> None:
        slots = columns.column("slot").to_numpy()
        names = [name for name in columns.schema.names if name.startswith("key")]
        self._directory = KeyDirectory(slots, [columns.column(name) for name in names])
        self._fit()
        self._row_counts[slots] = columns.column("rows").to_numpy()
        for i, accumulator in enumerate(self._accumulators.values()):
            names = [name for name in columns.schema.names if name.startswith(f"state{i}_")]
            accumulator.load(slots, numbers[f"low{i}"], [columns.column(name) for name in names])

    def _kept(self, batch: ChangeBatch) -> ChangeBatch:
        """Keys and arguments of the rows that are ever alive."""
        columns = {f"key{i}": batch.columns.column(k) for i, k in enumerate(self._spec.keys)}
        if not columns:
            # One group: all rows have the same key.
            columns["key0"] = pa.array(np.zeros(len(batch), np.int8))
        columns |= self._kept_values(batch.columns)
        kept = ChangeBatch(
            pa.RecordBatch.from_pydict(columns), batch.times, batch.ends, batch.signs
        )
        if batch.ends is None:
            return kept
        is_alive = batch.ends > batch.times
        return kept if is_alive.all() else kept.take(np.flatnonzero(is_alive))

    def _kept_values(self, columns: pa.RecordBatch) -> dict[str, pa.Array]:
        """What is stored of rows beside their keys, to take them back later."""
        return {
            f"argument{i}": accumulator.kept(columns.column(name))
            for i, (name, accumulator) in enumerate(self._accumulators.items())
        }

    def _bound_of_step(self, watermark: int) -> int:
        """The watermark, or an earlier instant with fewer events before it."""
        parts = [part for buffer in (self._arriving, self._alive) for part in buffer.slices]
        return min(
            [watermark]
            + [
                int(part.chunk.keys[part.skip + STEP_ROWS]) + 1
                for part in parts
                if len(part) > STEP_ROWS
            ]
        )

    def _step(self, bound: int) -> ChangeBatch:
        """Applies the events below the bound, and gives the changes they make."""
        was_empty = len(self._directory) == 0
        rows, events = self._take_events(bound)
        versions = versions_of(events, self._directory.slot_count)
        every_row = np.ones(len(rows), np.bool_)
        row_counts = slide_counts(versions, every_row, self._row_counts)
        if row_counts.min() < 0:
            raise _nothing_to_delete()
        answers = self._answers(versions, rows, row_counts)
        exists = row_counts > 0
        if not self._spec.keys:
            exists = (versions.previous != OPENING) | (not was_empty)
        changes = self._changes(versions, answers, exists)
        self._forget_empty_groups()
        self.counters.comparisons += len(versions.event_rows)
        return changes

    def _take_events(self, bound: int) -> tuple[ChangeBatch, Events]:
        """Takes out what comes or goes below the bound; rows that stay longer are kept alive.

        time     ...|  entering rows   | bound
                    +-----------)            goes, by its own end
                       +---------------)     is kept alive
            --------------)                  was alive, and leaves
        """
        coming = self._arriving.pop_below(bound)
        leaving = self._alive.pop_below(bound)
        self._groups = None
        entering = None if coming is None else self._entering(coming)
        self._fit()
        rows = concat([batch for batch in (entering, leaving) if batch is not None])
        count = 0 if entering is None else len(entering)
        ends, signs = rows.ends_or_never(), rows.signs_or_insert()
        going = np.flatnonzero(ends < bound)
        going = going[np.argsort(ends[going], kind="stable")]
        if leaving is not None:
            np.subtract.at(self._held, _slots(leaving), 1)
        if entering is not None:
            stays = (ends[:count] >= bound) & (ends[:count] < MAX_TICK)
            self._keep_alive(entering, stays)
        self.counters.drops += 0 if leaving is None else len(leaving)
        events = Events(
            writable(rows.times[:count]),
            ends[going],
            going,
            writable(_slots(rows)),
            writable(signs),
        )
        return rows, events

    def _entering(self, coming: ChangeBatch) -> ChangeBatch:
        """The rows with the slot of their group in place of its keys."""
        names = coming.columns.schema.names
        keys = [coming.columns.column(name) for name in names if name.startswith("key")]
        before = self._directory.probes
        columns = {"slot": pa.array(self._directory.slots_of(keys))}
        self.counters.probes += self._directory.probes - before
        columns |= {n: coming.columns.column(n) for n in names if not n.startswith("key")}
        return replace(coming, columns=pa.RecordBatch.from_pydict(columns))

    def _keep_alive(self, entering: ChangeBatch, stays: NDArray[np.bool_]) -> None:
        staying = int(np.count_nonzero(stays))
        kept = entering if staying == len(stays) else entering.take(np.flatnonzero(stays))
        if kept.signs is not None and (kept.signs > 0).all():
            kept = replace(kept, signs=None)
        self._alive.append(kept)
        np.add.at(self._held, _slots(kept), 1)
        self.counters.drops += len(stays) - staying

    def _answers(
        self, versions: Versions, rows: ChangeBatch, row_counts: NDArray[np.int64]
    ) -> list[Answers]:
        """The answers of every version, one per aggregate."""
        of_argument = {
            name: accumulator.slide(versions, rows.columns.column(f"argument{i}"))
            for i, (name, accumulator) in enumerate(self._accumulators.items())
        }
        count_of_rows = Answers(row_counts, None, pa.int64())
        return [
            of_argument[each.argument.columns[0]][each.function] if each.argument else count_of_rows
            for each in self._spec.aggregates
        ]

    def _changes(
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

    def _forget_empty_groups(self) -> None:
        """Gives up the slots of groups without rows; the one group without keys stays.

        A group may have no row now and rows that are held: what a delete that ends has taken back
        comes again.
        """
        if not self._spec.keys:
            return
        in_use = self._directory.slots_in_use()
        empty = in_use[(self._row_counts[in_use] == 0) & (self._held[in_use] == 0)]
        self._directory.release(empty)
        for accumulator in self._accumulators.values():
            accumulator.clear(empty)

    def _fit(self) -> None:
        """Makes the arrays that slots index as long as there are slots."""
        slots = self._directory.slot_count
        room = len(self._row_counts)
        if room < slots or room > 4 * slots + 64:
            self._row_counts = resized(self._row_counts, 2 * slots)
            self._held = resized(self._held, 2 * slots)
        for accumulator in self._accumulators.values():
            accumulator.fit(slots)

    def _measure(self) -> None:
        self.counters.stored = self._arriving.rows + self._alive.rows
        self.counters.state_bytes = (
            self._arriving.nbytes
            + self._alive.nbytes
            + self._directory.nbytes
            + self._row_counts.nbytes
            + self._held.nbytes
            + sum(accumulator.nbytes for accumulator in self._accumulators.values())
        )


def _slots(rows: ChangeBatch) -> NDArray[np.int64]:
    slots: NDArray[np.int64] = rows.columns.column("slot").to_numpy()
    return slots


def _by_argument(aggregates: Sequence[Aggregate]) -> dict[str, list[Aggregate]]:
    """The aggregates by the column that they read; COUNT(*) reads none."""
    found: dict[str, list[Aggregate]] = {}
    for aggregate in aggregates:
        if aggregate.argument is not None:
            found.setdefault(aggregate.argument.columns[0], []).append(aggregate)
    return found


def _nothing_to_delete() -> DataError:
    return DataError(
        "delete-without-row",
        "a change deletes a row that the stream does not hold",
        reason="a delete must follow the insert of an equal row, at its instant or later",
        hint="check that the changelog is complete and starts with its inserts",
    )
