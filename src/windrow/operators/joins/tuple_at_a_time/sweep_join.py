"""The window join by an algorithm that sweeps in time order.

    rows of all inputs   --------------------------|----------------|------------->  time
                          joined: in the lanes,     released: swept   waiting: a row below them
                          with the machine          when W passes     may still come
                                                joined_to            W, the watermark

A push puts rows aside. An advance releases those that the watermark has passed, and lets the
machine (`kernels/tuple_at_a_time/sweep_machine.py`) sweep over them: a combination comes out once the
watermark is beyond its newest row. Nothing that such a combination feeds has been told more than
the watermark before, so that the join adds no delay:

    before      W         the operator above was last advanced to W
    after       W'        combinations with newest time in [W, W') come; then it is advanced to W'

The state is that of every window join. An algorithm that answers on arrival may have left a state
that is joined farther than the watermark. Until that has caught up, rows at or before `joined_to`
may come: they are joined at once, by backward evaluation.

    joined at once, as they come   [ W ............ joined_to ]  waiting

One kind of row does not wait for the watermark: where all windows of an input look back, nothing
still to come can meet a row that lies a little beyond W. It is joined at once too, and forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from windrow.kernels.tuple_at_a_time.sweep_machine import SweepMachine
from windrow.kernels.tuple_at_a_time.tape import Int64s
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkBuffer, ChunkSlice
from windrow.operators.engine.base import Operator, Snapshot
from windrow.operators.joins.bew_join import BewJoinOp
from windrow.operators.joins.join_inputs import (
    first_drop,
    last_needed,
    parted,
    state_of,
    stored_state,
)
from windrow.operators.joins.tuple_at_a_time.lanes import LanedInputs, merged_turns
from windrow.operators.joins.tuple_at_a_time.results import JoinResults
from windrow.physical.nodes.time_join import TimeJoin
from windrow.registry import load
from windrow.schema import MIN_TICK


class SweepJoinOp(Operator):
    """Joins two or more inputs of inserts by an algorithm that sweeps."""

    def __init__(self, node: TimeJoin) -> None:
        super().__init__()
        self._node = node
        self._retention = [node.retention(port) for port in range(len(node.inputs))]
        self._joined_to = MIN_TICK
        self._waiting = [ChunkBuffer("time") for _ in node.inputs]
        self._ahead: BewJoinOp | None = None
        self._start_empty()

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Puts rows aside; gives what rows complete that come behind what was joined."""
        if self._ahead is not None:
            parts = [_cut(batch, self._joined_to) for batch in batches]
            batches = [waiting for _, waiting in parts]
            if any(early for early, _ in parts):
                yield from self._ahead.push([early for early, _ in parts])
        for buffer, rows in zip(self._waiting, self._inputs.admitted(batches), strict=True):
            if rows is not None:
                buffer.append(rows)
        self._count_state()

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the combinations whose newest row the watermark has passed; drops old rows."""
        if self._ahead is not None and watermark > self._joined_to:
            self._catch_up(self._ahead)
        if self._ahead is None:
            yield from self._swept(watermark)
        yield from self._joined_early(watermark)
        if self._ahead is None:
            self._drop(watermark)
        else:
            yield from self._ahead.advance(watermark)
        self._count_state()

    def due(self) -> int:
        """The least watermark that releases or drops a row."""
        joined = self._inputs if self._ahead is None else self._ahead
        waiting = first_drop(self._waiting, [min(kept, 0) for kept in self._retention])
        return min(joined.due(), waiting)

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows that wait, and those that have been joined."""
        if self._ahead is not None:
            return [*self._waiting, *self._ahead.buffers()]
        return [*self._waiting, *(rows.buffer for rows in self._inputs.rows)]

    def tuples_beside(self) -> int:
        """Tuples that the sweep keeps though their rows are gone."""
        if self._ahead is not None:
            return self._ahead.tuples_beside()
        return self._inputs.entries_beside(self._machine.heads())

    def snapshot(self) -> Snapshot:
        """The rows of each input, and the time up to which they have been joined."""
        slices = [
            [*own, *waiting.slices]
            for own, waiting in zip(self._joined_slices(), self._waiting, strict=True)
        ]
        return state_of(slices, self._joined_to)

    def restore(self, snapshot: Snapshot) -> None:
        """Takes over the rows of a state, whichever algorithm has left it."""
        buffers, joined_to = stored_state(snapshot, len(self._node.inputs))
        newest = max((part.last for own in buffers for part in own), default=MIN_TICK)
        self._joined_to = min(joined_to, newest)
        parts = [parted(own, self._joined_to) for own in buffers]
        self._waiting = [ChunkBuffer("time", waiting) for _, waiting in parts]
        self._start_empty()
        self._ahead = BewJoinOp(self._node)
        self._ahead.counters = self.counters
        self._ahead.restore(state_of([joined for joined, _ in parts]))
        self._count_state()

    def _joined_slices(self) -> list[list[ChunkSlice]]:
        """Per input, the rows that have been joined."""
        if self._ahead is not None:
            return [buffer.slices for buffer in self._ahead.buffers()]
        return [list(rows.slices()) for rows in self._inputs.rows]

    def _start_empty(self) -> None:
        """Lets go of all tuples, and of what was derived from them."""
        self._inputs = LanedInputs(self._node, self.counters)
        self._results = JoinResults(self._node, self._inputs.lanes, self._inputs.rows)
        self._machine = _machine_for(self._node, self._inputs.lanes.tape.first)

    def _catch_up(self, ahead: BewJoinOp) -> None:
        """Lays out the rows of a state: nothing comes any more at or before what it has joined."""
        self._ahead = None
        times = self._inputs.restore([buffer.slices for buffer in ahead.buffers()])
        self._machine = _machine_for(self._node, self._inputs.lanes.tape.first)
        self._machine.adopt(self._inputs.lanes.tape, merged_turns(times))

    def _swept(self, watermark: int) -> Iterator[ChangeBatch]:
        """The answers that the rows below the watermark complete."""
        self._joined_to = max(self._joined_to, watermark - 1)
        released = [buffer.pop_below(watermark) for buffer in self._waiting]
        if not any(released):
            return
        if not self._inputs.fits(released):
            self._machine.moved(self._inputs.make_room(released, self._machine.heads()))
        turns = self._inputs.append(released)
        coming = np.full(len(released), watermark)
        self._machine.begin(self._inputs.lanes.tape, turns, coming)
        yield from self._results.given_by(self._machine, self.counters)

    def _joined_early(self, watermark: int) -> Iterator[ChangeBatch]:
        """The answers of rows from the watermark on that nothing to come can meet.

        All that they can meet lies before the watermark, so no two of them belong together.
        """
        final = [
            buffer.pop_below(last_needed(watermark, retention)) if retention < 0 else None
            for buffer, retention in zip(self._waiting, self._retention, strict=True)
        ]
        if not any(final):
            return
        backward = BewJoinOp(self._node)
        backward.restore(state_of(self._joined_slices()))
        yield from backward.push(final)
        for name in ("rows_out", "probes", "comparisons"):
            done = getattr(self.counters, name) + getattr(backward.counters, name)
            setattr(self.counters, name, done)
        self.counters.drops += sum(len(rows) for rows in final if rows is not None)

    def _drop(self, watermark: int) -> None:
        """Drops the rows that no row from the watermark on can reach, or that the sweep dropped."""
        needed = [last_needed(watermark, retention) for retention in self._retention]
        lanes = self._inputs.lanes
        self._machine.drop_below(lanes.tape, np.array(needed))
        heads = self._machine.heads()
        for port, rows in enumerate(self._inputs.rows):
            swept = heads[port] == lanes.next[port]
            oldest = self._joined_to + 1 if swept else int(lanes.tape.times[heads[port]])
            self.counters.drops += rows.drop_below(oldest)
        if not len(self._inputs):
            self._start_empty()
        elif self._inputs.is_roomy:
            nothing = [None] * len(self._node.inputs)
            self._machine.moved(self._inputs.make_room(nothing, self._machine.heads()))

    def _count_state(self) -> None:
        if self._ahead is None:
            self._inputs.count()
            self.counters.state_bytes += self._machine.nbytes
        else:
            self.counters.stored = sum(buffer.rows for buffer in self._ahead.buffers())
            self.counters.state_bytes = sum(buffer.nbytes for buffer in self._ahead.buffers())
        self.counters.stored += sum(buffer.rows for buffer in self._waiting)
        self.counters.state_bytes += sum(buffer.nbytes for buffer in self._waiting)


def _machine_for(node: TimeJoin, first: Int64s) -> SweepMachine:
    """A machine that holds no tuple yet."""
    machine: SweepMachine = load(node.chosen.machine)(node, first)
    return machine


def _cut(
    batch: ChangeBatch | None, joined_to: int
) -> tuple[ChangeBatch | None, ChangeBatch | None]:
    """The rows of a batch at or before a time, and those after it."""
    if batch is None:
        return None, None
    is_early = batch.times <= joined_to
    return batch.take(np.flatnonzero(is_early)), batch.take(np.flatnonzero(~is_early))
