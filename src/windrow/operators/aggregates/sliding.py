"""Operators that answer per group, exact at every instant: rows in, a changelog out.

    row, alive in [time, end)       +........-
    row, alive in [time, end)            +........-
    answer of the group           a      b   c    (gone)
    changelog                    +a    -a+b -b+c -c

1. `push` stores rows in `arriving`, ordered by time: below the watermark more may still come.
2. `advance(W)` takes the rows with time < W out of it, and those with end < W out of `alive`.
   Each is an event of its group: its sign at its time, the opposite at its end. (A row that takes
   another back ends with it: - at its time, + at the instant at which the other is a - too.)
3. The events of one group at one instant make one version of its answer (`kernels/versions.py`);
   the changelog is what differs from version to version. Groups come and go with their rows.
4. Rows that end at W or later wait in `alive`, ordered by end, with the slot of their group in
   place of its keys. Rows that never end are only in what is kept per group.

The paper's words for the same: `time` is a tuple's maxTS, `end` follows from its minTS, `alive` is
the table H of the tuples in the window, and the key directory finds what is kept per group.

State: the rows alive and pending, and what is kept per group. An advance costs its events, plus a
small constant per group for what is indexed by slot and stored anew.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.jit import writable
from windrow.kernels.versions import OPENING, Events, Versions, versions_of
from windrow.operators.accumulators.base import resized
from windrow.operators.columns.changes import ChangeBatch, concat
from windrow.operators.columns.chunks import Chunk, ChunkBuffer, ChunkSlice
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.engine.base import Snapshot, SteppingOp
from windrow.schema import MAX_TICK

Slots = NDArray[np.int64]
Stored = tuple[tuple[ChunkSlice, ...], dict[str, int]]
"""Groups as they are stored: one chunk or none, and numbers."""


class SlidingOp(SteppingOp):
    """What sliding aggregates and set operations have in common.

    Rows are stored with their keys in the columns `key0`, `key1`, .. and with what else is kept of
    them; in `alive` the column `slot` stands for the keys.
    """

    def __init__(self) -> None:
        self._arriving, self._alive = ChunkBuffer("time"), ChunkBuffer("end")
        super().__init__({"arriving": self._arriving, "alive": self._alive})
        self._reset()

    def _reset(self) -> None:
        """Begins without groups."""
        self._directory = KeyDirectory()
        self._held: NDArray[np.int64] = np.zeros(0, np.int64)
        self._latest: NDArray[np.int64] = np.full(0, OPENING)
        self._groups: Stored | None = None

    @abstractmethod
    def _kept_columns(self, port: int, batch: ChangeBatch) -> dict[str, pa.Array]:
        """The keys of rows, and what is stored of them beside these."""

    @abstractmethod
    def _changes(self, versions: Versions, rows: ChangeBatch) -> ChangeBatch:
        """Applies the events of the versions to the groups; gives the changes they make."""

    @abstractmethod
    def _has_nothing(self, slots: Slots) -> NDArray[np.bool_]:
        """Which of the groups have no row now, and are not to be kept for that."""

    @abstractmethod
    def _clear(self, slots: Slots) -> None:
        """Forgets what these slots held."""

    @abstractmethod
    def _group_columns(self, slots: Slots) -> tuple[dict[str, pa.Array], dict[str, int]]:
        """What is kept of groups, as columns, and as numbers where it is none."""

    @abstractmethod
    def _load_groups(self, slots: Slots, columns: pa.RecordBatch, numbers: dict[str, int]) -> None:
        """Puts back what `_group_columns` gave."""

    def _admit(self, port: int, batch: ChangeBatch) -> None:
        self._arriving.append(self._kept(port, batch))

    def _timed(self) -> Sequence[ChunkBuffer]:
        """The rows that have yet to come into effect, and those alive."""
        return (self._arriving, self._alive)

    def snapshot(self) -> Snapshot:
        """The waiting rows, and the groups as one chunk, made anew only if they changed."""
        if self._groups is None:
            self._groups = self._stored_groups()
        groups, numbers = self._groups
        made = super().snapshot()
        return replace(made, buffers=made.buffers | {"groups": groups}, numbers=numbers)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back."""
        self._reset()
        super().restore(replace(snapshot, numbers={}))
        groups = snapshot.buffers["groups"]
        if groups:
            columns = groups[0].rows().columns
            slots = columns.column("slot").to_numpy()
            names = [name for name in columns.schema.names if name.startswith("key")]
            self._directory = KeyDirectory(slots, [columns.column(name) for name in names])
            self._fit()
            self._load_groups(slots, columns, snapshot.numbers)
        self._groups = groups, snapshot.numbers
        for part in self._alive.slices:
            np.add.at(self._held, _slots(part.rows()), 1)
        self._measure()

    def _stored_groups(self) -> Stored:
        slots = self._directory.slots_in_use()
        if not len(slots):
            return (), {}
        columns = {"slot": pa.array(slots)}
        columns |= {f"key{i}": key for i, key in enumerate(self._directory.keys_of(slots))}
        own, numbers = self._group_columns(slots)
        batch = ChangeBatch(pa.RecordBatch.from_pydict(columns | own), np.zeros_like(slots))
        return (ChunkSlice(Chunk(batch, batch.times)),), numbers

    def _kept(self, port: int, batch: ChangeBatch) -> ChangeBatch:
        """What is stored of the rows that are ever alive."""
        columns = _record(self._kept_columns(port, batch))
        kept = ChangeBatch(columns, batch.times, batch.ends, batch.signs)
        return kept if batch.ends is None else kept.where(batch.ends > batch.times)

    def _step(self, bound: int) -> ChangeBatch:
        """Applies the events below the bound, and gives the changes they make."""
        rows, events = self._take_events(bound)
        versions = versions_of(events, self._latest)
        changes = self._changes(versions, rows)
        self._forget_empty_groups(versions.slots[versions.previous == OPENING])
        self.counters.comparisons += len(versions.event_rows)
        return changes

    def _take_events(self, bound: int) -> tuple[ChangeBatch, Events]:
        """Takes out what comes or goes below the bound; rows that stay longer are kept alive.

        time     ...|  entering rows   | bound
                    +-----------)            goes, by its own end
                       +---------------)     is kept alive
            --------------)                  was alive, and leaves
        """
        entering = self._coming(bound)
        leaving = self._alive.pop_below(bound)
        self._groups = None
        self._fit()
        rows = concat([batch for batch in (entering, leaving) if batch is not None])
        count = 0 if entering is None else len(entering)
        ends, signs, slots = rows.ends_or_never(), rows.signs_or_insert(), _slots(rows)
        going = (ends < bound).nonzero()[0]
        if len(going) > 1:
            going = going[np.argsort(ends[going], kind="stable")]
        if leaving is not None:
            np.subtract.at(self._held, slots[count:], 1)
            self.counters.drops += len(leaving)
        if entering is not None:
            own = ends[:count]
            self._keep_alive(entering, slots[:count], (own >= bound) & (own < MAX_TICK))
        events = Events(
            writable(rows.times[:count]), ends[going], going, writable(slots), writable(signs)
        )
        return rows, events

    def _coming(self, bound: int) -> ChangeBatch | None:
        """The rows that come below the bound, in the order of their times."""
        coming = self._arriving.pop_below(bound)
        return None if coming is None else self._entering(coming)

    def _entering(self, coming: ChangeBatch) -> ChangeBatch:
        """The rows with the slot of their group in place of its keys."""
        keys: list[pa.Array] = []
        columns: dict[str, pa.Array] = {}
        for name, column in zip(coming.columns.schema.names, coming.columns.columns, strict=True):
            if name.startswith("key"):
                keys.append(column)
            else:
                columns[name] = column
        before = self._directory.probes
        slots = pa.array(self._directory.slots_of(keys))
        self.counters.probes += self._directory.probes - before
        own = _record({"slot": slots, **columns})
        return ChangeBatch(own, coming.times, coming.ends, coming.signs)

    def _keep_alive(self, entering: ChangeBatch, slots: Slots, stays: NDArray[np.bool_]) -> None:
        kept = entering.where(stays)
        if kept.signs is not None and (kept.signs > 0).all():
            kept = replace(kept, signs=None)
        self._alive.append(kept)
        np.add.at(self._held, slots[stays], 1)
        self.counters.drops += len(stays) - len(kept)

    def _forget_empty_groups(self, touched: Slots) -> None:
        """Gives up the slots of those groups without rows among some that rows came to or left.

        A group may have no row now and rows that are held: what a delete that ends has taken back
        comes again.
        """
        empty = touched[self._has_nothing(touched)]
        empty = empty[self._held[empty] == 0]
        self._directory.release(empty)
        self._clear(empty)

    def _fit(self) -> None:
        """Makes the arrays that slots index as long as there are slots."""
        slots = self._directory.slot_count
        room = len(self._held)
        if room < slots or room > 4 * slots + 64:
            self._resize(2 * slots)

    def _resize(self, room: int) -> None:
        """Gives the arrays that slots index room for so many."""
        self._held = resized(self._held, room)
        self._latest = np.full(room, OPENING)

    def _measure(self) -> None:
        super()._measure()
        self.counters.state_bytes += (
            self._directory.nbytes + self._held.nbytes + self._latest.nbytes + self._group_bytes()
        )

    @abstractmethod
    def _group_bytes(self) -> int:
        """Bytes of what is kept per group."""


def _record(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _slots(rows: ChangeBatch) -> Slots:
    slots: Slots = rows.columns.column("slot").to_numpy()
    return slots
