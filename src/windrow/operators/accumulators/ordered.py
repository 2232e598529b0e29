"""MIN, MAX and MEDIAN: the values alive, in order.

Where all rows live equally long, what comes later leaves later: MIN and MAX then keep only values
that may still be the answer (`kernels/extremes.py`). Else, and for MEDIAN, all values are kept, in
trees (`kernels/ordered_values.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels import extremes, sliding_order
from windrow.kernels.extremes import Coded
from windrow.kernels.ordered_values import COMPARED, NODE_CELLS
from windrow.kernels.sliding_order import GREATEST, LEAST, LOWER, UPPER
from windrow.kernels.versions import Versions
from windrow.operators.accumulators.base import (
    AliveRows,
    Numbers,
    ValueKeeper,
    fitted,
    nothing_to_delete,
)
from windrow.operators.accumulators.codes import Codes, codes_of
from windrow.operators.accumulators.doubles import as_doubles
from windrow.operators.answers import Answers
from windrow.operators.arrow_types import arrow_type
from windrow.plan.nodes.window_aggregate import Aggregate

_TURNS = {"min": 1, "max": -1}
_PICKED = {"min": LEAST, "max": GREATEST}


@dataclass(frozen=True)
class CodedAnswers(Answers):
    """Answers that are words, and ids, of values."""

    ids: Numbers
    codes: Codes

    def mark_changed(self, previous: NDArray[np.int64], changed: NDArray[np.bool_]) -> None:
        """Marks the versions that differ here from the version before."""
        super().mark_changed(previous, changed)
        Answers(self.ids, None, pa.int64()).mark_changed(previous, changed)

    def take(self, versions: NDArray[np.int64]) -> pa.Array:
        """The values of the given versions."""
        assert self.valid is not None, "there is no least value of none"
        is_valid = self.valid[versions]
        shown = versions[is_valid]
        values = self.codes.values(self.values[shown], self.ids[shown])
        if len(shown) == len(versions):
            return values
        places = np.cumsum(is_valid) - 1
        return values.take(pa.array(places, mask=~is_valid))


class Deques:
    """What may still be the least values, and the greatest ones, of every slot."""

    def __init__(self, functions: Sequence[str], lifetime: int) -> None:
        self.lifetime = lifetime
        self.cells = {f: np.zeros((0, extremes.CELL_PARTS), np.int64) for f in functions}
        self.meta = {function: np.zeros(3, np.int64) for function in functions}
        self.sides = {function: np.zeros((0, 2), np.int64) for function in functions}

    @property
    def nbytes(self) -> int:
        """Bytes of all slots."""
        return sum(a.nbytes for part in (self.cells, self.sides) for a in part.values())

    @property
    def work(self) -> int:
        """Comparisons made so far."""
        return sum(int(meta[COMPARED]) for meta in self.meta.values())

    def fit(self, slots: int) -> None:
        """Makes room for at least so many slots."""
        self.sides = {function: fitted(own, slots) for function, own in self.sides.items()}

    def enter(self, rows: AliveRows, values: Coded) -> None:
        """Takes up rows, in the order of their times."""
        ends = rows.times + self.lifetime
        for name, turn in _TURNS.items():
            if name in self.cells:
                self.cells[name] = extremes.enter_all(
                    values, rows.slots, ends, self.cells[name], self.meta[name],
                    self.sides[name], turn,
                )  # fmt: skip

    def slide(self, versions: Versions, values: Coded, codes: Codes) -> dict[str, Answers]:
        """Applies the events; gives the answers by function name."""
        answers: dict[str, Answers] = {}
        for name in self.cells:
            found, self.cells[name] = extremes.slide_extremes(
                versions, values, self.cells[name], self.meta[name], self.sides[name],
                self.lifetime, _TURNS[name],
            )  # fmt: skip
            answers[name] = CodedAnswers(found.words, found.valid, pa.int64(), found.ids, codes)
        return answers


class Trees:
    """All values of every slot, in order."""

    def __init__(self, functions: Sequence[str]) -> None:
        self.functions = functions
        self.asked = np.zeros(4, np.bool_)
        for function in functions:
            self.asked[[_PICKED[function]] if function in _PICKED else [LOWER, UPPER]] = True
        self.nodes = np.zeros((0, NODE_CELLS), np.int64)
        self.meta = np.zeros(3, np.int64)
        self.roots = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of all slots."""
        return self.nodes.nbytes + self.roots.nbytes

    @property
    def work(self) -> int:
        """Comparisons made so far."""
        return int(self.meta[COMPARED])

    def fit(self, slots: int) -> None:
        """Makes room for at least so many slots."""
        self.roots = fitted(self.roots, slots)

    def enter(self, rows: AliveRows, values: Coded) -> None:
        """Takes up rows, in the order of their times."""
        self.nodes = sliding_order.add_all(
            values, rows.slots, rows.signs, self.nodes, self.meta, self.roots
        )

    def slide(self, versions: Versions, values: Coded, codes: Codes) -> dict[str, Answers]:
        """Applies the events; gives the answers by function name."""
        found, self.nodes = sliding_order.slide_order(
            versions, values, self.nodes, self.meta, self.roots, self.asked
        )
        if not found.is_whole:
            raise nothing_to_delete()
        has_value = found.counts > 0
        answers: dict[str, Answers] = {}
        for name in self.functions:
            if name == "median":
                answers[name] = Answers(_medians(found, codes), has_value, pa.float64())
                continue
            words, ids = (
                np.ascontiguousarray(part[:, _PICKED[name]]) for part in (found.words, found.ids)
            )
            answers[name] = CodedAnswers(words, has_value, pa.int64(), ids, codes)
        return answers


