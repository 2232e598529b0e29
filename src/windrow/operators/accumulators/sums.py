"""Counts, sums and means.

SUM, AVG and COUNT of one column share one accumulator. Accumulators are arrays indexed by slot:
counts of the values that are not NULL, and rows of limbs (`kernels/exact_sum.py`) for their exact
sum. Which kind is used follows from the argument's type:

    kind        arguments              SUM                  AVG
    CountOnly   any                    -                    -
    Integers    tinyint to bigint      bigint               double
    Doubles     float, double          double               double
    Decimals    decimal(p, s)          decimal(p + 10, s)   decimal(p + 4, s + 4), half up

(decimals have 38 digits at most). A sum or mean that its type cannot hold is a DataError where it is
shown.

What is stored of limbs has the one form that their values have, so that equal states are equal bytes.
The same sum can stand in a narrow or a wide row of limbs, settled or not, depending on what came
before. What is stored is settled, and without the columns of limbs that no row needs:

    limb        0     1     2     3     4
    row a       0     0     7     0     0        low = 2: the columns below are 0 in every row
    row b       0     0     9     1     0        two columns stay: the rest only repeats the sign
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import DataError, UnsupportedError
from windrow.kernels import sliding_aggregate as kernels
from windrow.kernels.exact_sum import double_span
from windrow.kernels.jit import writable
from windrow.kernels.versions import Versions
from windrow.operators.accumulators.base import Accumulator, Answers, Int64s, fitted, validity
from windrow.operators.columns.arrow_types import arrow_type
from windrow.operators.columns.key_columns import fixed_values
from windrow.plan.nodes.window_aggregate import Aggregate

MASK = 0xFFFFFFFF
HALF = 1 << 31


def totals(aggregates: Sequence[Aggregate]) -> Totals:
    """What counts, sums and averages of one column share.

    Raises:
        UnsupportedError: the type of the column has no sum.
    """
    if all(aggregate.function == "count" for aggregate in aggregates):
        return CountOnly(aggregates)
    argument = aggregates[0].argument
    assert argument is not None, "only COUNT has no argument"
    kind = arrow_type(argument.type)
    if pa.types.is_integer(kind):
        return Integers(aggregates)
    if pa.types.is_floating(kind):
        return Doubles(aggregates)
    if pa.types.is_decimal(kind):
        return Decimals(aggregates, kind)
    function = next(a.function for a in aggregates if a.function != "count").upper()
    raise UnsupportedError(
        "aggregate-type",
        f"{function}({argument.text}) has an argument of type {argument.type}",
        reason=f"{function} takes whole numbers, decimals, float and double",
        hint=f"cast it, for instance  {function}(CAST({argument.text} AS DOUBLE))",
    )


_DOUBLE, _BIGINT = pa.float64(), pa.int64()


class Totals(Accumulator):
    """Counts and limbs, one row of each per slot."""

    count_shape: ClassVar[tuple[int, ...]] = ()
    width = 0
    low = 0
    """Which limb, counted from the least double, limb 0 is; 0 for whole numbers."""

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        self.shown = {aggregate.function: aggregate for aggregate in aggregates}
        self.asked = kernels.WantedResults("sum" in self.shown, "avg" in self.shown)
        self.counts: Int64s = np.zeros((0, *self.count_shape), np.int64)
        self.limbs: Int64s = np.zeros((0, self.width), np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of all slots."""
        return self.counts.nbytes + self.limbs.nbytes

    def fit(self, slots: int) -> None:
        """Makes room for at least so many slots, or gives room back if much too large."""
        self.counts, self.limbs = fitted(self.counts, slots), fitted(self.limbs, slots)

    def clear(self, slots: Int64s) -> None:
        """Forgets what these slots held."""
        self.counts[slots] = 0
        self.limbs[slots] = 0

    def state(self, slots: Int64s) -> tuple[int, list[pa.Array]]:
        """Counts of some slots, and limbs if there are any, in the one form their values have.

        Gives with them what `low` is in that form.
        """
        counts = fixed_lists(self.counts[slots].reshape(len(slots), -1))
        if not self.width:
            return 0, [counts]
        skipped, limbs = trimmed(settled(self.limbs[slots]))
        low = self.low + skipped if limbs.any() else 0
        return low, [counts, fixed_lists(limbs)]

    def load(self, slots: Int64s, low: int, columns: Sequence[pa.Array]) -> None:
        """Puts back what `state` gave, into an accumulator that holds nothing yet."""
        self.fit(int(slots.max(initial=-1)) + 1)
        self.counts[slots] = rows_of_lists(columns[0]).reshape(len(slots), *self.count_shape)
        if self.width:
            self._load_limbs(slots, low, rows_of_lists(columns[1]))

    def _load_limbs(self, slots: Int64s, low: int, limbs: Int64s) -> None:
        # The last limb is signed; what is missing above it is made by the next settling.
        self.limbs[slots, low : low + limbs.shape[1]] = limbs

    def _limit(
        self, answers: dict[str, Answers], function: str, fits: NDArray[np.bool_], holds: str
    ) -> None:
        """Notes which answers a type cannot hold; whoever shows one of them is told."""
        if function in answers and not fits.all():
            misfit = self._overflow(function, holds)
            answers[function] = replace(answers[function], fits=fits, misfit=misfit)

    def _overflow(self, function: str, holds: str) -> DataError:
        argument = self.shown[function].argument
        text, name = argument.text if argument else "*", function.upper()
        sentence = f"{name}({text}) has a value that {holds} cannot hold"
        reason = "at some instant the rows alive add up to more than the type of the result"
        hint = f"cast the argument to double, or to a wider type, inside {name}"
        error = (
            DataError("sum-overflow", sentence, reason=reason, hint=hint)
            if function == "sum"
            else DataError("avg-overflow", sentence, reason=reason, hint=hint)
        )
        return error.at(argument.span if argument else None)

    def slide(
        self, versions: Versions, column: pa.Array, weights: kernels.Weights | None = None
    ) -> dict[str, Answers]:
        """COUNT, and what is asked for of SUM and AVG.

        `weights` say how many values each row stands for, which `column` has the sum of; None: one
        where it is not NULL.
        """
        valid = validity(column)
        counting = kernels.Counting(valid, valid if weights is None else weights)
        return self._slid(versions, column, counting)

    @abstractmethod
    def _slid(
        self, versions: Versions, column: pa.Array, counting: kernels.Counting
    ) -> dict[str, Answers]:
        """The same, told which rows have a value, and how many."""


