"""Outer, semi and anti window joins of two inputs: BEW, and rows that come alone once final.

    left, right, full   the pairs, and each row of a preserved input that has no match, with NULLs
    semi, anti          each row of the first input that has a match; that has none

Pairs are found as in the inner join (`bew_join`) and come in the push of their last row; a row of a
semi join comes with its first match. A row that is to come alone waits until no match can follow:

       t - back              t                t + on          W
          |------------------|-------------------|            |
                                                 |<- final -->|   t + on < W: no row that is to
                                                                  come (t >= W) lies in reach

where `on` is the closed bound towards the other input: the row is final at the watermark at which
the inner join drops it, so that nothing is kept longer for its sake. With a negative bound, matches
lie before the row, which is final as it comes.

Where rows have ends, under an aggregate, the answer is that of the join at every instant: a row
stands alone while it is alive and no match of it is, once or several times (`alone`), and a semi or
anti join gives it for such times. The bounds are then no tighter than the longest life of a row;
one that has ended before another comes does not match it:

    left      t |=======| end
    right                   t |=====|      within the bounds, never alive together

Example in seconds, left outer, t(right) - t(left) in [-10, 5]: a left row of 12:00:30 without a
match comes with NULLs at the watermark 12:00:36, event time 12:00:30.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.operators.columns.arrow_types import arrow_type
from windrow.operators.columns.changes import ChangeBatch, Places, select
from windrow.operators.columns.chunks import Chunk, ChunkBuffer
from windrow.operators.engine.base import Snapshot
from windrow.operators.joins.bew_join import BewJoinOp, found_places
from windrow.operators.joins.bew_search import FoundBlock
from windrow.operators.joins.bew_window import JoinWindow
from windrow.operators.joins.join_inputs import first_drop, last_needed
from windrow.operators.joins.match_log import NUMBER, Intervals, Matched, numbered, together
from windrow.physical.nodes.outer_join import OuterJoin
from windrow.schema import MIN_TICK

if TYPE_CHECKING:
    from windrow.operators.routing.by_slices import OwnSlices

STATE_KIND = "outer-join"

NEXT_NUMBER = "next_number"

FINAL_ROWS = 1 << 15
"""Final rows taken out of a chunk at a time: at the end of the streams, all rows are final."""


class OuterJoinOp(BewJoinOp):
    """Joins two inputs; rows of one or both come alone.

    Args:
        node: the join.
        own: in one bucket of several, which rows it answers for: only these come alone, and only
            pairs with a first row among them come. None: all rows.
    """

    def __init__(self, node: OuterJoin, own: OwnSlices | None = None) -> None:
        super().__init__(node)
        self._node: OuterJoin = node
        self._own = own
        self._by_instant = node.is_by_instant
        self._matched = {port: Matched(by_instant=self._by_instant) for port in node.tracked}
        self._next_number = 0
        types = {field.name: arrow_type(field.type) for field in node.schema.fields}
        self._types = [[types[name] for name in kept if name in types] for kept in node.keep]

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the rows that come alone and are final, and drops what is out of reach."""
        for port, buffer in enumerate(self._buffers):
            bound = last_needed(watermark, self._retention[port])
            if port not in self._matched:
                self.counters.drops += buffer.drop_below(bound)
                continue
            for step in self._steps(port, bound):
                for rows in self._final(port, step):
                    if len(rows):
                        self.counters.rows_out += len(rows)
                        yield self._with_nulls(port, rows)
        self._count_state()

    def due(self) -> int:
        """The least watermark that drops a row; a row that comes alone is dropped with that."""
        lone = [matched.lone for matched in self._matched.values()]
        return min(super().due(), first_drop(lone, [self._retention[p] for p in self._matched]))

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows of each input, and what is known of their matches."""
        return list(self._named().values())

    def _named(self) -> dict[str, ChunkBuffer]:
        """The same by the names under which they are stored."""
        named = {str(port): buffer for port, buffer in enumerate(self._buffers)}
        for port, matched in self._matched.items():
            named |= {f"log {port}": matched.log, f"lone {port}": matched.lone}
        return named

    def snapshot(self) -> Snapshot:
        """The rows of each input by its position, and what is known of their matches."""
        buffers = {name: tuple(buffer.slices) for name, buffer in self._named().items()}
        return Snapshot(STATE_KIND, buffers, {NEXT_NUMBER: self._next_number})

    def restore(self, snapshot: Snapshot) -> None:
        """Puts rows and matches back."""
        snapshot.check_kind(STATE_KIND)
        for name, buffer in self._named().items():
            buffer.slices = list(snapshot.buffers.get(name, ()))
        self._next_number = snapshot.numbers.get(NEXT_NUMBER, 0)
        self._count_state()

    def _admitted(self, port: int, batch: ChangeBatch | None) -> Chunk | None:
        chunk = super()._admitted(port, batch)
        if chunk is None or port not in self._matched:
            return chunk
        rows = numbered(chunk.batch, self._next_number)
        self._next_number += len(rows)
        return Chunk(rows, rows.times)

    def _set_aside(self, port: int, rows: ChangeBatch) -> None:
        """Keeps rows that can match nothing, but have a time and are to come alone."""
        if port in self._matched and not self._node.gives_matched:
            self._matched[port].lone.append(timed_rows(rows))

    def _results(self, windows: Sequence[JoinWindow]) -> Iterator[ChangeBatch]:
        """The pairs, or the rows of a semi join that they are the first matches of."""
        matches: dict[int, list[Intervals]] = {port: [] for port in self._matched}
        for block in self._search(windows).blocks(self._routes):
            found = self._alive_together(windows, block) if self._by_instant else block
            for port, own in matches.items():
                answered_for = self._answered_for(port, found)
                if answered_for:
                    own.append(self._matches(windows, port, answered_for))
            pairs = self._answered_for(0, found)
            if pairs and self._node.gives_pairs:
                yield self._gathered(windows, pairs)
        for port, own in matches.items():
            if own:
                yield from self._noted(port, windows[port], own)

    def _alive_together(self, windows: Sequence[JoinWindow], found: FoundBlock) -> FoundBlock:
        """The pairs of which both rows are alive when the later one comes."""
        kept = []
        for route, partial in found:
            places = zip(route.order, partial.places, strict=True)
            ends = [windows[side].ends(Places(own)) for side, own in places]
            alive = np.flatnonzero(partial.times.max(axis=0) < np.minimum(*ends))
            if len(alive):
                kept.append((route, partial if len(alive) == len(partial) else partial.take(alive)))
        return kept

    def _answered_for(self, port: int, found: FoundBlock) -> FoundBlock:
        """The pairs whose row of an input this join answers for."""
        if self._own is None:
            return found
        kept = []
        for route, partial in found:
            own = np.flatnonzero(self._own.holds(partial.times[route.order.index(port)]))
            if len(own):
                kept.append((route, partial.take(own)))
        return kept

    def _matches(self, windows: Sequence[JoinWindow], port: int, found: FoundBlock) -> Intervals:
        """The places of the rows that are part of a pair; by instant, when the pair is alive."""
        places = [found_places(found, side) for side in (0, 1)]
        if not self._by_instant:
            own = np.unique(places[port])
            return Intervals(own, own, own)
        ends = [window.ends(Places(side)) for window, side in zip(windows, places, strict=True)]
        times = np.concatenate([partial.times.max(axis=0) for _, partial in found])
        return together(Intervals(places[port], times, np.minimum(*ends)))

    def _noted(
        self, port: int, window: JoinWindow, found: Sequence[Intervals]
    ) -> Iterator[ChangeBatch]:
        """Logs the matches of a push; gives the rows of a semi join that come with them."""
        matched, is_semi = self._matched[port], self._node.gives_matched
        matches = Intervals(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
        own, numbers = np.unique(matches.rows, return_inverse=True)
        names = [*(self._node.keep[port] if is_semi else ()), NUMBER]
        rows = window.rows(names, Places(own))
        if self._by_instant:
            matched.note_instants(rows, matches._replace(rows=numbers))
            return
        fresh = matched.note(rows)
        if is_semi and len(fresh):
            yield self._with_nulls(port, rows.take(fresh))

    def _steps(self, port: int, bound: int) -> Iterator[int]:
        """Bounds that lead up to `bound`: so few rows at a time are taken out of each chunk."""
        step = MIN_TICK
        while step < bound:
            parts = [part for part in self._buffers[port].slices if len(part) > FINAL_ROWS]
            ahead = [int(part.chunk.keys[part.skip + FINAL_ROWS]) + 1 for part in parts]
            step = min([bound, *ahead])
            yield step

    def _final(self, port: int, bound: int) -> Iterator[ChangeBatch]:
        """What is to come alone of the rows below a bound, which leave the state."""
        matched = self._matched[port]
        rows, log = self._buffers[port].pop_below(bound), matched.log.pop_below(bound)
        lone = matched.lone.pop_below(bound)
        self.counters.drops += sum(len(part) for part in (rows, lone) if part is not None)
        if rows is not None and not self._node.gives_matched:
            yield matched.alone(self._own_rows(rows), log)
        elif rows is not None and self._by_instant:
            yield matched.in_company(self._own_rows(rows), log)
        if lone is not None:
            yield lone

    def _own_rows(self, rows: ChangeBatch) -> ChangeBatch:
        """Those that this join answers for."""
        return rows if self._own is None else rows.where(self._own.holds(rows.times))

    def _with_nulls(self, port: int, rows: ChangeBatch) -> ChangeBatch:
        """Rows of one input as rows of the answer."""
        arrays: list[pa.Array] = []
        for side, types in enumerate(self._types):
            if side == port:
                arrays += select(rows.columns, self._node.keep[port]).columns
            else:
                arrays += [pa.nulls(len(rows), kind) for kind in types]
        names = list(self._node.schema.names)
        return ChangeBatch(pa.RecordBatch.from_arrays(arrays, names=names), rows.times, rows.ends)

    def _count_state(self) -> None:
        super()._count_state()
        for matched in self._matched.values():
            self.counters.stored += matched.lone.rows
            self.counters.state_bytes += matched.lone.nbytes + matched.log.nbytes


def timed_rows(rows: ChangeBatch) -> ChangeBatch:
    """Those that have a time."""
    return rows.take(np.flatnonzero(rows.times != MIN_TICK))
