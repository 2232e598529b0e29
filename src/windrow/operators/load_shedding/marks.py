"""Where in event time results may be missing: a join that sheds tells the aggregate above it.

A combination that was lost leaves no row behind, and those found may all have been certain. So the
join sends a *mark* for each pane in which it has let go of something:

    shed in a pane         x   x
    mark               [first .................. until)    until the last of the tuples has left
    an aggregate       as found  | may be more  | as found

A mark is a row among the results: its chances are 0, which no result's are, its draws say until
when, and its other columns are NULL. It goes to every bucket of the aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.load_shedding.draws import numbered
from windrow.physical.load_shedding.limits import chance_column, draw_column
from windrow.schema import MAX_TICK, MIN_TICK, Schema

Flags = NDArray[np.bool_]


def is_mark(columns: pa.RecordBatch) -> Flags:
    """Which of the results of a join, with their hidden columns, are marks."""
    marks: Flags = columns.column(chance_column(0)).to_numpy() == 0
    return marks


class Losses:
    """What a join of so many inputs has let go of in a pane."""

    def __init__(self, schema: Schema, inputs: int) -> None:
        self._schema = schema
        self._inputs = inputs
        self._first, self._until, self._has_ends = MAX_TICK, MIN_TICK, False

    def add(self, rows: ChangeBatch, is_lost: Flags, since: int = MIN_TICK) -> None:
        """Takes those of some rows that are lost: from their own times on, or from later."""
        if not is_lost.any():
            return
        self._first = min(self._first, max(since, int(rows.times[is_lost].min())))
        self._until = max(self._until, int(rows.ends_or_never()[is_lost].max()))
        self._has_ends |= rows.ends is not None

    def add_held(self, held: ChunkBuffer, is_lost: Flags, since: int = MIN_TICK) -> None:
        """The same of rows held, all of them in their order, which others have met until then."""
        start = 0
        for part in held.slices:
            self.add(part.rows(), is_lost[start : start + len(part)], since)
            start += len(part)

    def marks(self) -> Iterator[ChangeBatch]:
        """The mark of the pane, where something was lost; the next pane begins."""
        first, until, has_ends = max(self._first, MIN_TICK + 1), self._until, self._has_ends
        self._first, self._until, self._has_ends = MAX_TICK, MIN_TICK, False
        if until <= first:
            return
        columns = {own.name: pa.nulls(1, own.type) for own in arrow_schema(self._schema)}
        for at in range(self._inputs):
            columns[draw_column(at)] = pa.array([until])
            columns[chance_column(at)] = pa.array([0.0])
        batch = pa.RecordBatch.from_pydict(columns)
        yield ChangeBatch(batch, np.array([first]), np.array([until]) if has_ends else None)


class Doubt:
    """The spans of event time in which results may be missing, and where answers have come to.

    Spans neither overlap nor touch. While answers are inside one it is the first; those that they
    have left are forgotten.
    """

    def __init__(self) -> None:
        self.is_inside = False
        self._spans: list[tuple[int, int]] = []

    def add(self, marks: ChangeBatch) -> None:
        """Takes marks, none of which begins before what has been answered."""
        untils = marks.columns.column(draw_column(0)).to_pylist()
        merged: list[tuple[int, int]] = []
        for first, until in sorted([*self._spans, *zip(marks.times.tolist(), untils, strict=True)]):
            if merged and first <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], until))
            else:
                merged.append((first, until))
        self._spans = merged

    def turns(self) -> tuple[int, int]:
        """The next two instants at which a span begins or ends; MAX_TICK for never."""
        coming = [instant for span in self._spans[:2] for instant in span][self.is_inside :]
        first, second, *_ = [*coming, MAX_TICK, MAX_TICK]
        return first, second

    def turn(self) -> None:
        """Answers have come to the next of these instants."""
        if self.is_inside:
            del self._spans[0]
        self.is_inside = not self.is_inside

    def snapshot(self) -> dict[str, int]:
        """Spans and place, as numbers by name."""
        return {"inside": int(self.is_inside)} | {f"doubt {at}": end for at, end in self._spans}

    @classmethod
    def parted(cls, numbers: dict[str, int]) -> tuple[Doubt, dict[str, int]]:
        """What a snapshot holds, and its other numbers."""
        held = cls()
        held.is_inside = bool(numbers.get("inside", 0))
        held._spans = list(numbered(numbers, "doubt ").items())
        own = held.snapshot()
        return held, {name: value for name, value in numbers.items() if name not in own}