class CountOnly(Totals):
    """How many values are not NULL; stored rows keep no more than that."""

    def kept(self, column: pa.Array) -> pa.Array:
        """True, or NULL."""
        return pa.array(
            np.ones(len(column), np.bool_), mask=column.is_null().to_numpy(zero_copy_only=False)
        )

    def _slid(
        self,
        versions: Versions,
        column: pa.Array,  # noqa: ARG002
        counting: kernels.Counting,
    ) -> dict[str, Answers]:
        counts = kernels.slide_counts(versions, counting.weights, self.counts)
        return {"count": Answers(counts, None, pa.int64())}


class Integers(Totals):
    """Sums of whole numbers of up to 64 bits."""

    width = 3

    def _slid(
        self, versions: Versions, column: pa.Array, counting: kernels.Counting
    ) -> dict[str, Answers]:
        if column.type != _BIGINT:
            column = column.cast(_BIGINT)
        values = fixed_values(column, "<i8")
        found = kernels.slide_integers(
            versions,
            writable(values),
            counting,
            self.counts,
            self.limbs,
            self.asked,
        )
        answers = _answers(found.counts, found.sums, pa.int64(), found.means, pa.float64())
        self._limit(answers, "sum", found.fits, "bigint")
        return answers


class Doubles(Totals):
    """Sums of doubles: as many limbs as the values seen so far need."""

    count_shape = (4,)
    width = 1

    def _slid(
        self, versions: Versions, column: pa.Array, counting: kernels.Counting
    ) -> dict[str, Answers]:
        if column.type != _DOUBLE:
            column = column.cast(_DOUBLE)
        values = writable(fixed_values(column, "<f8"))
        self._cover(*double_span(values.view(np.int64), counting.valid))
        found = kernels.slide_doubles(
            versions,
            values,
            counting,
            self.counts,
            self.limbs,
            32 * self.low,
            self.asked,
        )
        return _answers(found.counts, found.sums, pa.float64(), found.means, pa.float64())

    def _cover(self, low: int, high: int) -> None:
        """Widens the layout so that values may touch limbs low to high.

            before            [ low ......... ]
            after     [ low ............................ high ]

        The last limb takes the carries too: at most 21 bits of a value reach limb `high`.
        """
        stop = self.low + self.limbs.shape[1]
        if high < low or (self.low <= low and high < stop):
            return
        if not self.limbs.any():
            self.low, self.limbs, stop = low, self.limbs[:, :0], low
        new_low, new_stop = min(self.low, low), max(stop, high + 1)
        self.limbs = shifted(self.limbs, self.low - new_low, new_stop - new_low)
        self.low = new_low

    def _load_limbs(self, slots: Int64s, low: int, limbs: Int64s) -> None:
        self.low = low
        self.limbs = np.zeros((len(self.counts), limbs.shape[1]), np.int64)
        self.limbs[slots] = limbs


