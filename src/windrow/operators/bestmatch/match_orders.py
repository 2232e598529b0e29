"""Orders of a bestmatch join that look at the values of a pair, not at a distance or at times.

Candidates are found by keys, times and distances. Those of one row are a run; of each run, what
every pair is worth in such a dimension:

    numbers    the user's function gives a number per pair: one more code, less is better; so are
               the distances of decimals that 64 bits do not hold
    sets       which elements of the judged row's array the other row's has as well, as bits: the
               bits of one run stand for the same elements, so that inclusion is that of bits
    partial    the user's function compares one pair with another

Codes are compared by the kernel. A partial order needs every two pairs of a run compared, those
that the codes do not set apart by the function: as arrays of comparisons, but as many as the square
of the run. It is the slow path.

Arrays become sets by numbering the elements of both columns alike, NULL elements left out:

    one      ["a", NULL, "b"]  ["b"]      owners 0 0 1      codes 0 1 1
    other    []  [NULL, "b", "b"]         owners 1 1        codes 1 1        dictionary a b
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.errors import DataError
from windrow.kernels.bestmatch import Sets, best_of_runs, best_with_sets, intersections
from windrow.operators.bestmatch.distances import common_scale, shifted, units_within, whole_numbers
from windrow.operators.columns import wide_numbers
from windrow.operators.columns.total_order import real_ranks
from windrow.operators.expressions.functions import call_function
from windrow.plan.nodes.bestmatch_join import SUBSET, Dimension, Limit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.operators.bestmatch.rows import PairValues


Int64s = NDArray[np.int64]


class Elements(NamedTuple):
    """The elements of a column of arrays, in order: whose each is, and which."""

    owners: Int64s
    codes: Int64s


def coded_elements(one: pa.Array, other: pa.Array) -> tuple[Elements, Elements, pa.Array]:
    """The elements of two columns of arrays, none of them NULL, and what their codes stand for."""
    elements = pa.concat_arrays([one.flatten(), other.flatten()])
    if pa.types.is_floating(elements.type):
        elements = pc.add(elements, pa.scalar(0.0, elements.type))  # -0.0 is 0.0
    encoded = elements.dictionary_encode()
    is_value = encoded.indices.is_valid().to_numpy(zero_copy_only=False)
    codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    sides, start = [], 0
    for column in (one, other):
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        owners = np.repeat(np.arange(len(column)), lengths)
        own = slice(start, start + len(owners))
        sides.append(Elements(owners[is_value[own]], codes[own][is_value[own]]))
        start = own.stop
    return sides[0], sides[1], encoded.dictionary


MOST_COMPARISONS = 1 << 16
"""How many comparisons a function is asked for at a time, unless one pair has more."""

Places = NDArray[np.int64]
Flags = NDArray[np.bool_]


class ValueOrders:
    """The dimensions of a join whose order looks at values."""

    def __init__(self, dimensions: Sequence[Dimension]) -> None:
        by_value = [d for d in dimensions if d.is_by_value]
        self._sets = [d for d in by_value if d.order == SUBSET]
        self._partial = [d for d in by_value if d.function and d.function.is_partial_order]
        self._numbers = [d for d in by_value if d not in self._sets and d not in self._partial]
        self.dimensions = tuple(by_value)

    def __bool__(self) -> bool:
        return bool(self.dimensions)

    def best(self, pairs: PairValues, codes: NDArray[np.uint64]) -> Places:
        """The pairs, by place, that no other of the same run dominates.

        `codes` are what they are worth in the other dimensions, less is better.
        """
        kept = np.arange(len(codes))
        for dimension in self._numbers:
            numbers, is_candidate = worth(dimension, pairs.columns(dimension, kept), len(kept))
            if numbers.ndim > 1:
                numbers = wide_numbers.ranks(numbers)
            codes = np.column_stack([codes, numbers])[is_candidate]
            kept = kept[is_candidate]
        numbers_end = codes.shape[1]
        words = [_set_bits(pairs, dimension, kept) for dimension in self._sets]
        codes = np.ascontiguousarray(np.column_stack([codes, *words]))
        runs = _Runs.of(pairs.judged[kept])
        if not self._partial:
            if not self._sets:
                return kept[best_of_runs(runs.starts, codes)]
            return kept[best_with_sets(runs.starts, codes, numbers_end)]
        is_dominated = np.zeros(len(kept), np.bool_)
        for one, other in runs.comparisons():
            is_better, is_worse = by_codes(codes, numbers_end, one, other)
            for dimension in self._partial:
                open_ = np.flatnonzero(~(is_better & is_worse))
                arrays = [
                    array
                    for side in (one, other)
                    for array in pairs.columns(dimension, kept[side[open_]])
                ]
                note_order(dimension, arrays, open_, is_better, is_worse)
            is_dominated[other[is_better & ~is_worse]] = True
            is_dominated[one[is_worse & ~is_better]] = True
        return kept[~is_dominated]


@dataclass(frozen=True)
class _Runs:
    """The candidates of each judged row: run i is [starts[i], starts[i + 1])."""

    starts: Places

    @staticmethod
    def of(judged: Places) -> _Runs:
        starts = np.flatnonzero(np.diff(judged, prepend=-1))
        return _Runs(np.append(starts, len(judged)))

    def comparisons(self) -> Iterator[tuple[Places, Places]]:
        """Every two pairs of a run once, the first before the second, in blocks."""
        lengths = np.diff(self.starts)
        pairs = np.arange(self.starts[-1])
        others = np.repeat(self.starts[1:], lengths) - pairs - 1  # how many follow in the run
        block = np.cumsum(others) // MOST_COMPARISONS
        for start in np.flatnonzero(np.diff(block, prepend=-1)):
            stop = int(np.searchsorted(block, block[start], side="right"))
            counts = others[start:stop]
            one = np.repeat(pairs[start:stop], counts)
            step = np.arange(len(one)) - np.repeat(np.cumsum(counts) - counts, counts)
            if len(one):
                yield one, one + 1 + step


def by_codes(
    codes: NDArray[np.uint64], numbers: int, one: Places, other: Places
) -> tuple[Flags, Flags]:
    """Where the one pair is better in some code, and where it is worse."""
    is_better = np.zeros(len(one), np.bool_)
    is_worse = np.zeros(len(one), np.bool_)
    for k in range(codes.shape[1]):
        first, second = codes[one, k], codes[other, k]
        if k < numbers:
            is_better |= first < second
            is_worse |= first > second
        else:
            is_better |= (first & ~second) != 0
            is_worse |= (second & ~first) != 0
    return is_better, is_worse


def worth(
    dimension: Dimension, columns: tuple[pa.Array, pa.Array], rows: int
) -> tuple[NDArray[np.uint64], Flags]:
    """What pairs are worth in a dimension that a number tells, and which are candidates.

    A code each, or where 64 bits do not hold it a row of words (`wide_numbers`).
    """
    if dimension.is_wide:
        return wide_numbers.distances(*columns, dimension.eps)
    values = called(dimension, columns, rows)
    if pa.types.is_decimal(values.type) and common_scale(values.type, values.type) is None:
        return wide_numbers.numbers(values, dimension.eps)
    return _number_codes(values, dimension.eps)


def note_order(
    dimension: Dimension,
    arrays: Sequence[pa.Array],
    compared: Places,
    is_better: Flags,
    is_worse: Flags,
) -> None:
    """Adds what a partial order says of some comparisons, whose values are in the arrays.

    Where it says NULL neither pair is better than the other: each is in some way.
    """
    answer = called(dimension, arrays, len(compared))
    said = answer.fill_null(0).to_numpy(zero_copy_only=False)
    is_neither = answer.is_null().to_numpy(zero_copy_only=False)
    is_better[compared] |= (said > 0) | is_neither
    is_worse[compared] |= (said < 0) | is_neither


def called(dimension: Dimension, arrays: Sequence[pa.Array], rows: int) -> pa.Array:
    """What the user's function says; an error of it names the dimension."""
    assert dimension.function is not None
    try:
        return call_function(dimension.function, arrays, rows)
    except DataError as error:
        own = DataError.said_by(error, f", in the dimension {dimension.text}")
        raise own.at(dimension.span) from (error.__cause__ or error)


