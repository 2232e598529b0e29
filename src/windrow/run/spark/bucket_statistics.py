"""The numbers of a join's inputs in one bucket: of the rows held, and of those that have come.

A rate is that of all rows at hand. Where none are held, what has come since the newest before:

    held        |------------------------|
    come                            |--------|
                first                        newest       rows by these ticks

A bucket of slices of event time has rows in its own slices alone: ticks without rows far and wide
do not count, since windows are as full as the rest of the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.changes import ChangeBatch
from windrow.operators.chunks import ChunkSlice
from windrow.physical.partitioning.buckets import Slices
from windrow.plan.exprs import Expr
from windrow.plan.statistics import Figure
from windrow.run.sampled_selectivity import different_values, share_of_columns
from windrow.schema import MIN_TICK

SOURCE = "the bucket's rows"

MOST_LOOKED_AT, STRETCHES = 2_000, 20
"""Values of a column that are looked at to tell how many different ones there are, and in how many
stretches they lie: keys may come in turns. Also, times that are looked at for gaps."""

CELLS_PER_SLICE = 4
"""Ticks with rows are counted by parts of a slice."""


class BucketStatistics:
    """What one bucket shows of the inputs of a join, as a micro-batch begins.

    Args:
        held: per input, the rows of the state.
        come: per input, the rows of the micro-batch.
        newest: per input, the newest time before it; MIN_TICK, or none at all, where nothing came.
        slices: how slices of event time are dealt out, where the bucket has some of them.
        is_restored: whether every micro-batch begins with a state that is taken up anew.
    """

    def __init__(
        self,
        held: Sequence[Sequence[ChunkSlice]],
        come: Sequence[ChangeBatch | None],
        newest: Sequence[int] = (),
        slices: Slices | None = None,
        *,
        is_restored: bool = False,
    ) -> None:
        self.is_restored = is_restored
        self._held = held
        self._come = come
        self._newest = newest or [MIN_TICK] * len(come)
        self._slices = slices

    @property
    def numbers(self) -> tuple[float, ...]:
        """What a plan depends on that is quickly told: the rates, and the rows that come at once.

        The rows of all inputs together: one of them may well have none for once.
        """
        ports = range(len(self._come))
        rates = (self.rate(port) for port in ports)
        known = tuple(rate.value if rate is not None else 0.0 for rate in rates)
        return *known, float(sum(map(self.at_once, ports)))

    def rate(self, port: int) -> Figure | None:
        """Rows per tick; None where all rows are of one instant, or there are none."""
        held, come = self._held[port], self._times_come(port)
        rows = len(come) + sum(map(len, held))
        if not rows:
            return None
        ends = [end for part in held for end in (part.first, part.last)]
        if len(come):
            ends += [int(come.min()), int(come.max())]
        if not held and self._newest[port] > MIN_TICK:
            ends.append(self._newest[port])
        span = float(max(ends) - min(ends))
        if self._slices is not None:
            span = self._covered(port, self._slices, span)
        return Figure(rows / span, SOURCE) if span > 0 else None

    def different(self, port: int, column: str) -> Figure | None:
        """How many different values a column has, by a sample of the rows at hand."""
        values = self._values(port, column)
        if values is None:
            return None
        sample = _stretches(values)
        rows = self.at_once(port) + sum(map(len, self._held[port]))
        found = different_values(sample, max(rows, len(sample)))
        return None if found is None else Figure(found, SOURCE)

    def at_once(self, port: int) -> int:
        """The rows of this micro-batch."""
        rows = self._come[port]
        return 0 if rows is None else len(rows)

    def within(
        self,
        left: tuple[int, str],
        right: tuple[int, str],
        low: float | None,
        high: float | None,
    ) -> Figure | None:
        """The share of pairs of two columns with low <= left - right <= high, by samples."""
        share = share_of_columns(self._values(*left), self._values(*right), low, high)
        return None if share is None else Figure(share, SOURCE)

    def passing(
        self,
        predicates: tuple[Expr, ...],  # noqa: ARG002
        sides: Sequence[tuple[int, Mapping[str, str]]],  # noqa: ARG002
    ) -> Figure | None:
        """None: to plan, no condition is asked of a bucket's rows."""
        return None

    def _times_come(self, port: int) -> NDArray[np.int64]:
        """The times of the rows that have come, of those that have one."""
        rows = self._come[port]
        if rows is None:
            return np.zeros(0, np.int64)
        times = rows.times
        return times if times.min(initial=0) > MIN_TICK else times[times > MIN_TICK]

    def _covered(self, port: int, slices: Slices, span: float) -> float:
        """The ticks of a span in which the bucket has rows: parts of slices that are seen to have some.

        A sample misses parts where there are very many; on the whole a bucket has its share.
        """
        width = max(1, slices.width // CELLS_PER_SLICE)
        held = [part.chunk.keys[part.skip :] for part in self._held[port]]
        cells = [
            own[:: max(1, len(own) // MOST_LOOKED_AT)] // width
            for own in (*held, self._times_come(port))
        ]
        seen = len(np.unique(np.concatenate(cells))) * width
        reach = slices.width + slices.before[port] + slices.after[port]
        return min(span, max(seen, span * reach / (slices.width * slices.buckets)))

    def _values(self, port: int, column: str) -> pa.Array | None:
        """The values of a column in the rows that have come, or in the largest chunk of those held."""
        batches = [part.chunk.batch for part in self._held[port]]
        come = self._come[port]
        if come is not None:
            batches.append(come)
        largest = max(batches, key=len, default=None)
        return None if largest is None or not len(largest) else largest.columns.column(column)


def _stretches(values: pa.Array) -> pa.Array:
    """Some of the values, in even stretches; all where these are few."""
    if len(values) <= MOST_LOOKED_AT:
        return values
    length = MOST_LOOKED_AT // STRETCHES
    starts = np.linspace(0, len(values) - length, STRETCHES).astype(np.int64)
    return pa.concat_arrays([values.slice(int(start), length) for start in starts])
