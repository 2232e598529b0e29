"""Numbers looked up in registered tables: rates, different values, shares of pairs.

A table is known whole: its rows and the time between its first and its last are counted. Values
are looked at in a sample of bounded size, taken in even stretches over the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.plan.catalog import StreamInfo
from windrow.plan.exprs import Expr
from windrow.plan.statistics import Figure
from windrow.run.local.passing import MOST_TESTED, share_passing
from windrow.run.local.sources import SLICE_ROWS, Source, TableSource
from windrow.run.sampled import different_values, sampled_numbers, share_within

MOST_ROWS = 100_000
STRETCHES = 20

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
        if columns[0] is None or columns[1] is None:
            return None
        share = share_within(columns[0], columns[1], low, high)
        rows = sum(len(column) for column in columns if column is not None)
        return None if share is None else Figure(share, f"sample of {rows:,} rows")

    def passing(
        self, predicates: tuple[Expr, ...], sides: Sequence[tuple[str, Mapping[str, str]]]
    ) -> Figure | None:
        """The share of combinations of rows, one of each side, that pass all of some conditions."""
        rows = [self._rows(*side) for side in sides]
        known = [one for one in rows if one is not None]
        found = share_passing(predicates, known) if len(known) == len(rows) else None
        if found is None:
            return None
        share, asked = found
        return Figure(share, f"sample of {asked:,} {'rows' if len(rows) == 1 else 'combinations'}")

    def _rows(self, stream: str, columns: Mapping[str, str]) -> pa.RecordBatch | None:
        """Some rows of a table, with columns by the names that they are called above."""
        source = self._sources.get(stream)
        if not isinstance(source, TableSource):
            return None
        if not set(columns.values()) <= set(source.schema.names):
            return None
        arrays = [source.sample(own, MOST_TESTED, STRETCHES) for own in columns.values()]
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _numbers(self, stream: str, column: str) -> NDArray[np.float64] | None:
        source = self._sources.get(stream)
        if not isinstance(source, TableSource) or column not in source.schema.names:
            return None
        return _once(source, ("numbers", column), lambda: _numbers_in(source, column))


def _once(source: TableSource, name: tuple[str, str], looked_up: Callable[[], T]) -> T:
    """What was looked up in a table before, or now for the first time."""
    if name not in source.derived:
        source.derived[name] = looked_up()
    found: T = source.derived[name]
    return found


def _rate(source: TableSource, time: str) -> Figure | None:
    timed, first, last = source.span(time)
    if timed < 2 or first >= last:
        return None
    return Figure(timed / (last - first), f"all {source.rows:,} rows")


def _different(source: TableSource, column: str) -> Figure | None:
    sample = source.sample(column, MOST_ROWS, STRETCHES)
    found = different_values(sample, source.rows)
    if found is None:
        return None
    seen = "all" if len(sample) == source.rows else "sample of"
    return Figure(found, f"{seen} {len(sample):,} rows")


def _numbers_in(source: TableSource, column: str) -> NDArray[np.float64] | None:
    return sampled_numbers(source.sample(column, MOST_ROWS, STRETCHES))
