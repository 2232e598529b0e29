"""What pairs that stand in one row each are worth in the dimensions of a bestmatch join."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow.operators.distances import Measure
from windrow.operators.match_orders import called, number_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from windrow.operators.changes import ChangeBatch
    from windrow.plan.nodes import Dimension
    from windrow.schema import Schema

LEFT, RIGHT = 0, 1


class PairCodes:
    """The codes of pairs, less is better: distances, ages, and the numbers of the user's functions.

    Args:
        dimensions: those of the join, each with its columns.
        schema: the columns of a pair.
    """

    def __init__(self, dimensions: Sequence[Dimension], schema: Schema) -> None:
        self._dimensions = [
            (d, None if d.function is not None else Measure.of(d, schema, schema))
            for d in dimensions
        ]

    def of(self, pairs: ChangeBatch) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """One row of codes per pair, and which pairs are candidates: no value is NULL or NaN."""
        codes = np.empty((len(pairs), len(self._dimensions)), np.uint64)
        is_candidate = np.ones(len(pairs), np.bool_)
        for number, (dimension, measure) in enumerate(self._dimensions):
            if measure is None:
                columns = [pairs.columns.column(n) for n in (dimension.left, dimension.right)]
                values = called(dimension, columns, len(pairs))
                codes[:, number], is_within = number_codes(values, dimension.eps)
                is_candidate &= is_within
                continue
            left, has_left = measure.values(pairs, LEFT)
            right, has_right = measure.values(pairs, RIGHT)
            for has_value in (has_left, has_right):
                if has_value is not None:
                    is_candidate &= has_value
            codes[:, number] = _code(measure, left, right)
            if measure.is_float:
                is_candidate &= ~np.isnan(codes[:, number].view(np.float64))
            is_candidate &= codes[:, number] <= np.uint64(measure.limit)
        return codes, is_candidate


def _code(
    measure: Measure, left: NDArray[np.uint64], right: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    if measure.is_youngest:
        return np.iinfo(np.uint64).max - np.maximum(left, right)
    if measure.is_float:
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(left.view(np.float64) - right.view(np.float64))
        return np.ascontiguousarray(apart).view(np.uint64)
    return np.maximum(left, right) - np.minimum(left, right)
