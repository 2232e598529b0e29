"""Left outer bestmatch join of two streams in time order (MatWin of the bestmatch paper).

For each left row: its pairs with right rows, none dominated by another of its candidates.

    push       keeps the rows of both sides, by time
    advance    joins the left rows that are final, then forgets what none can reach any more

The reach of a left row r is the times its candidates can have:

      t(r) - lo           t(r)             t(r) + hi        W
          |----------------|-------------------|            |
                                               |<- final -->|     t(r) + hi < W: no right row that
                                                                  is to come (t >= W) lies in reach

A right row s is needed by the left rows with t(r) in [t(s) - hi, t(s) + lo]. Those that may still
ask are the ones kept, from the oldest on, and the ones to come, from W on:

          t(s)         t(s) + lo    oldest left row kept    W
           |---------------|                |               |
                           |<- not needed ->|               s goes once
                                                            t(s) + lo < min(oldest, W)

The oldest left row kept has t >= W - hi, so that no right row with t(s) + lo + hi < W stays; where
no left row waits, a right row goes hi earlier.

Example in seconds, lo = hi = 10: r at 12:00:30 reaches 12:00:20 to 12:00:40 and is final at the
watermark 12:00:41. Then a right row of 12:00:30 goes, unless a left row of 12:00:31 to 12:00:40
still waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.errors import InternalError
from windrow.operators.arrow_types import arrow_type
from windrow.operators.base import Operator, Snapshot
from windrow.operators.bestmatch_pairs import LEFT, RIGHT, Found, PairFinder
from windrow.operators.changes import ChangeBatch, select
from windrow.operators.chunks import ChunkBuffer
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from windrow.operators.chunks import ChunkSlice
    from windrow.physical.specs import MatwinBestmatch

KIND = "bestmatch-join"

BLOCK_ROWS = 16_384
"""Final left rows joined at a time: bounds the memory of their candidates and results."""

NOWHERE = -1
"""The place of the right row of a left row that has none."""


class MatwinBestmatchOp(Operator):
    """The state and the steps of one left outer bestmatch join; ports: 0 left, 1 right."""

    def __init__(self, spec: MatwinBestmatch) -> None:
        super().__init__()
        self._spec = spec
        self._finder = PairFinder(spec, self.counters)
        self._needed = (_needed_columns(spec, LEFT), _needed_columns(spec, RIGHT))
        types = dict(zip(spec.right.schema.names, spec.right.schema.fields, strict=True))
        self._right_types = [arrow_type(types[name].type) for name in spec.keep[RIGHT]]
        self._left = ChunkBuffer()
        self._right = ChunkBuffer()

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Keeps the rows; nothing is final before the watermark says so."""
        for port, buffer in ((LEFT, self._left), (RIGHT, self._right)):
            batch = batches[port]
            if batch is not None and len(batch):
                self.counters.rows_in += len(batch)
                columns = select(batch.columns, self._needed[port])
                buffer.append(ChangeBatch(columns, batch.times, batch.ends))
        self._count_stored()
        return iter(())

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the best pairs of the left rows that are final, then forgets."""
        final = self._left.pop_below(_final_below(watermark, self._spec.hi))
        if final is not None:
            self.counters.drops += len(final)
            for start in range(0, len(final), BLOCK_ROWS):
                block = final.slice(start, min(start + BLOCK_ROWS, len(final)))
                result = self._joined(block)
                self.counters.rows_out += len(result)
                if len(result):
                    yield result
        needed_from = min(watermark, self._left.first)
        self.counters.drops += self._right.drop_below(_final_below(needed_from, self._spec.lo))
        self._count_stored()

    def due(self) -> int:
        """When the oldest left row is final, or the oldest right row is out of reach of all.

        A right row that a waiting left row reaches goes no sooner than that left row.
        """
        due = MAX_TICK
        if self._left.rows:
            due = min(due, self._left.first + self._spec.hi + 1)
        if self._right.rows and self._right.first + self._spec.lo < self._left.first:
            due = min(due, self._right.first + self._spec.lo + 1)
        return max(due, MIN_TICK)

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows of either side."""
        return (self._left, self._right)

    def snapshot(self) -> Snapshot:
        """Both windows, as chunks."""
        buffers = {"left": tuple(self._left.slices), "right": tuple(self._right.slices)}
        return Snapshot(KIND, buffers)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts both windows back."""
        if snapshot.kind != KIND:
            raise InternalError(
                "foreign-state", f"a bestmatch join cannot read the state of a {snapshot.kind}"
            )
        self._left = ChunkBuffer(slices=snapshot.buffers["left"])
        self._right = ChunkBuffer(slices=snapshot.buffers["right"])
        self._count_stored()

    def _count_stored(self) -> None:
        self.counters.stored = self._left.rows + self._right.rows
        self.counters.state_bytes = self._left.nbytes + self._right.nbytes

    def _joined(self, left: ChangeBatch) -> ChangeBatch:
        """The rows of the answer for final left rows in time order; ordered by left row."""
        slices = self._right.slices
        found = self._finder.best(left, slices)
        gathered = _Gathered(slices, found)
        left_rows, places = found.left, gathered.places
        if self._spec.keep_unmatched:
            is_alone = np.ones(len(left), np.bool_)
            is_alone[left_rows] = False
            alone = np.flatnonzero(is_alone)
            left_rows = np.concatenate([left_rows, alone])
            places = np.concatenate([places, np.full(len(alone), NOWHERE)])
            order = np.argsort(left_rows, kind="stable")
            left_rows, places = left_rows[order], places[order]
        taken = pa.array(left_rows)
        columns = [left.columns.column(name).take(taken) for name in self._spec.keep[LEFT]]
        for name, kind in zip(self._spec.keep[RIGHT], self._right_types, strict=True):
            columns.append(gathered.column(name, kind, places))
        names = [*self._spec.keep[LEFT], *self._spec.keep[RIGHT]]
        return ChangeBatch(
            pa.RecordBatch.from_arrays(columns, names=names),
            np.maximum(left.times[left_rows], gathered.times(places)),
            self._ends(left, left_rows, gathered, places),
        )

    @staticmethod
    def _ends(
        left: ChangeBatch,
        left_rows: NDArray[np.int64],
        gathered: _Gathered,
        places: NDArray[np.int64],
    ) -> NDArray[np.int64] | None:
        if left.ends is None and not gathered.has_ends:
            return None
        return np.minimum(left.ends_or_never()[left_rows], gathered.ends(places))


class _Gathered:
    """The right rows of the pairs found, gathered chunk by chunk.

    `places[i]` is where the right row of pair i stands among the rows gathered.
    """

    def __init__(self, slices: Sequence[ChunkSlice], found: Found) -> None:
        by_part = np.argsort(found.parts, kind="stable")
        self.places = np.empty(len(by_part), np.int64)
        self.places[by_part] = np.arange(len(by_part))
        self._pieces = [
            (slices[part].chunk.batch, found.rows[found.parts == part])
            for part in np.unique(found.parts)
        ]

    @property
    def has_ends(self) -> bool:
        """Whether some right row has an end."""
        return any(batch.ends is not None for batch, _ in self._pieces)

    def column(self, name: str, kind: pa.DataType, places: NDArray[np.int64]) -> pa.Array:
        """The values of a column at the places, NULL where that is NOWHERE."""
        if not self._pieces:
            return pa.nulls(len(places), kind)
        pieces = [batch.columns.column(name).take(pa.array(rows)) for batch, rows in self._pieces]
        return pa.concat_arrays(pieces).take(pa.array(places, mask=places == NOWHERE))

    def times(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The event times at the places, the first tick where that is NOWHERE."""
        pieces = [batch.times[rows] for batch, rows in self._pieces]
        return _at(pieces, places, MIN_TICK)

    def ends(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ends at the places, never where that is NOWHERE."""
        pieces = [batch.ends_or_never()[rows] for batch, rows in self._pieces]
        return _at(pieces, places, MAX_TICK)


def _at(
    pieces: Sequence[NDArray[np.int64]], places: NDArray[np.int64], nowhere: int
) -> NDArray[np.int64]:
    # NOWHERE is -1: it reads the number put last.
    numbers = np.concatenate([*pieces, np.array([nowhere], np.int64)])
    return numbers[places]


def _needed_columns(spec: MatwinBestmatch, port: int) -> tuple[str, ...]:
    """The columns that the join reads or gives, each once; the rest need not be kept."""
    dimensions = [(d.left, d.right)[port] for d in spec.dimensions if not d.is_time]
    keys = [name for one in spec.classes if (name := one.columns[port]) is not None]
    return tuple(dict.fromkeys([*spec.keep[port], *dimensions, *keys]))


def _final_below(watermark: int, reach: int) -> int:
    """The least time t with t + reach >= watermark: rows below it are beyond reach.

    The two infinities stay what they are.
    """
    if watermark in (MIN_TICK, MAX_TICK):
        return watermark
    return max(MIN_TICK, min(watermark - reach, MAX_TICK))
