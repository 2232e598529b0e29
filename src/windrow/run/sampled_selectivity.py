"""What samples of rows tell of all: how many different values, which pairs are near, who passes.

Samples are bounded, and rows are paired by a drawing with a fixed seed: the same data gives the same
numbers, and EXPLAIN the same text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.errors import DataError
from windrow.operators.columns.changes import take_columns
from windrow.operators.expressions.evaluate import Evaluator
from windrow.plan.exprs import Expr

MOST_COMPARED = 2_000
"""Values of either column whose differences are looked at."""

MOST_TESTED = 10_000
"""Rows, or combinations of rows, that conditions are asked of."""

SEED = 4


def different_values(sample: pa.Array, rows: int) -> float | None:
    """How many different values so many rows have, by a sample of them; None for no values."""
    try:
        counts = pc.value_counts(sample).field("counts").to_numpy()
    except pa.ArrowNotImplementedError:
        return None
    if not len(counts):
        return None
    if len(sample) == rows:
        return float(len(counts))
    # Values seen once stand for others that the sample has missed (the estimator GEE).
    once = int(np.count_nonzero(counts == 1))
    return float((rows / len(sample)) ** 0.5 * once + (len(counts) - once))


def sampled_numbers(values: pa.Array) -> NDArray[np.float64] | None:
    """Some of the values, evenly spread; None where they are no numbers."""
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return None
    every = max(1, len(values) // MOST_COMPARED)
    numbers = values.take(pa.array(np.arange(0, len(values), every))).drop_null()
    found: NDArray[np.float64] = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
    return found[np.isfinite(found)]


def share_within(
    lefts: NDArray[np.float64], rights: NDArray[np.float64], low: float | None, high: float | None
) -> float | None:
    """The share of pairs with low <= left - right <= high; None where there are no pairs."""
    if not len(lefts) or not len(rights):
        return None
    #  rights, in order   ----[==============]----   left - high .. left - low
    ordered = np.sort(rights)
    ends = len(ordered) if low is None else np.searchsorted(ordered, lefts - low, "right")
    starts = 0 if high is None else np.searchsorted(ordered, lefts - high, "left")
    # A share of none in a sample is not a share of none.
    return max(float(np.mean((ends - starts) / len(ordered))), 1 / (len(lefts) * len(rights)))


def share_of_columns(
    left: pa.Array | None, right: pa.Array | None, low: float | None, high: float | None
) -> float | None:
    """The same of two columns, by some of their values; None where one is unknown or no number."""
    numbers = [None if column is None else sampled_numbers(column) for column in (left, right)]
    if numbers[0] is None or numbers[1] is None:
        return None
    return share_within(numbers[0], numbers[1], low, high)


def share_passing(
    predicates: tuple[Expr, ...], sides: Sequence[pa.RecordBatch]
) -> tuple[float, int] | None:
    """The share of combinations that pass all conditions, and how many were asked.

    None where nothing can be said: there are no rows, the conditions call functions of the user's,
    which are not called to plan, or they fail for some value.

    Args:
        predicates: the conditions.
        sides: rows of each side, with the columns that the conditions read.
    """
    if any(predicate.calls for predicate in predicates) or not all(one.num_rows for one in sides):
        return None
    rows = _combined(sides)
    evaluator = Evaluator()
    try:
        passing = int(np.count_nonzero(evaluator.verdicts(predicates, rows, rows.num_rows)))
    except DataError:
        return None
    finally:
        evaluator.close()
    return max(passing, 1) / rows.num_rows, rows.num_rows


def _combined(sides: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Rows of one side as they are; of several, combinations that are drawn."""
    if len(sides) == 1:
        every = -(-sides[0].num_rows // MOST_TESTED)
        return take_columns(sides[0], np.arange(0, sides[0].num_rows, every))
    draw = np.random.default_rng(SEED)
    most = min(MOST_TESTED, int(np.prod([float(side.num_rows) for side in sides])))
    drawn = [take_columns(side, draw.integers(0, side.num_rows, most)) for side in sides]
    return pa.RecordBatch.from_arrays(
        [column for side in drawn for column in side.columns],
        names=[name for side in drawn for name in side.schema.names],
    )