def _medians(found: sliding_order.Picked, codes: Codes) -> NDArray[np.float64]:
    """The middle value, or what lies halfway between the two, as Spark computes it; 0 for none."""
    rows = np.flatnonzero(found.counts)
    lower, upper = (
        as_doubles(codes.values(found.words[rows, which], found.ids[rows, which]))
        for which in (LOWER, UPPER)
    )
    is_one = (found.words[rows, LOWER] == found.words[rows, UPPER]) & (
        found.ids[rows, LOWER] == found.ids[rows, UPPER]
    )
    # Of an infinity no number, of doubles as far apart as they can be an infinity.
    with np.errstate(invalid="ignore", over="ignore"):
        halves = lower + 0.5 * (upper - lower)
    medians = np.zeros(len(found.counts))
    medians[rows] = np.where(is_one, lower, halves) + 0.0
    medians[np.isnan(medians)] = np.nan  # of the many NaNs the one that is positive
    return medians


class Ordered(ValueKeeper):
    """The values of one column, in order as far as they may be asked for."""

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        self.functions = list(dict.fromkeys(aggregate.function for aggregate in aggregates))
        argument = aggregates[0].argument
        assert argument is not None, "only COUNT has no argument"
        self.codes = codes_of(arrow_type(argument.type))
        self._room = 0
        self._worked = 0
        self.kept_values: Deques | Trees = Trees(self.functions)

    @property
    def work(self) -> int:
        """Comparisons made so far."""
        return self._worked + self.kept_values.work

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return self.kept_values.nbytes + self.codes.nbytes

    def begin(self, lifetime: int | None) -> None:
        """Forgets all values; from now on all rows live so long, or, by None, as they like."""
        self._worked = self.work
        if lifetime is None or "median" in self.functions:
            self.kept_values = Trees(self.functions)
        else:
            self.kept_values = Deques(self.functions, lifetime)
        self.codes.forget()
        self.kept_values.fit(self._room)

    def fit(self, slots: int) -> None:
        """Makes room for at least so many slots."""
        self._room = slots
        self.kept_values.fit(slots)

    def clear(self, slots: Numbers) -> None:
        """Values went with their rows."""

    def state(self, slots: Numbers) -> tuple[int, list[pa.Array]]:  # noqa: ARG002
        """Nothing: it is made from the rows alive."""
        return 0, []

    def load(self, slots: Numbers, low: int, columns: Sequence[pa.Array]) -> None:
        """Nothing to put back."""

    def enter(self, rows: AliveRows, column: pa.Array) -> None:
        """Takes up rows that are alive, in the order of their times."""
        values = self.codes.of(column)
        self.kept_values.enter(rows, values)
        self.codes.use(values, np.arange(len(rows.slots)), rows.signs)

    def slide(self, versions: Versions, column: pa.Array) -> dict[str, Answers]:
        """What is asked for of MIN, MAX and MEDIAN."""
        values = self.codes.of(column)
        answers = self.kept_values.slide(versions, values, self.codes)
        self.codes.use(values, versions.event_rows, versions.event_signs)
        return answers
