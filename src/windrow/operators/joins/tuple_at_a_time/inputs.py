"""What is pushed to an algorithm that takes tuple by tuple, laid out as tuples and kept as rows.

    push      rows that can match, in time order  ->  lanes (time, words) and chunks (rows)
    turns     the inputs of the new tuples, merged by time; at one time, in the order of FROM

The tuples of a restored state are laid out in time order too, whichever order they came in.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from windrow.kernels.tuple_at_a_time.machine import Move
from windrow.kernels.tuple_at_a_time.tape import Numbers
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkSlice
from windrow.operators.columns.key_columns import column_words, mixed_words
from windrow.operators.engine.base import Counters
from windrow.operators.joins.join_inputs import can_match, last_needed, only_inserts
from windrow.operators.joins.tuple_at_a_time.lane_rows import LaneRows, Lanes, Words
from windrow.operators.joins.tuple_at_a_time.tuple_words import (
    compared_pairs,
    comparison_words,
    range_of,
    range_words,
)
from windrow.physical.nodes.time_join import TimeJoin
from windrow.schema import MAX_TICK, MIN_TICK


class LanedInputs:
    """All inputs of a join.

    Attributes:
        lanes: the tuples.
        rows: the rows behind them, per input.
    """

    def __init__(self, node: TimeJoin, counters: Counters) -> None:
        self._node = node
        self._counters = counters
        ports = range(len(node.inputs))
        self._columns = [node.columns_needed(port) for port in ports]
        self._retention = [node.retention(port) for port in ports]
        self._range = range_of(node)
        self._pairs = compared_pairs(node)
        words = len(node.classes) + len(self._pairs) + (0 if self._range is None else 3)
        self.lanes = Lanes(len(ports), words)
        self.rows = [LaneRows(port, self.lanes) for port in ports]

    def __len__(self) -> int:
        return sum(map(len, self.rows))

    def admitted(self, batches: Sequence[ChangeBatch | None]) -> list[ChangeBatch | None]:
        """Per input the rows that can match, in time order; None for none."""
        return [self._admitted(port, batch) for port, batch in enumerate(batches)]

    def fits(self, batches: Sequence[ChangeBatch | None]) -> bool:
        """Whether the lanes have room for rows."""
        return self.lanes.fits(_counts(batches))

    def make_room(self, batches: Sequence[ChangeBatch | None], heads: Numbers) -> Move:
        """Sees to it that rows fit, by moving all tuples from `heads` on."""
        return self.lanes.make_room(_counts(batches), heads)

    @property
    def is_roomy(self) -> bool:
        """Whether the lanes have far more room than the rows held need."""
        return self.lanes.is_roomy(len(self))

    def entries_beside(self, heads: Numbers) -> int:
        """The tuples from `heads` on whose rows are gone: a machine has not let go of them yet."""
        return max(0, self.lanes.entries(heads) - len(self))

    def append(self, batches: Sequence[ChangeBatch | None]) -> Numbers:
        """Takes rows for which there is room; gives the turns of their tuples."""
        for port, rows in enumerate(batches):
            if rows is not None:
                serials = self.lanes.append(port, rows.times, self._words(port, rows))
                self.rows[port].append(rows, serials)
        none = np.zeros(0, np.int64)
        return merged_turns([none if rows is None else rows.times for rows in batches])

    def restore(self, buffers: Sequence[Sequence[ChunkSlice]]) -> list[Numbers]:
        """Takes over the rows of a state, the lanes being empty; gives their times by input."""
        times, orders = [], []
        for slices in buffers:
            own = [part.chunk.keys[part.skip :] for part in slices]
            whole = np.concatenate([np.zeros(0, np.int64), *own])
            orders.append(np.argsort(whole, kind="stable"))
            times.append(whole[orders[-1]])
        self.lanes.make_room(np.array([len(own) for own in times]), self.lanes.next)
        for port, slices in enumerate(buffers):
            if not slices:
                continue
            parts = [self._words(port, part.rows()) for part in slices]
            words = np.concatenate(parts)[orders[port]]
            serials = np.empty(len(words), np.int64)
            serials[orders[port]] = self.lanes.append(port, times[port], words)
            cuts = np.cumsum([len(part) for part in slices])[:-1]
            self.rows[port].restore(slices, np.split(serials, cuts))
        return times

    def drop(self, watermark: int) -> None:
        """Drops the rows that no row from the watermark on can reach."""
        for rows, retention in zip(self.rows, self._retention, strict=True):
            self._counters.drops += rows.drop_below(last_needed(watermark, retention))

    def due(self) -> int:
        """The least watermark that drops a row."""
        dues = [
            rows.buffer.first + retention + 1
            for rows, retention in zip(self.rows, self._retention, strict=True)
            if len(rows)
        ]
        return max(MIN_TICK, min([*dues, MAX_TICK]))

    def count(self) -> None:
        """Counts what is held."""
        self._counters.stored = len(self)
        self._counters.state_bytes = self.lanes.nbytes + sum(
            rows.buffer.nbytes for rows in self.rows
        )

    def _admitted(self, port: int, batch: ChangeBatch | None) -> ChangeBatch | None:
        if batch is None or not len(batch):
            return None
        self._counters.rows_in += len(batch)
        rows = only_inserts(self._node, port, batch, self._columns[port])
        possible = can_match(self._node, port, rows)
        if not possible.all():
            rows = rows.take(np.flatnonzero(possible))
        return rows.sorted_by(rows.times) if len(rows) else None

    def _words(self, port: int, rows: ChangeBatch) -> Words:
        """The mixed words of each key class, then those that loops compare; 0 for no column.

        Where structures are kept by something else, these are words of their own.
        """
        if self._range is not None:
            return range_words(self._range, port, rows)
        words = np.zeros((len(rows), len(self._node.classes) + len(self._pairs)), np.uint64)
        words[:, len(self._node.classes) :] = comparison_words(self._pairs, port, rows)
        for at, key in enumerate(self._node.classes):
            name = key.columns[port]
            if name is not None:
                words[:, at] = mixed_words(column_words(rows.columns.column(name)).words)
        return words


def _counts(batches: Sequence[ChangeBatch | None]) -> Numbers:
    return np.array([0 if rows is None else len(rows) for rows in batches], np.int64)


def merged_turns(times: Sequence[Numbers]) -> Numbers:
    """The inputs of tuples as time goes by, each input's times ascending."""
    inputs = np.repeat(np.arange(len(times)), [len(own) for own in times])
    return inputs[np.lexsort((inputs, np.concatenate(times)))]
