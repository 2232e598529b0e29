"""Numbers looked up in registered tables: rates, different values, shares of pairs.

A table is known whole: its rows and the time between its first and its last are counted. Values
are looked at in a sample of bounded size, taken in even stretches over the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.operators.instants import ticks_of
from windrow.plan.catalog import StreamInfo
from windrow.plan.statistics import Figure
from windrow.run.local.sources import SLICE_ROWS, Source, TableSource
from windrow.schema import MIN_TICK

MOST_ROWS = 100_000
STRETCHES = 20
MOST_COMPARED = 2_000
"""Values of either column whose differences are looked at."""

T = TypeVar("T")


class TableNumbers:
    """The numbers of the tables among registered streams; every other is not looked at.

    Args:
        catalog: the streams.
        sources: their data.
    """

    def __init__(self, catalog: Mapping[str, StreamInfo], sources: Mapping[str, Source]) -> None:
        self._catalog = catalog
        self._sources = sources

    def rate(self, stream: str) -> Figure | None:
        """The rows of a table by the ticks that it spans; None where it spans none."""
        source, time = self._sources.get(stream), self._catalog[stream].time
        if not isinstance(source, TableSource) or time is None:
            return None
        if self._catalog[stream].is_on_arrival:
            return None
        return _once(source, ("rate", time), lambda: _rate(source, time))

    def different(self, stream: str, column: str) -> Figure | None:
        """How many different values a column has, estimated from a sample of a large table."""
        source = self._sources.get(stream)
        if not isinstance(source, TableSource) or column not in source.schema.names:
            return None
        return _once(source, ("different", column), lambda: _different(source, column))

    def at_once(self, stream: str) -> int:
        """The rows of a slice of a table."""
        source = self._sources.get(stream)
        return min(source.rows, SLICE_ROWS) if isinstance(source, TableSource) else 0

    def within(
        self,
        left: tuple[str, str],
        right: tuple[str, str],
        low: float | None,
        high: float | None,
    ) -> Figure | None:
        """The share of pairs of two columns with low <= left - right <= high, from samples."""
        columns = [self._numbers(*side) for side in (left, right)]
        lefts, rights = columns
        if lefts is None or rights is None or not len(lefts) or not len(rights):
            return None
        #  rights, in order   ----[==============]----   left - high .. left - low
        ordered = np.sort(rights)
        ends = len(ordered) if low is None else np.searchsorted(ordered, lefts - low, "right")
        starts = 0 if high is None else np.searchsorted(ordered, lefts - high, "left")
        share = float(np.mean((ends - starts) / len(ordered)))
        # A share of none in a sample is not a share of none.
        least = 1 / (len(lefts) * len(rights))
        return Figure(max(share, least), f"sample of {len(lefts) + len(rights):,} rows")

    def _numbers(self, stream: str, column: str) -> NDArray[np.float64] | None:
        source = self._sources.get(stream)
        if not isinstance(source, TableSource) or column not in source.schema.names:
            return None
        return _once(source, ("numbers", column), lambda: _sampled_numbers(source, column))


def _once(source: TableSource, name: tuple[str, str], looked_up: Callable[[], T]) -> T:
    """What was looked up in a table before, or now for the first time."""
    if name not in source.derived:
        source.derived[name] = looked_up()
    found: T = source.derived[name]
    return found


def _rate(source: TableSource, time: str) -> Figure | None:
    ticks = ticks_of(source.column(time))
    timed = ticks[ticks > MIN_TICK]
    if len(timed) < 2:
        return None
    span = int(timed.max()) - int(timed.min())
    return Figure(len(timed) / span, f"all {len(ticks):,} rows") if span > 0 else None


def _different(source: TableSource, column: str) -> Figure | None:
    rows = source.rows
    sample = _sample(source.column(column))
    try:
        counts = pc.value_counts(sample).field("counts").to_numpy()
    except pa.ArrowNotImplementedError:
        return None
    if not len(counts):
        return None
    if len(sample) == rows:
        return Figure(float(len(counts)), f"all {rows:,} rows")
    # Values seen once stand for others that the sample has missed (the estimator GEE).
    once = int(np.count_nonzero(counts == 1))
    estimate = (rows / len(sample)) ** 0.5 * once + (len(counts) - once)
    return Figure(float(estimate), f"sample of {len(sample):,} rows")


def _sampled_numbers(source: TableSource, column: str) -> NDArray[np.float64] | None:
    values = source.column(column)
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return None
    every = max(1, len(values) // MOST_COMPARED)
    numbers = values.take(pa.array(np.arange(0, len(values), every))).drop_null()
    found: NDArray[np.float64] = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
    return found[np.isfinite(found)]


def _sample(values: pa.Array) -> pa.Array:
    """At most `MOST_ROWS` values, in even stretches."""
    if len(values) <= MOST_ROWS:
        return values
    length = MOST_ROWS // STRETCHES
    starts = np.linspace(0, len(values) - length, STRETCHES).astype(int)
    return pa.concat_arrays([values.slice(int(start), length) for start in starts])
