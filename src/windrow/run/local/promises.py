"""How far a stream is complete, by read-ahead or by punctuations, as its batches come.

Read-ahead of c rows: after c rows in a row beyond T, none at or before T follows. The least time of
c rows in a row is therefore the least that may still come, and the greatest of these leasts holds:

    times    12  15  11  14  16  13  17            c = 3
            [    11    ]
                [    11    ]
                    [    11    ]
                        [    13    ]
                            [    13    ]           nothing below 13 follows

The last c - 1 times are kept between batches. A row without a time is none of the c.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.schema import MAX_TICK, MIN_TICK


def complete_by_read_ahead(
    times: NDArray[np.int64], before: tuple[int, ...], rows: int
) -> tuple[int, tuple[int, ...]]:
    """The least time that may still come, and the last times, to be given before the next ones.

    Args:
        times: those of a batch, as its rows came.
        before: the last times of the batches before.
        rows: how many in a row promise.

    Examples:
        >>> complete_by_read_ahead(np.array([12, 15, 11, 14, 16, 13, 17]), (), 3)
        (13, (13, 17))
    """
    joined = np.concatenate([np.array(before, np.int64), times[times > MIN_TICK]])
    last = tuple(joined[len(joined) - min(rows - 1, len(joined)) :].tolist())
    if len(joined) < rows:
        return MIN_TICK, last
    return int(_least_of_each(joined, rows).max()), last


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


def _least_of_each(times: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """The least of every `rows` times in a row, whatever their number in a few passes.

    Times are cut into blocks of that length. Any stretch of it is the end of one block and the
    start of the next:

        block        |--------|--------|
        stretch          |----====|            least(end of the first, start of the second)
    """
    blocks = -(-len(times) // rows)
    padded = np.full(blocks * rows, MAX_TICK, np.int64)
    padded[: len(times)] = times
    by_block = padded.reshape(blocks, rows)
    starts = np.minimum.accumulate(by_block, axis=1).ravel()
    ends = np.minimum.accumulate(by_block[:, ::-1], axis=1)[:, ::-1].ravel()
    stretches = len(times) - rows + 1
    return np.minimum(ends[:stretches], starts[rows - 1 : rows - 1 + stretches])
