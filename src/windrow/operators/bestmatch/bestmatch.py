"""Outer bestmatch joins of two streams in time order (MatWin of the bestmatch paper).

For each row of a judged input: its pairs with rows of the other, none dominated by another of its
candidates. Judged are left rows (left outer), right rows (right outer) or both (full outer).

    push       keeps the rows of both sides, by time
    advance    judges the rows that are final, then forgets what none can reach any more

The reach of a left row r is the times its candidates can have:

      t(r) - lo           t(r)             t(r) + hi        W
          |----------------|-------------------|            |
                                               |<- final -->|     t(r) + hi < W: no right row that
                                                                  is to come (t >= W) lies in reach

A right row s is met by the left rows with t(r) in [t(s) - hi, t(s) + lo]. Those that may still
ask are the ones that wait, from the oldest on, and the ones to come, from W on:

          t(s)         t(s) + lo    oldest left row waiting W
           |---------------|                |               |
                           |<- not needed ->|               s goes once
                                                            t(s) + lo < min(oldest, W)

The oldest left row waiting has t >= W - hi, so that no right row with t(s) + lo + hi < W stays;
where no left row waits, a right row goes hi earlier. Right rows are judged by the mirror of this:
sides, lo and hi change places.

In a full outer join a row waits to be judged, and is kept to be met after that:

    r comes        judged: W > t(r) + hi       gone: t(r) + hi < min(oldest right row waiting, W)
       |<- waiting ->|<--------- met ---------->|

There a pair is proven twice, for r at W > t(r) + hi and for s at W > t(s) + lo, and comes out with
the first proof. What came out for one side is noted until the other is judged (`EmittedPairs`):

    t(r)      t(s)      t(r) + hi            t(s) + lo
     |---------|------------|--------------------|-------> watermark
                            |<---- emitted ----->|
                            best for r?          best for s? then it came out already

(or the other way round). Rows are numbered as they arrive, and an emitted pair is noted by the numbers
of its rows, at the time of the row that is still to be judged: it is forgotten with that judgement.

Example in seconds, lo = hi = 10: r at 12:00:30 reaches 12:00:20 to 12:00:40 and is final at the
watermark 12:00:41. Then a right row of 12:00:30 goes, unless a left row of 12:00:31 to 12:00:40
still waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.bestmatch.match_index import LEFT, RIGHT, PairFinder
from windrow.operators.bestmatch.rows import FoundPairs, RowBuilder, gathered
from windrow.operators.columns.changes import ChangeBatch, select
from windrow.operators.columns.chunks import ChunkBuffer, ChunkSlice
from windrow.operators.engine.base import WaitingOp
from windrow.operators.joins.match_log import NUMBER, numbered
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.operators.routing.by_cells import OwnCells
    from windrow.physical.nodes.bestmatch import MatwinBestmatch


FIRST, SECOND = "$first", "$second"
"""The numbers of a pair's rows: the one that was judged, and the one that is yet to be."""

Int64s = NDArray[np.int64]


class EmittedPairs:
    """The pairs that came out when rows of one side were judged."""

    def __init__(self) -> None:
        self.log = ChunkBuffer("time")

    def note(self, judged: Int64s, others: Int64s, times: Int64s) -> None:
        """Notes pairs; the times are those of the rows that are yet to be judged."""
        entries = pa.RecordBatch.from_pydict({FIRST: judged, SECOND: others})
        self.log.append(ChangeBatch(entries, times))

    def names(self, judged: Int64s, others: Int64s, times: Int64s) -> NDArray[np.bool_]:
        """Which pairs are noted, of those whose other rows have these times."""
        if not len(times):
            return np.zeros(0, np.bool_)
        noted = [self._within(part, int(times.min()), int(times.max())) for part in self.log.slices]
        first = np.concatenate([judged, *(pair[0] for pair in noted)])
        second = np.concatenate([others, *(pair[1] for pair in noted)])
        # Both numbers in one. The rows held at once are far fewer than 2^31, and so are the
        # numbers between the first and the last of them.
        first -= first.min()
        second -= second.min()
        keys = first * (second.max() + 1) + second
        return np.isin(keys[: len(judged)], keys[len(judged) :])

    def drop_below(self, bound: int) -> None:
        """Forgets the pairs whose other rows are judged: those with times below the bound."""
        self.log.drop_below(bound)

    @staticmethod
    def _within(part: ChunkSlice, first: int, last: int) -> tuple[Int64s, Int64s]:
        """The pairs that a chunk notes at times from first to last."""
        start = max(part.skip, int(np.searchsorted(part.chunk.keys, first, side="left")))
        stop = max(start, int(np.searchsorted(part.chunk.keys, last, side="right")))
        columns = part.chunk.batch.columns
        return (
            columns.column(FIRST).to_numpy()[start:stop],
            columns.column(SECOND).to_numpy()[start:stop],
        )


