"""From combinations of positions to the rows of the answer.

A machine gives one position per input and combination. Of these are left, in this order:

1. those that one of the graphs of windows allows, where there are two (EITHER WAY);
2. those whose keys are equal by value, where words are hashes;
3. those for which all predicates are true.

Their rows are gathered from the chunks, side by side. A pipeline asks earlier, of the partial
combinations that leave a level: each test is made at the first level that has what it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.tuple_at_a_time.machine import Machine, blocks
from windrow.kernels.tuple_at_a_time.tape import PROBES, TOUCHED, Int64s, room_for
from windrow.operators.columns.changes import ChangeBatch, Places
from windrow.operators.columns.key_columns import equal_values
from windrow.operators.engine.base import Counters
from windrow.operators.joins.join_steps import Predicates, meets_all
from windrow.operators.joins.tuple_at_a_time.lanes import LaneRows, Lanes
from windrow.physical.algorithms import PIPELINE
from windrow.physical.nodes.time_join import TimeJoin

Flags = NDArray[np.bool_]

MOST_FOUND = 1 << 15
"""Combinations that a machine hands over together."""


class JoinResults:
    """Makes the rows of a join's answer, from its tuples and the rows behind them, per input."""

    def __init__(self, node: TimeJoin, lanes: Lanes, rows: Sequence[LaneRows]) -> None:
        self._node = node
        self._lanes = lanes
        self._rows = rows
        self._predicates = Predicates(node) if node.predicates else None
        self._tests_early = node.chosen.kind == PIPELINE

    def given_by(self, machine: Machine, counters: Counters) -> Iterator[ChangeBatch]:
        """The answers of the turns that a machine was handed; its work is counted on the way."""
        tape = self._lanes.tape
        counted = machine.work.copy()
        for positions in blocks(machine, tape, room_for(MOST_FOUND, len(self._rows))):
            done = machine.work - counted
            counted = machine.work.copy()
            counters.probes += int(done[PROBES])
            counters.comparisons += int(done[TOUCHED])
            answers = self.batch(positions)
            if answers is not None:
                counters.rows_out += len(answers)
                yield answers

    def batch(self, positions: Int64s) -> ChangeBatch | None:
        """The answers among some combinations; None for none."""
        if not self._tests_early:
            positions = positions[self._passed(positions, ports=range(len(self._rows)))]
        return self._gathered(positions) if len(positions) else None

    def kept(self, order: Sequence[int], places: Int64s) -> Int64s:
        """Which partial combinations of a pipeline climb on.

        They hold the inputs in `order`, the last one new, whose positions are columns of `places`.
        """
        positions = np.zeros((len(places), len(self._rows)), np.int64)
        positions[:, list(order)] = places
        return self._passed(positions, ports=order, added=order[-1])

    def _passed(self, positions: Int64s, ports: Sequence[int], added: int | None = None) -> Int64s:
        """The combinations that pass all tests that some inputs allow.

        Args:
            positions: a column per input; those of other inputs say nothing.
            ports: the inputs.
            added: the one that the tests must read, those without it having been made; None: any.
        """
        left = np.arange(len(positions))
        for test in (self._meets_a_graph, self._has_equal_keys, self._meets_predicates):
            if len(left):
                passed = test(positions[left], ports, added)
                left = left if passed is None else left[passed]
        return left

    def _meets_a_graph(
        self,
        positions: Int64s,
        ports: Sequence[int],
        added: int | None,  # noqa: ARG002  (which graph was met is known to all bounds together)
    ) -> Flags | None:
        """Whether combinations meet all bounds of one of two graphs; None where there is one."""
        if self._node.alternative is None:
            return None
        times = {port: self._lanes.tape.times[positions[:, port]] for port in ports}
        ways = [meets_all(graph.stated, times, len(positions)) for graph in self._node.ways]
        meets_one: Flags = np.logical_or.reduce(ways)
        return meets_one

    def _has_equal_keys(
        self, positions: Int64s, ports: Sequence[int], added: int | None
    ) -> Flags | None:
        """Whether keys are equal by value; None where words have proven it."""
        same: Flags | None = None
        for key in self._node.classes:
            columns = ((port, key.columns[port]) for port in ports)
            names = {port: name for port, name in columns if name is not None}
            if len(names) < 2 or (added is not None and added not in names):
                continue
            if all(self._rows[port].is_exact(name) for port, name in names.items()):
                continue
            values = [self._columns(positions, port, [name])[0] for port, name in names.items()]
            for other in values[1:]:
                equal = equal_values(values[0], other)
                same = equal if same is None else same & equal
        return same

    def _meets_predicates(
        self, positions: Int64s, ports: Sequence[int], added: int | None
    ) -> Flags | None:
        if self._predicates is None:
            return None
        numbers = self._predicates.asked(self._ready(ports, added), len(ports))
        if not numbers:
            return None
        columns: dict[str, pa.Array] = {}
        for port in range(len(self._rows)):
            names = self._predicates.columns(numbers, port)
            columns |= zip(names, self._columns(positions, port, names), strict=True)
        return self._predicates.mask(numbers, columns, len(positions), len(ports))

    def _ready(self, ports: Sequence[int], added: int | None) -> Sequence[int]:
        """The predicates that can be tested, and could not be before `added` came."""
        assert self._predicates is not None
        if added is None:
            return range(len(self._predicates))
        before = [port for port in ports if port != added]
        ready = self._predicates.first_ready(before, added)
        if len(before) == 1:  # the first level: what its left stream alone allows comes with it
            ready += self._predicates.first_ready([], before[0])
        return ready

    def _gathered(self, positions: Int64s) -> ChangeBatch:
        arrays: list[pa.Array] = []
        ends: Int64s | None = None
        for port, rows in enumerate(self._rows):
            arrays += self._columns(positions, port, self._node.keep[port])
            if rows.has_ends:
                own = rows.ends(self._places(positions, port))
                ends = own if ends is None else np.minimum(ends, own)
        columns = pa.RecordBatch.from_arrays(arrays, names=list(self._node.schema.names))
        return ChangeBatch(columns, self._lanes.tape.times[positions].max(axis=1), ends)

    def _columns(self, positions: Int64s, port: int, names: Sequence[str]) -> list[pa.Array]:
        if not names:
            return []
        return self._rows[port].columns(names, self._places(positions, port))

    def _places(self, positions: Int64s, port: int) -> Places:
        return Places(self._lanes.places[positions[:, port]])
