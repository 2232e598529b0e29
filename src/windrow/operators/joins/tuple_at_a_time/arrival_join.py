"""The window join by an algorithm that answers on arrival, tuple by tuple.

A push goes through three steps:

1. Rows that can match nothing are left out; the others join the lanes and the state (`join_inputs.py`).
2. The machine, which the algorithm names (`physical.algorithms`), takes the tuples of all inputs,
   in time order, and gives positions of combinations, block by block.
3. Each block is tested where the machine could not, and gathered (`results.py`).

The watermark is what the machine drops by: no tuple below it is still to come. What a machine
drops late, or keeps between inputs, is derived from the rows: the state has only those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from windrow.kernels.tuple_at_a_time.machine import ArrivalMachine, PipelinedMachine
from windrow.kernels.tuple_at_a_time.tape import Int64s
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.engine.base import Operator, Snapshot
from windrow.operators.joins.join_inputs import state_of, stored_state
from windrow.operators.joins.tuple_at_a_time.lanes import LanedInputs, merged_turns
from windrow.operators.joins.tuple_at_a_time.results import JoinResults
from windrow.physical.nodes.time_join import TimeJoin
from windrow.registry import load
from windrow.schema import MAX_TICK, MIN_TICK


class ArrivalJoinOp(Operator):
    """Joins two or more inputs of inserts by an algorithm that answers on arrival."""

    def __init__(self, node: TimeJoin) -> None:
        super().__init__()
        self._node = node
        self._watermark = MIN_TICK
        self._joined_to = MIN_TICK
        self._waiting: Int64s = np.zeros(0, np.int64)
        self._start_empty()

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Gives the combinations whose last row is among these."""
        yield from self._join_waiting()
        admitted = self._inputs.admitted(batches)
        if not self._inputs.fits(admitted):
            self._machine.trim(self._inputs.lanes.tape, self._coming)
            self._machine.moved(self._inputs.make_room(admitted, self._machine.heads()))
        yield from self._joined(self._inputs.append(admitted))
        self._count_state()

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Drops the rows that no row from the watermark on can reach."""
        yield from self._join_waiting()
        self._watermark = watermark
        self._inputs.drop(watermark)
        meets_old = self._node.chosen.cleans_at_times and watermark < MAX_TICK
        if not len(self._inputs) and not meets_old:
            self._start_empty()
        else:
            self._machine.trim(self._inputs.lanes.tape, self._coming)
            if self._inputs.is_roomy and not meets_old:
                nothing = [None] * len(self._node.inputs)
                self._machine.moved(self._inputs.make_room(nothing, self._machine.heads()))
        self._count_state()

    def due(self) -> int:
        """The least watermark that drops a row; any, while rows of a restored state wait."""
        return MIN_TICK if len(self._waiting) else self._inputs.due()

    def buffers(self) -> Sequence[ChunkBuffer]:
        """The rows of each input, with their serial numbers."""
        return [rows.buffer for rows in self._inputs.rows]

    def tuples_beside(self) -> int:
        """Partial combinations, and tuples that a machine keeps though their rows are gone."""
        heads = self._machine.heads()
        return self.counters.intermediate + self._inputs.entries_beside(heads)

    def snapshot(self) -> Snapshot:
        """The rows of each input, and the time up to which they have been joined."""
        joined_to = self._joined_to if len(self._waiting) else None
        return state_of([rows.slices() for rows in self._inputs.rows], joined_to)

    def restore(self, snapshot: Snapshot) -> None:
        """Takes over the rows of a state; those that were not joined yet wait for the next step."""
        buffers, self._joined_to = stored_state(snapshot, len(self._node.inputs))
        self._start_empty()
        times = self._inputs.restore(buffers)
        self._start_machine()
        before = [own[own <= self._joined_to] for own in times]
        self._machine.adopt(self._inputs.lanes.tape, merged_turns(before))
        self._waiting = merged_turns([own[own > self._joined_to] for own in times])
        self._count_state()

    def _start_empty(self) -> None:
        """Lets go of all tuples, and of what was derived from them."""
        self._inputs = LanedInputs(self._node, self.counters)
        self._results = JoinResults(self._node, self._inputs.lanes, self._inputs.rows)
        self._start_machine()
        self._waiting = np.zeros(0, np.int64)

    def _start_machine(self) -> None:
        make = load(self._node.chosen.machine)
        machine: ArrivalMachine = make(self._node, self._inputs.lanes.tape.first)
        self._machine = machine
        # Asked once: to compare with a protocol reads every property, so sizes of all buffers.
        self._pipelined = machine if isinstance(machine, PipelinedMachine) else None
        if self._pipelined is not None:
            self._pipelined.test_with(self._results.kept)

    def _join_waiting(self) -> Iterator[ChangeBatch]:
        """Gives the combinations of restored rows that another algorithm had not come to."""
        if len(self._waiting):
            waiting, self._waiting = self._waiting, np.zeros(0, np.int64)
            yield from self._joined(waiting)

    def _joined(self, turns: Int64s) -> Iterator[ChangeBatch]:
        """The answers that the tuples of some turns complete."""
        if not len(turns):
            return
        self._machine.begin(self._inputs.lanes.tape, turns, self._coming)
        yield from self._results.given_by(self._machine, self.counters)

    @property
    def _coming(self) -> Int64s:
        """Per input, the least time that may still come."""
        return np.full(len(self._node.inputs), self._watermark)

    def _count_state(self) -> None:
        self._inputs.count()
        self.counters.state_bytes += self._machine.nbytes
        if self._pipelined is not None:
            self.counters.intermediate = self._pipelined.intermediate
