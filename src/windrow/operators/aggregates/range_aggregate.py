"""WINDOW JOIN: for each left row, aggregates over the right rows of its key in an interval around it.

The interval of a left row l is [t(l) - lo, t(l) + hi], both ends included. Turned around: a right
row r is counted by the left rows from t(r) - hi to t(r) + lo, as a row is alive in a window:

        t(r) - hi        t(r)                t(r) + lo
            [==============|=====================]) one tick later it is gone
            |         |                       |
            l         l                       l        each reads what is alive at its own time

So this is a sliding aggregate (`sliding_aggregate.py`) over right rows that are alive in
[t(r) - hi, t(r) + lo + 1), read by the left rows instead of shown as a changelog. A left row takes
part in the sweep as an event that changes nothing: sign 0, its arguments NULL. The version of its
group at its instant is its answer. A key without right rows alive has no group: COUNT is 0, all
else NULL.

An advance costs the rows that come, go and ask, whatever the interval holds. Sums are exact, and
MIN and MAX by the values that no younger one outdoes, since all right rows live equally long.

The watermark W leaves right rows from W on open, which are alive from W - hi on: what lies below
W - max(hi, 0) is final.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.kernels.sliding_aggregate import slide_counts
from windrow.kernels.versions import Versions
from windrow.operators.aggregates.sliding_aggregate import SlidingAggregateOp
from windrow.operators.columns.arrow_types import arrow_schema, arrow_type, less_delay, moved
from windrow.operators.columns.changes import ChangeBatch, concat, no_rows, select
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.columns.key_columns import can_equal
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from windrow.operators.accumulators.base import Answers
    from windrow.operators.aggregates.sliding import Slots
    from windrow.physical.nodes.range_aggregate import RangeAggregate

LEFT, RIGHT = 0, 1
NO_GROUP = -1
NO_VERSION = -1


class RangeAggregateOp(SlidingAggregateOp):
    """The state and the steps of one WINDOW JOIN; ports: 0 left, 1 right."""

    kind = "range-aggregate"

    def __init__(self, node: RangeAggregate) -> None:
        self._join = node
        self._keys = tuple(
            tuple(str(one.columns[port]) for one in node.classes) for port in (LEFT, RIGHT)
        )
        self._asks = tuple(dict.fromkeys([*node.keep, *self._keys[LEFT]]))
        self._ahead = max(node.hi, 0)
        self._left = ChunkBuffer("time")
        super().__init__(
            SlidingAggregate(node.right, self._keys[RIGHT], node.aggregates, node.schema)
        )
        self._named["left"] = self._left

    def _reset(self) -> None:
        super()._reset()
        self._asking: ChangeBatch | None = None
        self._asked: NDArray[np.int64] = np.empty(0, np.int64)

    def _admit(self, port: int, batch: ChangeBatch) -> None:
        """Keeps the left rows, and the right rows that a left one can count."""
        if port == LEFT:
            self._left.append(ChangeBatch(select(batch.columns, self._asks), batch.times))
            return
        right = batch.where(self._has_key(RIGHT, batch))
        if len(right):
            since = np.maximum(moved(right.times, -self._join.hi), MIN_TICK + 1)
            ends = moved(right.times, self._join.lo + 1)
            self._arriving.append(self._kept(RIGHT, replace(right, times=since, ends=ends)))

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the left rows whose intervals the watermark has passed, in steps."""
        return super().advance(less_delay(watermark, self._ahead))

    def due(self) -> int:
        """When the interval of the first left row is complete, or the first right row goes."""
        return min(self._first + self._ahead + 1, MAX_TICK)

    def _timed(self) -> Sequence[ChunkBuffer]:
        """The left rows that wait, and the right rows."""
        return (*super()._timed(), self._left)

    def _has_key(self, port: int, rows: ChangeBatch) -> NDArray[np.bool_]:
        """Which rows have a key that equals another: no NULL, but where NULLs match."""
        columns = [rows.columns.column(name) for name in self._keys[port]]
        return can_equal(len(rows), columns, [one.null_safe for one in self._join.classes])

    def _step(self, bound: int) -> ChangeBatch:
        """Sweeps over what lies below the bound; gives the left rows with their answers."""
        self._asking = self._left.pop_below(bound)
        if min(self._arriving.first, self._alive.first) >= bound:
            assert self._asking is not None, "a step has something to do"
            if (self._groups_of(self._asking) == NO_GROUP).all():
                self.counters.drops += len(self._asking)
                return self._shown(self._asking, [], np.full(len(self._asking), NO_VERSION))
        return super()._step(bound)

    def _groups_of(self, rows: ChangeBatch) -> Slots:
        """The group that each left row asks, NO_GROUP where its key has none."""
        keys = [rows.columns.column(name) for name in self._keys[LEFT]]
        if not keys:
            keys = [pa.array(np.zeros(len(rows), np.int8))]
        return np.where(self._has_key(LEFT, rows), self._directory.find(keys), NO_GROUP)

    def _coming(self, bound: int) -> ChangeBatch | None:
        """The right rows that come, and the left rows as events that change nothing."""
        entering = super()._coming(bound)
        if self._asking is None:
            self._asked = np.empty(0, np.int64)
            return entering
        groups = self._groups_of(self._asking)
        asked = np.flatnonzero(groups != NO_GROUP)
        self.counters.drops += len(groups) - len(asked)  # the others go as rows that come do
        columns = {"slot": pa.array(groups[asked])}
        columns |= {n: pa.nulls(len(asked), kind) for n, kind in self._stored_types().items()}
        asks = ChangeBatch(
            pa.RecordBatch.from_pydict(columns),
            self._asking.times[asked],
            np.full(len(asked), MAX_TICK),
            np.zeros(len(asked), np.int8),
        )
        if entering is None:
            self._asked = asked
            return asks if len(asks) else None
        rows = concat([entering, asks])
        order = np.argsort(rows.times, kind="stable")
        self._asked = np.concatenate([np.full(len(entering), NO_VERSION), asked])[order]
        return rows.take(order)

    def _stored_types(self) -> dict[str, pa.DataType]:
        """The types of what is stored of the arguments."""
        fields = {field.name: arrow_type(field.type) for field in self._join.right.schema.fields}
        nothing = pa.RecordBatch.from_pydict(
            {name: pa.array([], fields[name]) for name in self._readers}
        )
        return {name: column.type for name, column in self._kept_values(nothing).items()}

    def _changes(self, versions: Versions, rows: ChangeBatch) -> ChangeBatch:
        """The left rows, each with the answers of its group at its instant."""
        counts = slide_counts(versions, np.ones(len(rows), np.bool_), self._row_counts)
        # Rows without an end would be kept for their values; those that ask have none.
        is_asking = rows.signs_or_insert() == 0
        ends = np.where(is_asking, MIN_TICK, rows.ends_or_never())
        answers = self._answers(versions, replace(rows, ends=ends), counts)
        if self._asking is None:
            return no_rows(arrow_schema(self._join.schema))
        version_of = np.repeat(np.arange(len(versions.slots)), np.diff(versions.first_event))
        is_read = is_asking[versions.event_rows]
        read = np.full(len(self._asking), NO_VERSION)
        read[self._asked[versions.event_rows[is_read]]] = version_of[is_read]
        return self._shown(self._asking, answers, read)

    def _shown(
        self, asking: ChangeBatch, answers: Sequence[Answers], read: NDArray[np.int64]
    ) -> ChangeBatch:
        """The left rows with the answers of the versions that they read."""
        has_group = read != NO_VERSION
        places = np.where(has_group, np.cumsum(has_group) - 1, np.count_nonzero(has_group))
        columns = [asking.columns.column(name) for name in self._join.keep]
        for number, aggregate in enumerate(self._join.aggregates):
            kind = arrow_type(aggregate.type)
            nothing = pa.array([aggregate.definition.of_nothing], kind)
            found = nothing[:0]
            if answers:
                answers[number].check(read[has_group])
                found = answers[number].take(read[has_group])
            columns.append(pa.concat_arrays([found.cast(kind), nothing]).take(pa.array(places)))
        names = list(self._join.schema.names)
        return ChangeBatch(pa.RecordBatch.from_arrays(columns, names=names), asking.times)

    def _has_nothing(self, slots: Slots) -> NDArray[np.bool_]:
        """The groups without rows: one without keys goes like any other."""
        empty: NDArray[np.bool_] = self._row_counts[slots] == 0
        return empty