BLOCK_ROWS, BLOCK_BY_VALUE = 16_384, 1_024
"""Final rows judged at a time: bounds the memory of their candidates and results. Where orders look
at values, all candidates are held, and not only the best of each chunk."""

NAMES = ("left", "right")
NEXT_NUMBER = "next_number"

AT_HOME = "$at_home"
"""A column of our own, where the rows of several buckets are copied to one: whose it is."""


class _Side:
    """The rows of one input: those that wait to be judged, and others, kept to be met."""

    def __init__(self) -> None:
        self.waiting = ChunkBuffer()
        self.met = ChunkBuffer()

    @property
    def slices(self) -> list[ChunkSlice]:
        """All of them, to be looked through."""
        return [*self.met.slices, *self.waiting.slices]


class MatwinBestmatchOp(WaitingOp):
    """The state and the steps of one outer bestmatch join; ports: 0 left, 1 right.

    Args:
        node: the join.
        own: in one bucket of several, which rows of a full outer join it answers for: only pairs
            with a left row among them come, and only such rows come alone. None: all rows.
    """

    kind = "bestmatch-join"

    def __init__(self, node: MatwinBestmatch, own: OwnCells | None = None) -> None:
        self._sides = (_Side(), _Side())
        self._emitted = (EmittedPairs(), EmittedPairs())
        self._is_full = len(node.judged) > 1
        super().__init__(self._by_name(node), {NEXT_NUMBER: 0})
        self._node = node
        self._own = own
        self._finders = {port: PairFinder(node, port, self.counters) for port in node.judged}
        self._rows = RowBuilder(node)
        self._needed = (_needed_columns(node, LEFT), _needed_columns(node, RIGHT))

    def _by_name(self, node: MatwinBestmatch) -> dict[str, ChunkBuffer]:
        """The rows of either side, and the pairs emitted."""
        named = {
            name: side.waiting if port in node.judged else side.met
            for port, (name, side) in enumerate(zip(NAMES, self._sides, strict=True))
        }
        if self._is_full:
            for name, side, emitted in zip(NAMES, self._sides, self._emitted, strict=True):
                named[f"{name} met"] = side.met
                named[f"told {name}"] = emitted.log  # the name that checkpoints have
        return named

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the best pairs of the rows that are final, then forgets."""
        size = BLOCK_BY_VALUE if any(d.is_by_value for d in self._node.dimensions) else BLOCK_ROWS
        for port, final in self._final(watermark):
            for start in range(0, len(final), size):
                block = final.slice(start, min(start + size, len(final)))
                result = self._judged(port, block)
                self.counters.rows_out += len(result)
                if len(result):
                    yield result
        self._forget(watermark)
        self._measure()

    def due(self) -> int:
        """When the oldest row that waits is final, or the oldest other row is out of reach of all.

        A row that a waiting one reaches goes no sooner than that one.
        """
        due = MAX_TICK
        for port, side in enumerate(self._sides):
            wait = self._node.wait(port)
            if side.waiting.rows:
                due = min(due, side.waiting.first + wait + 1)
            if side.met.rows and side.met.first + wait < self._sides[1 - port].waiting.first:
                due = min(due, side.met.first + wait + 1)
        return max(due, MIN_TICK)

    def _admit(self, port: int, batch: ChangeBatch) -> None:
        """Keeps the columns that matter; nothing is final before the watermark says so."""
        columns = select(batch.columns, self._needed[port])
        self._keep(port, ChangeBatch(columns, batch.times, batch.ends))

    def _keep(self, port: int, rows: ChangeBatch) -> None:
        side = self._sides[port]
        if not self._is_full:
            (side.waiting if port in self._node.judged else side.met).append(rows)
            return
        rows = numbered(rows, self._numbers[NEXT_NUMBER])
        self._numbers[NEXT_NUMBER] += len(rows)
        if self._own is None:
            side.waiting.append(rows)
            return
        # A left row is judged at home alone; a right one wherever it may meet such a row.
        at_home = self._own.holds(port, rows)
        rows = _with_column(rows, AT_HOME, at_home)
        waits = at_home if port == LEFT else np.ones(len(rows), np.bool_)
        side.waiting.append(rows.take(np.flatnonzero(waits)))
        side.met.append(rows.take(np.flatnonzero(~waits)))

    def _final(self, watermark: int) -> Iterator[tuple[int, ChangeBatch]]:
        """The rows of each judged input that wait no longer, in time order."""
        for port in self._node.judged:
            rows = self._popped(port, self._final_below(port, watermark))
            if rows is not None:
                yield port, rows

    def _final_below(self, port: int, watermark: int) -> int:
        """The time from which on rows of an input are not final yet."""
        return _final_below(watermark, self._node.wait(port))

    def _popped(self, port: int, bound: int) -> ChangeBatch | None:
        """The rows of an input that wait and have times below a bound: they wait no longer."""
        side = self._sides[port]
        rows = side.waiting.pop_below(bound)
        if rows is not None and self._is_full:
            side.met.append(rows)
        elif rows is not None:
            self.counters.drops += len(rows)
        return rows

    def _met_below(self, port: int, watermark: int) -> int:
        """The time from which on rows of an input can still be met."""
        needed_from = min(watermark, self._sides[1 - port].waiting.first)
        return _final_below(needed_from, self._node.wait(port))

    def _forget(self, watermark: int) -> None:
        for port, side in enumerate(self._sides):
            self.counters.drops += side.met.drop_below(self._met_below(port, watermark))
            self._emitted[1 - port].drop_below(self._final_below(port, watermark))

    def _measure(self) -> None:
        """Counts what is held; of the pairs emitted, only the bytes."""
        super()._measure()
        self.counters.stored -= sum(emitted.log.rows for emitted in self._emitted)

    def _judged(self, port: int, rows: ChangeBatch) -> ChangeBatch:
        """The rows of the answer for final rows in time order; ordered by these."""
        slices = self._sides[1 - port].slices
        found = self._best(port, rows, slices)
        alone = np.empty(0, np.int64)
        if self._node.keep_unmatched:
            is_alone = np.ones(len(rows), np.bool_)
            is_alone[found.asked] = False
            if self._own is not None:
                is_alone &= _at_home(rows)
            alone = np.flatnonzero(is_alone)
        if self._is_full:
            found = self._new(port, rows, slices, found)
        return self._rows.build(port, rows, slices, found, alone)

    def _best(self, port: int, rows: ChangeBatch, slices: Sequence[ChunkSlice]) -> FoundPairs:
        """The best pairs of final rows with the other input's rows, by the former."""
        return self._finders[port].best(rows, slices)

    def _new(
        self, port: int, rows: ChangeBatch, slices: Sequence[ChunkSlice], found: FoundPairs
    ) -> FoundPairs:
        """The pairs that this bucket answers for and that did not come out for the other side."""
        if self._own is not None and port == RIGHT:
            at_home = gathered(slices, found, _at_home, np.bool_)
            found = found.take(np.flatnonzero(at_home))
        judged = _numbers(rows)[found.asked]
        others = gathered(slices, found, _numbers, np.int64)
        is_emitted = self._emitted[1 - port].names(others, judged, rows.times[found.asked])
        fresh = np.flatnonzero(~is_emitted)
        found = found.take(fresh)
        times = gathered(slices, found, lambda batch: batch.times, np.int64)
        self._emitted[port].note(judged[fresh], others[fresh], times)
        return found


