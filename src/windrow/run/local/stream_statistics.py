"""What is known of streams in process, and how a running query is planned anew by it.

**Of tables**, which are there as a whole, the rows and the time between the first and the last are
counted. Values are looked at in a sample of bounded size, taken in even stretches over the table.

**Of streams**, which come in batches, a rate is that of the last few batches: tuples by the ticks
from the newest before them to the newest of them: one that has slowed down is seen to.

    batches     |----b1----|--b2--|-----b3-----|
    newest      x          x      x            x
                           |<-- rows(b2, b3) ->|      over these ticks

**A query that adapts** goes on by another plan once the rates of streams have changed. Between two
micro-batches the state of a join is its rows and the time up to which they have been joined, the
same for every algorithm, structure and order. So a driver takes the state of its operator, builds
another one, and gives it the state: no result is lost, and none comes twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.arrow_types import ticks_of
from windrow.operators.columns.changes import take_columns
from windrow.physical.estimates import is_near
from windrow.physical.query import PhysicalQuery, Planner
from windrow.plan.catalog import StreamInfo
from windrow.plan.exprs import Expr
from windrow.plan.statistics import SEEN, Figure
from windrow.run.local.sources import SLICE_ROWS, BatchReader, TableSource
from windrow.run.sampled_selectivity import (
    MOST_TESTED,
    SEED,
    different_values,
    sampled_numbers,
    share_of_columns,
    share_passing,
    share_within,
)
from windrow.schema import MIN_TICK

if TYPE_CHECKING:
    from windrow.operators.engine.scheduler import Scheduler
    from windrow.physical.nodes.base import PhysicalNode

Int64s = NDArray[np.int64]

MOST_ROWS = 100_000
STRETCHES = 20
"""Rows of a table whose values are looked at, and in how many stretches they lie."""

RECENT = 8
"""Batches that a rate is taken over."""

ENOUGH = 100
"""Rows of a first batch that tell a rate."""

MOST_KEPT = 1_000
"""Rows of a batch that are kept, drawn by a fixed seed, to look values up in."""


@dataclass
class _Seen:
    """The last batches of one stream: rows and newest time of each, and some of their rows."""

    batches: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=RECENT))
    kept: deque[pa.RecordBatch] = field(default_factory=lambda: deque(maxlen=RECENT))
    rows: int = 0
    first_span: int = 0
    rate: float | None = None

    def present_rate(self) -> float | None:
        """Tuples per tick in the last batches; None before there are two of different times.

        A first batch that is large tells it by itself, so that none has to be joined unplanned.
        """
        batches = self.batches
        if len(batches) == 1:
            return batches[0][0] / self.first_span if self.first_span > 0 else None
        span = batches[-1][1] - batches[0][1]
        return sum([rows for rows, _ in batches], -batches[0][0]) / span if span > 0 else None


class StreamStatistics:
    """What is known of the streams of one query while it runs, by the batches that it has taken.

    Args:
        times: the event-time column of each stream.
        planned: the rates that the query was planned for, as far as they were known.
    """

    is_restored = False

    def __init__(self, times: Mapping[str, str], planned: Mapping[str, float]) -> None:
        self._times = times
        self._seen = {stream: _Seen() for stream in times}
        self._planned = dict(planned)
        self._draw = np.random.default_rng(SEED)

    def take(self, stream: str, batch: pa.RecordBatch, times: Int64s | None = None) -> None:
        """Looks at a batch as it comes; `times` are its ticks where they are known."""
        if not batch.num_rows:
            return
        seen = self._seen[stream]
        ticks = ticks_of(batch.column(self._times[stream])) if times is None else times
        newest = int(ticks.max())
        if newest == MIN_TICK:  # not one of its rows has a time
            return
        if not seen.batches and batch.num_rows >= ENOUGH:
            seen.first_span = newest - int(ticks[ticks > MIN_TICK].min())
        if seen.batches:
            newest = max(newest, seen.batches[-1][1])
        seen.batches.append((batch.num_rows, newest))
        seen.rate = seen.present_rate()
        seen.kept.append(self._some_of(batch))
        seen.rows += batch.num_rows

    def _some_of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.num_rows <= MOST_KEPT:
            return batch
        # Drawn, not every so many: keys may go round.
        drawn = self._draw.choice(batch.num_rows, MOST_KEPT, replace=False, shuffle=False)
        return take_columns(batch, drawn)

    @property
    def is_known(self) -> bool:
        """Whether the batches have told all rates."""
        return all(self.rate(stream) is not None for stream in self._times)

    @property
    def has_changed(self) -> bool:
        """Whether all rates are known, and one is far from what the plan was made for."""
        is_other = False
        for stream, seen in self._seen.items():
            if seen.rate is None:
                return False
            planned = self._planned.get(stream)
            is_other = is_other or planned is None or not is_near(seen.rate, planned)
        return is_other

    def planned(self) -> None:
        """Takes the present rates for those that the plan is made for."""
        for stream in self._times:
            rate = self.rate(stream)
            if rate is not None:
                self._planned[stream] = rate.value

    def rate(self, stream: str) -> Figure | None:
        """Tuples per tick in the last batches; None where they do not tell."""
        rate = self._seen[stream].rate
        return None if rate is None else Figure(rate, SEEN)

    def different(self, stream: str, column: str) -> Figure | None:
        """How many different values a column has, by rows of the last batches."""
        values = self._last(stream, column)
        found = None if values is None else different_values(values, self._seen[stream].rows)
        return None if found is None else Figure(found, SEEN)

    def rows_per_batch(self, stream: str) -> int:
        """The most rows of a batch."""
        return max((rows for rows, _ in self._seen[stream].batches), default=0)

    def within(
        self, left: tuple[str, str], right: tuple[str, str], low: float | None, high: float | None
    ) -> Figure | None:
        """The share of pairs of two columns with low <= left - right <= high, in the last batches."""
        share = share_of_columns(self._last(*left), self._last(*right), low, high)
        return None if share is None else Figure(share, SEEN)

    def passing(
        self, predicates: tuple[Expr, ...], sides: Sequence[tuple[str, Mapping[str, str]]]
    ) -> Figure | None:
        """The share of combinations that pass all of some conditions, in the last batches."""
        rows = []
        for stream, columns in sides:
            arrays = [self._last(stream, own) for own in columns.values()]
            if any(array is None for array in arrays):
                return None
            rows.append(pa.RecordBatch.from_arrays(arrays, names=list(columns)))
        found = share_passing(predicates, rows)
        return None if found is None else Figure(found[0], SEEN)

    def _last(self, stream: str, column: str) -> pa.Array | None:
        """Values of a column in the last batches; None where there are none yet."""
        kept = self._seen[stream].kept
        return pa.concat_arrays([batch.column(column) for batch in kept]) if kept else None


T = TypeVar("T")


class TableStatistics:
    """What is known of the tables among registered streams; every other is not looked at."""

    is_restored = False

    def __init__(
        self, catalog: Mapping[str, StreamInfo], sources: Mapping[str, BatchReader]
    ) -> None:
        self._catalog = catalog
        self._sources = sources

    def rate(self, stream: str) -> Figure | None:
        """The rows of a table by the ticks that it spans; None where it spans none."""
        source, info = self._table(stream), self._catalog[stream]
        time = info.time
        if source is None or time is None or info.is_on_arrival:
            return None
        return _once(source, ("rate", time), lambda: _rate(source, time))

    def different(self, stream: str, column: str) -> Figure | None:
        """How many different values a column has, estimated from a sample of a large table."""
        source = self._table(stream, column)
        if source is None:
            return None
        return _once(source, ("different", column), lambda: _different(source, column))

    def rows_per_batch(self, stream: str) -> int:
        """The rows of a slice of a table."""
        source = self._table(stream)
        return 0 if source is None else min(source.rows, SLICE_ROWS)

    def within(
        self, left: tuple[str, str], right: tuple[str, str], low: float | None, high: float | None
    ) -> Figure | None:
        """The share of pairs of two columns with low <= left - right <= high, from samples."""
        lefts, rights = self._numbers(*left), self._numbers(*right)
        if lefts is None or rights is None:
            return None
        share = share_within(lefts, rights, low, high)
        rows = len(lefts) + len(rights)
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
        source = self._table(stream, *columns.values())
        if source is None:
            return None
        arrays = [source.sample(own, MOST_TESTED, STRETCHES) for own in columns.values()]
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _numbers(self, stream: str, column: str) -> NDArray[np.float64] | None:
        source = self._table(stream, column)
        if source is None:
            return None
        return _once(
            source,
            ("numbers", column),
            lambda: sampled_numbers(source.sample(column, MOST_ROWS, STRETCHES)),
        )

    def _table(self, stream: str, *columns: str) -> TableSource | None:
        """The data of a stream, where that is a table with these columns."""
        source = self._sources.get(stream)
        if isinstance(source, TableSource) and set(columns) <= set(source.schema.names):
            return source
        return None


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


class Adapting:
    """Watches the streams of a query, and changes the plans of its joins where there is a planner."""

    def __init__(self, query: PhysicalQuery, planner: Planner | None) -> None:
        self.query = query
        self.changes = 0
        self._planner = planner
        estimates = [node.estimate for node in query.root.walk() if node.plan_name]
        self._has_plans = bool(estimates)
        self._is_guessed = any(own.is_guessed for own in estimates if own is not None)
        times = {scan.stream: scan.time for scan in query.root.scans}
        self._known = StreamStatistics(times, planner.rates if planner is not None else {})

    def adapt(
        self, stream: str, arrived: pa.RecordBatch, times: Int64s, scheduler: Scheduler
    ) -> None:
        """Before a micro-batch: plans again if rates have changed, and follows the new plan.

        Where the plan rests on assumed numbers it is made again, once, by those of the batches.
        """
        if self._planner is None or not self._has_plans:
            return
        self._known.take(stream, arrived, times)
        if self._known.has_changed or (self._is_guessed and self._known.is_known):
            self._is_guessed = False
            self._known.planned()
            self.query = self._planner.again(self._known)
            self.changes += scheduler.root.follow(self.query.root)

    def explain(self) -> str:
        """EXPLAIN of the query as it runs now."""
        return "" if self._planner is None else self._planner.explain(self.query)


def plan_names(nodes: Sequence[PhysicalNode]) -> dict[str, str]:
    """How each window join among nodes, from the top of a plan down, is run, by its name in EXPLAIN."""
    return {node.title: node.plan_name for node in reversed(nodes) if node.plan_name}
