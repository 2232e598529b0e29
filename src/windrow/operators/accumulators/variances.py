"""VAR_POP, VAR_SAMP, STDDEV_POP and STDDEV_SAMP: exact sums of values and of their squares.

Arguments of any numeric type are doubles here, as in Spark. Limbs of the sum are as many as the
values seen so far need; limbs of the squares are twice as many and one, from twice as low on
(`kernels/sliding_variance.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.kernels import sliding_variance as kernels
from windrow.kernels.exact_sum import double_span
from windrow.kernels.jit import writable
from windrow.kernels.sliding_variance import STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP
from windrow.kernels.versions import Versions
from windrow.operators.accumulators.base import (
    Accumulator,
    Answers,
    Int64s,
    as_doubles,
    fitted,
    validity,
)
from windrow.operators.accumulators.sums import (
    fixed_lists,
    rows_of_lists,
    settled,
    shifted,
    trimmed,
)
from windrow.plan.nodes.window_aggregate import Aggregate

FUNCTIONS = {
    "var_pop": VAR_POP,
    "var_samp": VAR_SAMP,
    "stddev_pop": STDDEV_POP,
    "stddev_samp": STDDEV_SAMP,
}
_LEAST_VALUES = {"var_pop": 1, "var_samp": 2, "stddev_pop": 1, "stddev_samp": 2}
"""With fewer values the answer is NULL."""


class Variances(Accumulator):
    """Counts of values, finite or not, and the limbs of their sum and of their squares' sum."""

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        self.asked = np.zeros(len(FUNCTIONS), np.bool_)
        self.functions = [aggregate.function for aggregate in aggregates]
        self.asked[[FUNCTIONS[function] for function in self.functions]] = True
        self.low = 0
        self.counts: Int64s = np.zeros((0, 4), np.int64)
        self.limbs: Int64s = np.zeros((0, 1), np.int64)
        self.squares: Int64s = np.zeros((0, 3), np.int64)

    def slide(self, versions: Versions, column: pa.Array) -> dict[str, Answers]:
        """What is asked for of variances and standard deviations."""
        values, valid = writable(as_doubles(column)), validity(column)
        self._cover(*double_span(values.view(np.int64), valid))
        counts, results = kernels.slide_variances(
            versions,
            values,
            valid,
            self.counts,
            kernels.Moments(self.limbs, self.squares, 32 * self.low),
            self.asked,
        )
        answers = {}
        for function in self.functions:
            has_value = counts >= _LEAST_VALUES[function]
            shown = np.where(has_value, results[:, FUNCTIONS[function]], 0.0)
            answers[function] = Answers(shown, has_value, pa.float64())
        return answers

    @property
    def nbytes(self) -> int:
        """Bytes of all slots."""
        return self.counts.nbytes + self.limbs.nbytes + self.squares.nbytes

    def fit(self, slots: int) -> None:
        """Makes room for at least so many slots, or gives room back if much too large."""
        self.counts = fitted(self.counts, slots)
        self.limbs, self.squares = fitted(self.limbs, slots), fitted(self.squares, slots)

    def clear(self, slots: Int64s) -> None:
        """Forgets what these slots held."""
        for array in (self.counts, self.limbs, self.squares):
            array[slots] = 0

    def _cover(self, low: int, high: int) -> None:
        """Widens both layouts so that values may touch limbs low to high."""
        stop = self.low + self.limbs.shape[1]
        if high < low or (self.low <= low and high < stop):
            return
        if not self.squares.any():  # where all squares are 0, so is the sum
            self.low = stop = low
            self.limbs, self.squares = self.limbs[:, :0], self.squares[:, :0]
        new_low, new_stop = min(self.low, low), max(stop, high + 1)
        skipped, width = self.low - new_low, new_stop - new_low
        self.limbs = shifted(self.limbs, skipped, width)
        self.squares = shifted(self.squares, 2 * skipped, 2 * width + 1)
        self.low = new_low

    def state(self, slots: Int64s) -> tuple[int, list[pa.Array]]:
        """Counts and limbs of some slots in the one form their values have, and `low` in it."""
        skipped, limbs = trimmed(settled(self.limbs[slots]))
        skipped_squares, squares = trimmed(settled(self.squares[slots]))
        used = [skipped] if limbs.any() else []
        used += [skipped_squares // 2] if squares.any() else []
        least = min(used, default=0)
        rows = (
            self.counts[slots],
            _from(limbs, skipped - least),
            _from(squares, skipped_squares - 2 * least),
        )
        return self.low + least if used else 0, [fixed_lists(each) for each in rows]

    def load(self, slots: Int64s, low: int, columns: Sequence[pa.Array]) -> None:
        """Puts back what `state` gave, into an accumulator that holds nothing yet."""
        counts, limbs, squares = map(rows_of_lists, columns)
        self.fit(int(slots.max(initial=-1)) + 1)
        width = max(limbs.shape[1], (squares.shape[1] + 1) // 2)
        self.low = low
        self.limbs = np.zeros((len(self.counts), width), np.int64)
        self.squares = np.zeros((len(self.counts), 2 * width + 1), np.int64)
        # The last limbs are signed; what is missing above them is made by the next settling.
        self.counts[slots] = counts
        self.limbs[slots, : limbs.shape[1]] = limbs
        self.squares[slots, : squares.shape[1]] = squares


def _from(limbs: Int64s, skipped: int) -> Int64s:
    """Trimmed rows with so many columns before them; one column where all are 0."""
    return shifted(limbs, skipped, skipped + limbs.shape[1]) if limbs.any() else limbs[:, :1]