def _number_codes(values: pa.Array, eps: Limit | None) -> tuple[NDArray[np.uint64], Flags]:
    """Numbers as codes of the same order, and which make their pair a candidate.

    A NULL or NaN does not, nor does a number above the limit.
    """
    scale = common_scale(values.type, values.type)
    is_candidate: Flags
    if scale is None:
        doubles = values.cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)
        is_candidate = ~np.isnan(doubles) if eps is None else doubles <= float(eps)
        return shifted(real_ranks(doubles)), is_candidate
    numbers = whole_numbers(values, scale)
    is_candidate = values.is_valid().to_numpy(zero_copy_only=False)
    if eps is not None:
        is_candidate = is_candidate & (numbers <= units_within(eps, scale))
    return shifted(numbers), is_candidate


def _set_bits(pairs: PairValues, dimension: Dimension, kept: Places) -> NDArray[np.uint64]:
    """Per pair, which elements of the judged row's array the other row's array has."""
    judged, others = pairs.distinct(dimension, kept)
    of_judged, of_others, _ = coded_elements(judged.array, others.array)
    one = _sets(len(judged.array), judged.places, of_judged)
    other = _sets(len(others.array), others.places, of_others)
    most = int(np.diff(one.starts).max(initial=0))
    return intersections(one, other, -(-most // 64))


def _sets(arrays: int, rows: Places, elements: Elements) -> Sets:
    """The sets of so many arrays that have these elements."""
    width = int(elements.codes.max(initial=0)) + 1
    once = np.unique(elements.owners * width + elements.codes)  # by array, then ascending
    starts = np.searchsorted(once // width, np.arange(arrays + 1))
    return Sets(rows, starts, once % width)
