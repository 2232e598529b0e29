"""How far a stream is complete by its punctuations or its read-ahead, as its rows come.

A punctuation is a row that says that nothing at or before its time follows.

Read-ahead of c rows: after c rows in a row beyond T, none at or before T follows. The least time of
c rows in a row is therefore the least that may still come, and the greatest of these leasts holds:

    times    12  15  11  14  16  13  17            c = 3
            [    11    ]
                [    11    ]
                    [    11    ]
                        [    13    ]
                            [    13    ]           nothing below 13 follows

The last c - 1 times are kept between batches. A row without a time is none of the c.

Where one process reads the rows of a batch and another knows those before, the batch is cut down to
what reaches across its borders, its first and its last c - 1 times:

    before    .. 12  15 | 11  14  16  13  17  18  19 | ..       c = 3
                [ last ] [first]           [  last  ]
                   [    11    ]                             found with the times before
                        [    11    ] .. [    17    ]        found in the batch itself
"""

from __future__ import annotations

from dataclasses import dataclass

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
    is_punctuation: NDArray[np.bool_] = flags.to_numpy(zero_copy_only=False)
    if not is_punctuation.any():
        return batch, is_punctuation
    return batch.filter(pc.invert(flags)), is_punctuation


def complete_by_punctuations(times: NDArray[np.int64]) -> int:
    """The least time that may still come after punctuations of these times."""
    newest = int(times.max(initial=MIN_TICK))
    return newest if newest in {MIN_TICK, MAX_TICK} else newest + 1


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


@dataclass(frozen=True)
class ReadAhead:
    """What a read-ahead needs of times that came in a row.

    Attributes:
        reached: the least time that may still come, by these times alone.
        first: the first of them, one less than promise.
        last: the last of them, as many.
    """

    reached: int = MIN_TICK
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()

    @property
    def has_times(self) -> bool:
        """Whether there are any."""
        return bool(self.last) or self.reached > MIN_TICK

    def then(self, later: ReadAhead, rows: int) -> ReadAhead:
        """What it needs of these times and of those that came next.

        Examples:
            >>> early = ReadAhead().then_times(np.array([12, 15]), 3)
            >>> early.then(ReadAhead().then_times(np.array([11, 14, 16, 13, 17]), 3), 3)
            ReadAhead(reached=13, first=(12, 15), last=(13, 17))
        """
        across, _ = complete_by_read_ahead(np.array(later.first, np.int64), self.last, rows)
        keep = rows - 1
        joined = self.last + later.last
        return ReadAhead(
            max(self.reached, across, later.reached),
            (self.first + later.first)[:keep],
            joined[len(joined) - min(keep, len(joined)) :],
        )

    def then_times(self, times: NDArray[np.int64], rows: int) -> ReadAhead:
        """What it needs of these times and of the given ones, which came next."""
        known = times[times > MIN_TICK]
        reached, last = complete_by_read_ahead(known, (), rows)
        first = tuple(known[: rows - 1].tolist())
        return self.then(ReadAhead(reached, first, last), rows)


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
