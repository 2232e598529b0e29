"""What pairs that stand in one row each are worth in the dimensions of a bestmatch join.

    codes      distances, ages, and the numbers of the user's functions: less is better; decimals
               that 64 bits do not hold as their words (`wide_numbers`)
    shared     of SUBSET, the elements that both arrays have, each once
    said       of a partial order, what the user's function says of two pairs; asked as they are
               compared (`dominance`)

The first two are computed once, as a pair comes, and kept with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.operators.bestmatch.distances import Measure, has_values
from windrow.operators.bestmatch.match_orders import coded_elements, worth
from windrow.operators.columns import wide_numbers
from windrow.plan.nodes.bestmatch_join import SUBSET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from windrow.operators.columns.changes import ChangeBatch
    from windrow.plan.nodes.bestmatch_join import Dimension
    from windrow.schema import Schema

    Flags = NDArray[np.bool_]
    Codes = NDArray[np.uint64]

LEFT, RIGHT = 0, 1

CODE, SHARED = "$code{}", "$shared{}"
"""Columns of our own: the number of a pair in the so many-th dimension, and the set."""


class PairWorth:
    """The dimensions of one join; `schema` has the columns of a pair."""

    def __init__(self, dimensions: Sequence[Dimension], schema: Schema) -> None:
        self._by_value = [d for d in dimensions if d.is_by_value]
        self._sets = [d for d in dimensions if d.order == SUBSET]
        self._numbers = [
            (d, None if d.is_by_value else Measure.of(d, schema, schema))
            for d in dimensions
            if d.order != SUBSET and not d.is_partial_order
        ]
        self.partial = tuple(d for d in dimensions if d.is_partial_order)

    @property
    def code_names(self) -> list[str]:
        """The columns of codes."""
        return [CODE.format(number) for number in range(len(self._numbers))]

    @property
    def set_names(self) -> list[str]:
        """The columns of sets."""
        return [SHARED.format(number) for number in range(len(self._sets))]

    @property
    def compared(self) -> list[str]:
        """The pair's own columns that are read when two pairs are compared."""
        return list(dict.fromkeys(name for d in self.partial for name in (d.left, d.right)))

    def of(self, pairs: ChangeBatch) -> tuple[NDArray[np.int64], dict[str, pa.Array]]:
        """The pairs that are candidates, by place, and what these are worth, as columns.

        A NULL or NaN makes a pair no candidate, and so does a number above its limit. Functions
        are asked of values that are neither.
        """
        is_candidate = np.ones(len(pairs), np.bool_)
        for dimension in self._by_value:
            for name in (dimension.left, dimension.right):
                has_value = has_values(pairs.columns.column(name))
                if has_value is not None:
                    is_candidate &= has_value
        codes: list[Codes] = []
        for dimension, measure in self._numbers:
            if measure is None:
                own, is_within = _by_value(dimension, pairs, is_candidate)
            else:
                own, is_within = _measured(measure, pairs)
            is_candidate &= is_within
            codes.append(own)
        kept = np.flatnonzero(is_candidate)
        columns = {
            name: pa.array(own[kept]) if own.ndim == 1 else wide_numbers.column_of(own[kept])
            for name, own in zip(self.code_names, codes, strict=True)
        }
        taken = pa.array(kept)
        for name, dimension in zip(self.set_names, self._sets, strict=True):
            arrays = [
                pairs.columns.column(n).take(taken) for n in (dimension.left, dimension.right)
            ]
            columns[name] = shared_elements(*arrays)
        return kept, columns


def shared_elements(left: pa.Array, right: pa.Array) -> pa.Array:
    """Of two columns of arrays, neither NULL, the elements that both arrays of a row have, once."""
    one, other, dictionary = coded_elements(left, right)
    width = len(dictionary) + 1
    keys = [np.unique(own.owners * width + own.codes) for own in (one, other)]
    both = np.intersect1d(keys[0], keys[1], assume_unique=True)
    offsets = np.searchsorted(both, np.arange(len(left) + 1) * width).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), dictionary.take(pa.array(both % width)))


def codes_in(column: pa.Array) -> Codes:
    """The codes of pairs that are compared with each other, out of the column that is kept."""
    if column.type == wide_numbers.KEPT_AS:
        return wide_numbers.ranks(wide_numbers.words_in(column))
    codes: Codes = column.to_numpy()
    return codes


def worst(column: pa.Array, rows: int) -> pa.Array:
    """As many codes or sets as there are rows, no better than any in the column."""
    if pa.types.is_list(column.type):
        return pa.array([[]] * rows, column.type)
    if column.type == wide_numbers.KEPT_AS:
        return pa.array([wide_numbers.WORST] * rows, column.type)
    return pa.array(np.full(rows, np.iinfo(np.uint64).max))


def _by_value(dimension: Dimension, pairs: ChangeBatch, is_asked: Flags) -> tuple[Codes, Flags]:
    """What values tell, of the pairs that are asked for, and which make their pair a candidate."""
    asked = np.flatnonzero(is_asked)
    left, right = (
        pairs.columns.column(name).take(pa.array(asked))
        for name in (dimension.left, dimension.right)
    )
    found, is_candidate = worth(dimension, (left, right), len(asked))
    codes = np.zeros((len(pairs), *found.shape[1:]), np.uint64)
    is_within = np.zeros(len(pairs), np.bool_)
    codes[asked], is_within[asked] = found, is_candidate
    return codes, is_within


def _measured(measure: Measure, pairs: ChangeBatch) -> tuple[Codes, Flags]:
    """Distances or ages as codes, and which make their pair a candidate."""
    left, has_left = measure.values(pairs, LEFT)
    right, has_right = measure.values(pairs, RIGHT)
    if measure.is_youngest:
        codes = np.iinfo(np.uint64).max - np.maximum(left, right)
    elif measure.is_float:
        codes = np.ascontiguousarray(measure.apart(left, right)).view(np.uint64)
    else:
        codes = np.maximum(left, right) - np.minimum(left, right)
    can_match = measure.eps is None or measure.eps >= 0
    is_within: Flags = codes <= np.uint64(measure.limit if can_match else 0)
    is_within &= can_match
    if measure.is_float:
        is_within = is_within & ~np.isnan(codes.view(np.float64))
    for has_value in (has_left, has_right):
        if has_value is not None:
            is_within = is_within & has_value
    return codes, is_within