def _with_column(rows: ChangeBatch, name: str, values: NDArray[np.bool_]) -> ChangeBatch:
    columns = [*rows.columns.columns, pa.array(values)]
    names = [*rows.columns.schema.names, name]
    return ChangeBatch(pa.RecordBatch.from_arrays(columns, names=names), rows.times, rows.ends)


def _at_home(rows: ChangeBatch) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = rows.columns.column(AT_HOME).to_numpy(zero_copy_only=False)
    return flags


def _numbers(rows: ChangeBatch) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = rows.columns.column(NUMBER).to_numpy()
    return numbers


def _needed_columns(node: MatwinBestmatch, port: int) -> tuple[str, ...]:
    """The columns that the join reads or gives, each once; the rest need not be kept."""
    dimensions = [(d.left, d.right)[port] for d in node.dimensions if not d.is_time]
    keys = [name for one in node.classes if (name := one.columns[port]) is not None]
    return tuple(dict.fromkeys([*node.keep[port], *dimensions, *keys]))


def _final_below(watermark: int, reach: int) -> int:
    """The least time t with t + reach >= watermark: rows below it are beyond reach.

    The two infinities stay what they are.
    """
    if watermark in (MIN_TICK, MAX_TICK):
        return watermark
    return max(MIN_TICK, min(watermark - reach, MAX_TICK))
