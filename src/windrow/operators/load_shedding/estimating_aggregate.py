"""Aggregates over a join that sheds: of each total the estimate, and the interval that holds it.

As the sliding aggregate, with three answers for one: the estimate, and the ends of an interval that
holds what the whole join would have given in 95 of 100 cases.

    COUNT   sum of weights                  a combination found stands for 1 / its chance
    SUM     sum of weights x values
    AVG     the one over the other

Sums are exact, as those of the sliding aggregate are, so that estimates are its answers where
nothing was shed. How wide the interval is, `margins.py` knows; docs/design/shedding.md has the
formulas. Rows are combinations: they come with the draws and chances of their tuples, and go by
their own ends.

Marks among the rows (`draws.py`) say from when to when combinations may be missing. At either
instant all groups get a version, for their intervals may change though their rows do not: each is
given a row that goes as it comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.sliding_margins import AVERAGE, COUNT, SUM, Margins
from windrow.kernels.versions import OPENING, Versions
from windrow.operators.accumulators.base import Accumulator, Answers, validity
from windrow.operators.accumulators.sums import Doubles
from windrow.operators.aggregates.sliding import Slots
from windrow.operators.aggregates.sliding_aggregate import SlidingAggregateOp
from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkSlice
from windrow.operators.columns.key_columns import fixed_values
from windrow.operators.engine.base import Snapshot
from windrow.operators.load_shedding.draws import Doubt, is_mark
from windrow.operators.load_shedding.margins import Arguments, Drawn, MarginKeeper
from windrow.physical.load_shedding.limits import chance_column, draw_column
from windrow.physical.nodes.sliding_aggregate import EstimatingAggregate
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.schema import MAX_TICK

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class EstimatedTotals:
    """The estimates of one argument column, per version.

    Attributes:
        found: how many combinations were found in which it is not NULL.
        counts: how many there are.
        sums: of its values; of nothing where they are not added.
        means: the exact average of those found, weighted; right where none has a weight.
    """

    found: NDArray[np.int64]
    counts: Floats
    sums: Floats
    means: Floats

    @property
    def averages(self) -> Floats:
        """The estimated averages; 0 where nothing was found."""
        return np.divide(self.sums, self.counts, out=np.zeros_like(self.sums), where=self.found > 0)

    def shown(
        self, function: str, margins: Margins, place: int, is_known: Flags, in_doubt: Flags
    ) -> list[Answers]:
        """The estimate of a function and the ends of its interval, by the margins of a column's place.

        `is_known` says whether nothing of the group was shed, `in_doubt` whether something of any group
        may have been, of which nothing was found.
        """
        if function == "count":
            return self._count(margins.totals[:, place, COUNT], is_known, in_doubt)
        if function == "sum":
            return self._interval(self.sums, margins.totals[:, place, SUM], in_doubt)
        averages = np.where(is_known, self.means, self.averages)
        scales = np.where(self.found > 0, self.counts, 1.0)
        return self._interval(averages, margins.totals[:, place, AVERAGE] / scales, in_doubt)

    def _count(self, margins: Floats, is_known: Flags, in_doubt: Flags) -> list[Answers]:
        """At least as many as were found.

        With none found, or none that tells of others, nobody knows how many at most.
        """
        low = np.maximum(self.counts - margins, self.found)
        high = np.maximum(self.counts + margins, self.found)
        has_most = ((self.found > 0) | is_known) & ~(in_doubt & (margins == 0))
        return [_answers(self.counts), _answers(low), _answers(high, has_most)]

    def _interval(self, values: Floats, margins: Floats, in_doubt: Flags) -> list[Answers]:
        """NULL without a value; ends are NULL too where the margin cannot be told.

        A margin of 0, where something may be missing, is that of what was found alone.
        """
        is_value = self.found > 0
        has_ends = is_value & ~np.isnan(margins) & ~(in_doubt & (margins == 0))
        with np.errstate(invalid="ignore"):
            ends = [values - margins, values + margins]
        return [_answers(values, is_value), *(_answers(end, has_ends) for end in ends)]


def _answers(values: Floats, valid: Flags | None = None) -> Answers:
    """Values whose equal ones have equal bits."""
    shown = np.where(np.isnan(values), np.nan, values + 0.0)
    if valid is not None:
        shown = np.where(valid, shown, 0.0)
    return Answers(shown, valid, pa.float64())


LEAST, MOST = 1e-140, 1e140
"""Between these the squares of weighted values are sure to be normal numbers."""

FUNCTIONS = {"count": COUNT, "sum": SUM, "avg": AVERAGE}

_SUM = Aggregate("sum", None, "", "double")
_AVG = Aggregate("avg", None, "", "double")


class EstimatingAggregateOp(SlidingAggregateOp):
    """GROUP BY with SUM, COUNT and AVG, estimated from the combinations that were found."""

    kind = "estimating-aggregate"
    _node: EstimatingAggregate

    def __init__(self, node: EstimatingAggregate) -> None:
        named = [None if a.argument is None else a.argument.columns[0] for a in node.aggregates]
        self._columns = list(dict.fromkeys(named))
        self._places = [self._columns.index(name) for name in named]
        self._asked = np.zeros((len(self._columns), len(FUNCTIONS)), np.bool_)
        for aggregate, place in zip(node.aggregates, self._places, strict=True):
            self._asked[place, FUNCTIONS[aggregate.function]] = True
        self._is_added = [bool(own[SUM] or own[AVERAGE]) for own in self._asked]
        super().__init__(node)

    def _reset(self) -> None:
        super()._reset()
        self._keeper = MarginKeeper(self._node.estimated_from, self._asked)
        self._knows_alive = True
        self._doubt = Doubt()
        self._was_in_doubt = False

    def push(self, batches: Sequence[ChangeBatch | None]) -> Iterator[ChangeBatch]:
        """Stores the rows, and what marks among them say; gives nothing."""
        (batch,) = batches
        if batch is not None and (marks := is_mark(batch.columns)).any():
            self._doubt.add(batch.take(np.flatnonzero(marks)))
            batch = batch.take(np.flatnonzero(~marks))
        return super().push([batch])

    @property
    def _first(self) -> int:
        """The first event that waits, or the instant at which doubt begins or ends."""
        turn, _ = self._doubt.turns()
        return min(super()._first, turn)

    def snapshot(self) -> Snapshot:
        """As the sliding aggregate's, and where combinations may be missing."""
        made = super().snapshot()
        return Snapshot(made.kind, made.buffers, {**made.numbers, **self._doubt.snapshot()})

    def _new_accumulators(self) -> dict[str, Accumulator]:
        """Per column the sum of its weights, and of its weighted values where these are added."""
        made: dict[str, Accumulator] = {}
        for i, is_added in enumerate(self._is_added):
            made[f"weights{i}"] = Doubles([_SUM])
            if is_added:
                made[f"values{i}"] = Doubles([_SUM, _AVG])
        return made

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back; what follows from the rows alive is made before it is needed."""
        doubt, numbers = Doubt.parted(snapshot.numbers)
        super().restore(Snapshot(snapshot.kind, snapshot.buffers, numbers))
        self._doubt = doubt
        self._knows_alive = False

    def _stored_groups(self) -> tuple[tuple[ChunkSlice, ...], dict[str, int]]:
        groups, numbers = super()._stored_groups()
        if groups and not self._node.keys:
            numbers["has_shed"] = int(self._keeper.has_shed(0))
        return groups, numbers

    def _load_groups(self, slots: Slots, columns: pa.RecordBatch, numbers: dict[str, int]) -> None:
        super()._load_groups(slots, columns, numbers)
        if not self._node.keys:
            self._keeper.mark_shed(np.zeros(1, np.int64), has_shed=bool(numbers["has_shed"]))

    def _kept_values(self, columns: pa.RecordBatch) -> dict[str, pa.Array]:
        """The arguments as doubles, and the draws and chances of every input."""
        kept = {}
        for i, (name, is_added) in enumerate(zip(self._columns, self._is_added, strict=True)):
            if name is None:
                continue
            column = columns.column(name)
            if is_added:
                kept[f"argument{i}"] = column.cast(pa.float64(), safe=False)
            else:
                kept[f"argument{i}"] = pa.array(np.ones(len(column)), mask=~validity(column))
        for at in range(self._node.estimated_from):
            kept[f"draw{at}"] = columns.column(draw_column(at))
            kept[f"chance{at}"] = columns.column(chance_column(at))
        return kept

    def _step(self, bound: int) -> ChangeBatch:
        if not self._knows_alive:
            self._fit()
            for part in self._alive.slices:
                rows = part.rows()
                drawn = self._drawn(rows)
                self._keeper.enter(drawn, self._arguments_of(rows, drawn.weights))
            self._knows_alive = True
        self._was_in_doubt = self._doubt.is_inside
        turn, _ = self._doubt.turns()
        if turn < bound:
            self._doubt.turn()
            self._touch_groups(turn)
        if super()._first >= bound:
            # Doubt begins or ends while there is no group.
            nothing = pa.RecordBatch.from_pylist([], arrow_schema(self._node.schema))
            return ChangeBatch(nothing, np.empty(0, np.int64))
        return super()._step(bound)

    def _bound_of_step(self, watermark: int) -> int:
        """No step goes beyond an instant at which doubt begins or ends, but from there on."""
        turn, next_turn = self._doubt.turns()
        bound = super()._bound_of_step(watermark)
        return min(bound, turn if super()._first < turn else next_turn)

    def _touch_groups(self, instant: int) -> None:
        """Gives all groups a version at an instant: a row without a value comes and goes."""
        slots = np.repeat(self._directory.slots_in_use(), 2)
        if not len(slots):
            return
        columns = {f"key{i}": key for i, key in enumerate(self._directory.keys_of(slots))}
        for i, name in enumerate(self._columns):
            if name is not None:
                columns[f"argument{i}"] = pa.nulls(len(slots), pa.float64())
        for at in range(self._node.estimated_from):
            columns[f"draw{at}"] = pa.array(np.zeros(len(slots), np.int64))
            columns[f"chance{at}"] = pa.array(np.ones(len(slots)))
        times, never = np.full(len(slots), instant), np.full(len(slots), MAX_TICK)
        signs = np.tile(np.array([1, -1], np.int8), len(slots) // 2)
        rows = pa.RecordBatch.from_pydict(columns)
        self._arriving.append(ChangeBatch(rows, times, never, signs))

    def _fit(self) -> None:
        super()._fit()
        self._keeper.fit(self._directory.slot_count)

    def _clear(self, slots: Slots) -> None:
        super()._clear(slots)
        self._keeper.mark_shed(slots, has_shed=False)

    def _measure(self) -> None:
        super()._measure()
        self.counters.state_bytes += self._keeper.nbytes

    def _drawn(self, rows: ChangeBatch) -> Drawn:
        inputs = range(self._node.estimated_from)
        return Drawn(
            rows.columns.column("slot").to_numpy(),
            [rows.columns.column(f"draw{at}").to_numpy() for at in inputs],
            [rows.columns.column(f"chance{at}").to_numpy() for at in inputs],
        )

    def _arguments_of(self, rows: ChangeBatch, weights: Floats) -> Arguments:
        present, values = [], []
        for i, name in enumerate(self._columns):
            if name is None:
                present.append(np.ones(len(rows), np.bool_))
                values.append(np.zeros(len(rows)))
                continue
            column = rows.columns.column(f"argument{i}")
            present.append(validity(column))
            values.append(np.where(present[-1], fixed_values(column, "<f8"), 0.0))
        counted, added = np.stack(present, axis=1), np.stack(values, axis=1)
        sizes = np.abs(added * weights[:, None])
        is_out = ~((sizes == 0) | ((sizes > LEAST) & (sizes < MOST)))
        return Arguments(counted.astype(np.float64), np.where(is_out, 0.0, added), is_out)

    def _answers(
        self, versions: Versions, rows: ChangeBatch, row_counts: NDArray[np.int64]
    ) -> list[Answers]:
        """Of every version and aggregate the estimate and the ends of its interval."""
        drawn = self._drawn(rows)
        weights = drawn.weights
        totals = [self._totals(i, versions, rows, weights) for i in range(len(self._columns))]
        averages = np.stack([each.averages for each in totals], axis=1)
        arguments = self._arguments_of(rows, weights)
        margins = self._keeper.slide(
            versions, drawn, arguments, np.where(np.isfinite(averages), averages, 0.0)
        )
        # Without a row nothing is known of what was shed, unless nothing ever was.
        now, before = self._doubt.is_inside, self._was_in_doubt
        in_doubt = np.where(versions.previous == OPENING, before, now)
        is_known = np.where(row_counts > 0, margins.is_certain, ~margins.has_shed & ~in_doubt)
        return [
            answers
            for aggregate, place in zip(self._node.aggregates, self._places, strict=True)
            for answers in totals[place].shown(
                aggregate.function, margins, place, is_known, in_doubt
            )
        ]

    def _totals(
        self, place: int, versions: Versions, rows: ChangeBatch, weights: Floats
    ) -> EstimatedTotals:
        """The estimates of one column in every version."""
        column, mask = None, np.zeros(len(rows), np.bool_)
        if self._columns[place] is not None:
            column = rows.columns.column(f"argument{place}")
            mask = ~validity(column)
        of_weights = self._accumulators[f"weights{place}"].slide(
            versions, pa.array(weights, mask=mask)
        )
        found, counts = of_weights["count"].values, of_weights["sum"].values
        if column is None or not self._is_added[place]:
            nothing = np.zeros(len(counts))
            return EstimatedTotals(found, counts, nothing, nothing)
        weighted = pa.array(fixed_values(column, "<f8") * weights, mask=mask)
        of_values = self._accumulators[f"values{place}"].slide(versions, weighted)
        return EstimatedTotals(found, counts, of_values["sum"].values, of_values["avg"].values)