class Decimals(Totals):
    """Sums of decimals, scaled to whole numbers of up to 128 bits."""

    width = 5

    def __init__(self, aggregates: Sequence[Aggregate], argument: pa.DataType) -> None:
        super().__init__(aggregates)
        precision, scale = argument.precision, argument.scale
        self.sum_type = pa.decimal128(min(38, precision + 10), scale)
        self.mean_type = pa.decimal128(min(38, precision + 4), min(38, scale + 4))
        self.rules = kernels.DecimalRules(
            power_of_ten(self.sum_type.precision),
            power_of_ten(self.mean_type.precision),
            10 ** (self.mean_type.scale - scale),
        )

    def _slid(
        self, versions: Versions, column: pa.Array, counting: kernels.Counting
    ) -> dict[str, Answers]:
        words = fixed_values(column, "<i8").reshape(-1, 2)
        found = kernels.slide_decimals(
            versions,
            writable(words),
            counting,
            self.counts,
            self.limbs,
            self.rules,
            self.asked,
        )
        answers = _answers(found.counts, found.sums, self.sum_type, found.means, self.mean_type)
        self._limit(answers, "sum", found.sums_fit, _shown(self.sum_type))
        self._limit(answers, "avg", found.means_fit, _shown(self.mean_type))
        return answers


def _answers(
    counts: Int64s,
    sums: NDArray[Any],
    sum_type: pa.DataType,
    means: NDArray[Any],
    mean_type: pa.DataType,
) -> dict[str, Answers]:
    """COUNT, and what was asked for of SUM and AVG, which are NULL where the count is 0."""
    answers = {"count": Answers(counts, None, pa.int64())}
    has_value = counts > 0
    if len(sums):
        answers["sum"] = Answers(sums, has_value, sum_type)
    if len(means):
        answers["avg"] = Answers(means, has_value, mean_type)
    return answers


def power_of_ten(exponent: int) -> NDArray[np.uint64]:
    """10^exponent as four digits of 32 bits; at most 10^38."""
    number = 10**exponent
    return np.array([(number >> (32 * k)) & 0xFFFFFFFF for k in range(4)], np.uint64)


def _shown(kind: pa.DataType) -> str:
    """A decimal's type as SQL writes it."""
    return f"decimal({kind.precision},{kind.scale})"


def settled(limbs: Int64s) -> Int64s:
    """The rows with all limbs but the last in [0, 2^32): `exact_sum.settle`, by columns."""
    limbs = limbs.copy()
    for k in range(limbs.shape[1] - 1):
        limbs[:, k + 1] += limbs[:, k] >> 32
        limbs[:, k] &= MASK
    return limbs


def trimmed(limbs: Int64s) -> tuple[int, Int64s]:
    """How many lowest columns are not needed, and settled rows without needless columns."""
    while limbs.shape[1] > 1:
        rest, last = limbs[:, -2], limbs[:, -1]
        if not np.array_equal(last, np.where(rest >= HALF, -1, 0)):
            break
        limbs = limbs[:, :-1].copy()
        limbs[:, -1] = np.where(rest >= HALF, rest - (1 << 32), rest)
    used = np.flatnonzero(limbs.any(axis=0))
    low = int(used[0]) if len(used) else limbs.shape[1] - 1
    return low, limbs[:, low:]


def fixed_lists(rows: Int64s) -> pa.FixedSizeListArray:
    """Rows of one or more numbers as an Arrow column."""
    flat = pa.array(np.ascontiguousarray(rows).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])


def rows_of_lists(column: pa.FixedSizeListArray) -> Int64s:
    """The inverse of `fixed_lists`."""
    numbers: Int64s = column.flatten().to_numpy().reshape(len(column), -1)
    return numbers


def shifted(limbs: Int64s, skipped: int, width: int) -> Int64s:
    """The rows with so many zero columns before them, and as many columns in all."""
    rows = np.zeros((len(limbs), width), np.int64)
    rows[:, skipped : skipped + limbs.shape[1]] = limbs
    return rows
