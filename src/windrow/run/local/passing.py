"""Which share of rows, or of combinations of rows, passes conditions, by asking a sample of them.

Samples are bounded, and rows are paired by a drawing with a fixed seed: the same data gives the same
numbers, and EXPLAIN the same text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.errors import DataError
from windrow.operators.changes import take_columns
from windrow.operators.evaluate import Evaluator
from windrow.plan.exprs import Expr

MOST_TESTED = 10_000
"""Rows, or combinations of rows, that conditions are asked of."""

SEED = 4


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
