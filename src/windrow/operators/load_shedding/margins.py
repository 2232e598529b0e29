"""What an aggregate over a join that sheds keeps to say how far its estimates may be off.

Which of a group's combinations share a draw is found by words: one per group, set of inputs and
draws, hashed to 64 bits. A directory gives each word the entry of its sum; the sums are changed in
`kernels/sliding_margins.py`. Two words in a million million million are one by accident: a sum then
is of two draws, and an interval too wide.

All of it follows from the rows alive, so that none of it is stored with them: after a restart it is
made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.jit import writable
from windrow.kernels.keys import chain_words
from windrow.kernels.sliding_margins import (
    NONE,
    OWN,
    SQUARES,
    Layout,
    Margins,
    Rows,
    Sums,
    enter_rows,
    slide_margins,
)
from windrow.kernels.versions import Versions
from windrow.operators.accumulators.base import fitted
from windrow.operators.columns.key_directory import KeyDirectory

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """Combinations that were found.

    Attributes:
        slots: the group of each.
        draws: per input, which draw put the combination's tuple there.
        chances: per input, the chance of that draw.
    """

    slots: Int64s
    draws: Sequence[Int64s]
    chances: Sequence[Floats]

    @property
    def weights(self) -> Floats:
        """How many combinations each stands for."""
        weights: Floats = 1 / np.prod(np.stack(self.chances), axis=0)
        return weights


@dataclass(frozen=True)
class Arguments:
    """The values that are added up, one column per argument.

    Attributes:
        present: 1 where the value is counted, 0 where it is NULL.
        values: 0 where it is NULL or out of range.
        is_out: whether its square, with its weight, is more or less than a double holds.
    """

    present: Floats
    values: Floats
    is_out: NDArray[np.bool_]


class MarginKeeper:
    """The sums by draws of every group.

    Args:
        inputs: how many the join has.
        asked: per argument column, which of COUNT, SUM and AVG are asked for.
    """

    def __init__(self, inputs: int, asked: NDArray[np.bool_]) -> None:
        arguments = len(asked)
        self._members = [
            members
            for size in range(1, inputs + 1)
            for members in combinations(range(inputs), size)
        ]
        self._layout = Layout(
            np.array([own[0] if len(own) == 1 else -1 for own in self._members], np.int64),
            np.array([1.0 if len(own) % 2 else -1.0 for own in self._members]),
            asked,
        )
        self._directory = KeyDirectory()
        self._sums = Sums(
            np.zeros(0, np.int64),
            np.zeros((0, arguments, 4)),
            np.zeros((0, inputs + 1, arguments, SQUARES)),
            np.zeros((0, inputs), np.int64),
            np.zeros((0, arguments), np.int64),
            np.zeros(0, np.bool_),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all sums."""
        return self._directory.nbytes + sum(own.nbytes for own in self._sums)

    def fit(self, slots: int) -> None:
        """Makes room for at least so many groups, or gives room back if much too large."""
        self._fit("squares", "draws", "out", "has_shed", rows=slots)

    def has_shed(self, slot: int) -> bool:
        """Whether a combination of a group ever had a chance below 1."""
        return slot < len(self._sums.has_shed) and bool(self._sums.has_shed[slot])

    def mark_shed(self, slots: Int64s, *, has_shed: bool) -> None:
        """Says that of groups: of new ones, or as it was stored."""
        self._sums.has_shed[slots] = has_shed

    def slide(
        self, versions: Versions, drawn: Drawn, arguments: Arguments, averages: Floats
    ) -> Margins:
        """Applies the events of the versions; with the estimated averages per version and argument."""
        rows = self._rows(drawn, arguments)
        margins = slide_margins(versions, rows, self._layout, averages, self._sums)
        self._forget(rows.entries)
        return margins

    def enter(self, drawn: Drawn, arguments: Arguments) -> None:
        """Takes in rows that are alive already."""
        rows = self._rows(drawn, arguments)
        enter_rows(writable(drawn.slots), rows, self._layout, self._sums)

    def _rows(self, drawn: Drawn, arguments: Arguments) -> Rows:
        shape = (len(drawn.slots), len(self._members))
        entries = np.full(shape, NONE, np.int64)
        factors = np.zeros(shape)
        weights = drawn.weights
        places, words = [], []
        for at, members in enumerate(self._members):
            missed = np.prod(np.stack([1 - drawn.chances[i] for i in members]), axis=0)
            factors[:, at] = weights * np.sqrt(missed)
            # A draw that was certain adds nothing.
            rows = np.flatnonzero(missed > 0)
            if len(members) == len(drawn.draws):
                entries[rows, at] = OWN
                continue
            places.append(rows * len(self._members) + at)
            words.append(_words(drawn, rows, at, members))
        flat = np.concatenate(places)
        if len(flat):
            keys = pa.array(np.concatenate(words).view(np.int64))
            entries.reshape(-1)[flat] = self._directory.slots_of([keys])
            self._fit_entries()
        return Rows(entries, factors, arguments.present, arguments.values, arguments.is_out)

    def _fit_entries(self) -> None:
        self._fit("rows", "of_entry", rows=self._directory.slot_count)

    def _fit(self, *names: str, rows: int) -> None:
        sums = {name: fitted(getattr(self._sums, name), rows) for name in names}
        self._sums = self._sums._replace(**sums)

    def _forget(self, touched: Int64s) -> None:
        """Gives up the entries that no row is part of any more."""
        entries = touched[touched >= 0]
        is_empty = np.zeros(len(self._sums.rows), np.bool_)
        is_empty[entries[self._sums.rows[entries] == 0]] = True
        self._directory.release(np.flatnonzero(is_empty))
        self._fit_entries()


def _words(drawn: Drawn, rows: Int64s, number: int, members: Sequence[int]) -> NDArray[np.uint64]:
    """A word per row, of its group, a set of inputs and its draws there."""
    words = np.zeros(len(rows), np.uint64)
    chain_words(words, np.full(len(rows), number, np.uint64))
    chain_words(words, drawn.slots[rows].view(np.uint64))
    for i in members:
        chain_words(words, drawn.draws[i][rows].view(np.uint64))
    return words
