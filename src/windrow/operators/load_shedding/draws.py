"""Who is drawn: a seeded hash of the row against a chance, and how chances change over event time.

A row's draw is a number from [0, 1) that follows from the row and the seed alone:

    draw  0 ----------------|----------------------- 1
             drawn          chance     not drawn

So it depends neither on the order of arrival, nor on batches or partitions, nor on whether a query
was stopped and resumed. A chance that is lowered lets go of some of those drawn and of no others:
what is left is what the lower chance would have drawn in the first place.

Equal rows are different tuples. They are numbered, and the number goes into the hash; that takes
all rows of an instant together.

The chance to be kept is constant within a pane of event time and may change with the next. A tuple
that was let go does not come back, so that its chance at some instant is the least since its own:

    chance        0.8 |____
                      |    |____          ____       a tuple of the first pane has 0.5 by the end,
                  0.5 |         |____|____|          one of the last pane 0.6
    panes                0    1    2    3

What is kept are these least chances alone, which never fall from an older pane to a newer one.

**Marks** say where in event time results may be missing: a join that sheds tells the aggregate above it.

A combination that was lost leaves no row behind, and those found may all have been certain. So the
join sends a *mark* for each pane in which it has let go of something:

    shed in a pane         x   x
    mark               [first .................. until)    until the last of the tuples has left
    an aggregate       as found  | may be more  | as found

A mark is a row among the results: its chances are 0, which no result's are, its draws say until
when, and its other columns are NULL. It goes to every bucket of the aggregate.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.columns.key_columns import key_words, mixed_words
from windrow.physical.load_shedding.limits import chance_column, draw_column
from windrow.schema import MAX_TICK, MIN_TICK, Schema

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Draws = Floats

KEEP, PROBE = "$keep", "$probe"
"""The columns of rows held with their draws to be kept and to probe."""

NOT_DRAWN = 1.0
"""The draw of a row that is not kept, or does not probe: no chance is above it."""

_DIGITS = 53
"""Bits of a float between 0 and 1."""


class Purpose(IntEnum):
    """What a row is drawn for; the draws of one row for either are independent."""

    keep = 1
    probe = 2


def row_words(columns: Sequence[pa.Array], times: NDArray[np.int64]) -> Words:
    """A word per row, of its columns and its time; equal rows get different ones.

    Which of several equal rows gets which word does not matter: they are equal.

    Args:
        columns: what tells rows apart, NULLs included.
        times: their event times; all rows of any instant must be here.
    """
    keys = [*columns, pa.array(times)]
    words = mixed_words(key_words(keys, nulls_match=True).words)
    return mixed_words(words ^ mixed_words(_number_among_equals(words)))


def draws_of(words: Words, seed: int, stream: int, purpose: Purpose) -> Draws:
    """A number from [0, 1) per row, by the words that `row_words` gives.

    The position of the rows' stream is part of it: the same row of two streams is drawn twice.
    """
    salt = mixed_words(np.array([seed % (1 << 64), stream, purpose], np.uint64))
    mixed = words
    for grain in salt:
        mixed = mixed_words(mixed ^ grain)
    return (mixed >> np.uint64(64 - _DIGITS)).astype(np.float64) / (1 << _DIGITS)


def draw_numbers(draws: Draws, purpose: Purpose) -> NDArray[np.int64]:
    """A whole number per draw: the same for the same tuple and purpose, else another one.

    Draws of either purpose are apart: a tuple that is kept and probes has two numbers.
    """
    numbers = (draws * (1 << _DIGITS)).astype(np.int64)
    return numbers + (np.int64(purpose - Purpose.keep) << np.int64(_DIGITS))


def _number_among_equals(words: Words) -> Words:
    """0 for the first of equal words, 1 for the second, and so on."""
    order = np.argsort(words, kind="stable")
    inside = words[order]
    is_first = np.ones(len(words), np.bool_)
    is_first[1:] = inside[1:] != inside[:-1]
    starts = np.flatnonzero(is_first)
    numbers = np.empty(len(words), np.uint64)
    numbers[order] = np.arange(len(words)) - np.repeat(starts, np.diff([*starts, len(words)]))
    return numbers


def bits(number: float) -> int:
    """A float as an integer, bit by bit.

    Examples:
        >>> number_of(bits(0.1))
        0.1
    """
    return int(np.float64(number).view(np.int64))


def number_of(held: int) -> float:
    """The inverse of `bits`."""
    return float(np.int64(held).view(np.float64))


def numbered(numbers: Mapping[str, int], prefix: str) -> dict[int, int]:
    """The entries whose names are a prefix and a number, by that number, ascending."""
    found = {int(k.removeprefix(prefix)): v for k, v in numbers.items() if k.startswith(prefix)}
    return dict(sorted(found.items()))


class Chances:
    """The least chance of one stream from each of some panes on, by their starts, ascending."""

    def __init__(self, starts: list[int] | None = None, least: list[float] | None = None) -> None:
        self.starts = starts or []
        self.least = least or []

    def add(self, start: int, chance: float) -> None:
        """From an instant on, later than all before, the chance is another."""
        first = bisect_left(self.least, chance)
        if first == len(self.least):
            self.starts.append(start)
            self.least.append(chance)
            return
        # All panes from there on had as much or more: one stands for all of them now.
        del self.starts[first + 1 :], self.least[first + 1 :]
        self.least[first] = chance

    def since(self, times: NDArray[np.int64]) -> Floats:
        """The least chance from some instants on; the first one's for instants before it."""
        at = np.searchsorted(np.array(self.starts, np.int64), times, side="right") - 1
        return np.array(self.least, np.float64)[np.maximum(at, 0)]

    def forget(self, before: int) -> None:
        """Nobody will ask for an instant before this one."""
        while len(self.starts) > 1 and self.starts[1] <= before:
            del self.starts[0], self.least[0]


class Caps:
    """What chances are at most, of panes of which rows were let go before they were decided.

    They are kept by the starts of panes, ascending.
    """

    def __init__(self, pane: int, chances: dict[int, float] | None = None) -> None:
        self._pane = pane
        self.chances = chances or {}

    def add(self, start: int, chance: float) -> None:
        """Of the pane that begins there, later than all before, no row has a higher chance."""
        self.chances[start] = chance

    def at(self, times: NDArray[np.int64]) -> Floats:
        """The caps at some instants, 1 where there is none."""
        if not self.chances:
            return np.ones(len(times))
        starts = np.array(list(self.chances), np.int64)
        place = np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)
        since = times - starts[place]
        is_capped = (since >= 0) & (since < self._pane)
        return np.where(is_capped, np.array(list(self.chances.values()))[place], 1.0)

    def forget(self, before: int) -> None:
        """Nobody will ask for an instant before this one."""
        alive = before - self._pane
        self.chances = {start: own for start, own in self.chances.items() if start > alive}


def chance_of(draws: Draws, most: float) -> float:
    """The chance that draws no more than so many: the next draw after theirs, or 1 for all.

    It is 0 for none, which nothing can be estimated from.

    Whoever is drawn would be drawn with that chance whatever its own draw was, so that it may stand
    for the tuple's probability.
    """
    if len(draws) <= most:
        return 1.0
    if most < 1:
        return 0.0
    return float(np.partition(draws, int(most))[int(most)])


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
