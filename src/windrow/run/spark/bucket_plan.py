"""Which plan a worker runs a bucket of a window join by, and the numbers it chooses by.

**The choice.** All plans keep the same state, so that a bucket may go on by another one with any
micro-batch. It does once its numbers have changed: `planned for` are those of the bucket as it was
planned last, in this worker. Until then the choice costs a look at the times of the rows.

    numbers    rate of each input, rows of the micro-batch
    planned    |-- 1/4 --------- planned for --------- 4 --|
               anew             as it was               anew

**The numbers** of a join's inputs in one bucket are those of the rows held and of the ones that
have come. A rate is that of both; where none are held, of what has come since the newest before:

    held        |------------------------|
    come                            |--------|
                first                        newest       rows by these ticks

A bucket of slices of event time has rows in its own slices alone: ticks without rows far and wide
do not count, since windows are as full as the rest of the time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkSlice
from windrow.operators.engine.base import Snapshot
from windrow.operators.joins.join_inputs import stored_state
from windrow.physical.estimates import is_near
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.partitioning.buckets import Partitioning, Slices
from windrow.plan.exprs import Expr
from windrow.plan.statistics import Figure
from windrow.run.sampled_selectivity import different_values, share_of_columns
from windrow.schema import MIN_TICK

if TYPE_CHECKING:
    from windrow.physical.query import Planner
    from windrow.run.spark.stages import StagePlan


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
        return *known, float(sum(map(self.rows_per_batch, ports)))

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
        rows = self.rows_per_batch(port) + sum(map(len, self._held[port]))
        found = different_values(sample, max(rows, len(sample)))
        return None if found is None else Figure(found, SOURCE)

    def rows_per_batch(self, port: int) -> int:
        """The rows of this micro-batch."""
        rows = self._come[port]
        return 0 if rows is None else len(rows)

    def within(
        self, left: tuple[int, str], right: tuple[int, str], low: float | None, high: float | None
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


NO_PLAN = -1
"""In place of a plan's number: nothing was chosen."""

MOST_REMEMBERED = 4_096
"""Buckets whose plans a worker remembers."""


@dataclass(frozen=True)
class Choice:
    """What a stage leaves to its workers.

    Attributes:
        planner: plans the join in a worker.
        names: the plans that it may take, by number.
        run: names the DataFrame: what is remembered of another one does not count.
    """

    planner: Planner
    names: tuple[str, ...]
    run: str


@dataclass(frozen=True)
class Chosen:
    """How a bucket runs.

    Attributes:
        node: the step by its plan.
        plan: the number of the plan; NO_PLAN where nothing was chosen.
        numbers: what the plan was made for.
        is_change: whether this worker ran the bucket by another plan before.
    """

    node: PhysicalNode
    plan: int = NO_PLAN
    numbers: tuple[float, ...] = ()
    is_change: bool = False


class Remembered:
    """The plans of buckets that had their turn in this worker, the longest ago forgotten first."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._chosen: OrderedDict[Hashable, Chosen] = OrderedDict()

    def choose(self, bucket: Hashable, stage: StagePlan, seen: BucketStatistics) -> Chosen:
        """How a bucket of a stage goes on, by what it shows."""
        choice = stage.choice
        assert choice is not None
        name, numbers = (choice.run, bucket), seen.numbers
        before = self._chosen.get(name)
        if before is not None and all(map(_is_like, numbers, before.numbers)):
            self._chosen.move_to_end(name)
            return before
        found = choice.planner.planned(stage.node, stage.partitioning, seen)
        chosen = Chosen(found, choice.names.index(found.plan_kind), numbers)
        self._chosen[name] = chosen
        if len(self._chosen) > self._most:
            self._chosen.popitem(last=False)
        is_change = before is not None and not found.runs_like(before.node)
        return replace(chosen, is_change=is_change)


@cache
def worker_memory() -> Remembered:
    """The plans that this worker remembers."""
    return Remembered()


def chosen_streaming(
    bucket: Hashable,
    stage: StagePlan,
    snapshot: Snapshot | None,
    come: Sequence[ChangeBatch | None],
    newest: Sequence[int],
) -> Chosen:
    """How a bucket goes through one micro-batch of a streaming query.

    `snapshot` is its state, if it has one yet; per input, `come` are the rows of the micro-batch, and
    `newest` the newest time before it, empty where nothing came.
    """
    if stage.choice is None:
        return Chosen(stage.node)
    if not any(rows is not None and len(rows) for rows in come):
        # Nothing is joined, and this plan alone holds rows as they are stored.
        return Chosen(stage.choice.planner.usual(stage.node))
    held = stored_state(snapshot, stage.ports)[0] if snapshot is not None else [()] * stage.ports
    seen = BucketStatistics(held, come, newest, _slices(stage.partitioning), is_restored=True)
    return worker_memory().choose(bucket, stage, seen)


def chosen_in_batch(
    memory: Remembered, bucket: Hashable, stage: StagePlan, come: Sequence[ChangeBatch | None]
) -> Chosen:
    """How a bucket goes through the next rows of a batch run."""
    if stage.choice is None:
        return Chosen(stage.node)
    seen = BucketStatistics([()] * stage.ports, come, (), _slices(stage.partitioning))
    return memory.choose(bucket, stage, seen)


def _slices(partitioning: Partitioning) -> Slices | None:
    """The slices of event time, where a bucket has some of them and not all."""
    if isinstance(partitioning, Slices) and partitioning.buckets > 1:
        return partitioning
    return None


def _is_like(number: float, planned: float) -> bool:
    """Whether a number is about what it was; 0, which is not known now, is no news."""
    return not number or is_near(number, planned)
