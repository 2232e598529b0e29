"""Punctuations: rows of a stream that say that nothing at or before their time follows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.schema import MAX_TICK, MIN_TICK


def split_punctuations(
    batch: pa.RecordBatch, column: str
) -> tuple[pa.RecordBatch, NDArray[np.bool_]]:
    """The rows that are data, and which rows of the batch are punctuations."""
    flags = pc.fill_null(batch.column(column), False)
    is_told: NDArray[np.bool_] = flags.to_numpy(zero_copy_only=False)
    if not is_told.any():
        return batch, is_told
    return batch.filter(pc.invert(flags)), is_told


def complete_by_punctuations(times: NDArray[np.int64]) -> int:
    """The least time that may still come after punctuations of these times."""
    newest = int(times.max(initial=MIN_TICK))
    return newest if newest in {MIN_TICK, MAX_TICK} else newest + 1
