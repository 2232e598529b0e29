"""The pairs of a full outer bestmatch join that came out for one side, and not yet for the other.

A pair of r and s is proven twice, and comes out with the first proof:

    t(r)      t(s)      t(r) + hi            t(s) + lo
     |---------|------------|--------------------|-------> watermark
                            |<------ told ------>|
                            best for r?          best for s? then it came out already

(or the other way round). Rows are numbered as they arrive, and a told pair is noted by the numbers
of its rows, at the time of the row that is still to be judged: it is forgotten with that judgement.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.changes import ChangeBatch
from windrow.operators.chunks import ChunkBuffer, ChunkSlice

FIRST, SECOND = "$first", "$second"
"""The numbers of a pair's rows: the one that was judged, and the one that is yet to be."""

Numbers = NDArray[np.int64]


class ToldPairs:
    """What one side has told.

    Args:
        slices: chunks to start with, as a snapshot kept them.
    """

    def __init__(self, slices: Iterable[ChunkSlice] = ()) -> None:
        self.log = ChunkBuffer("time", slices)

    def note(self, judged: Numbers, others: Numbers, times: Numbers) -> None:
        """Notes pairs; the times are those of the rows that are yet to be judged."""
        entries = pa.RecordBatch.from_pydict({FIRST: judged, SECOND: others})
        self.log.append(ChangeBatch(entries, times))

    def names(self, judged: Numbers, others: Numbers, times: Numbers) -> NDArray[np.bool_]:
        """Which pairs are noted, of those whose other rows have these times."""
        if not len(times):
            return np.zeros(0, np.bool_)
        noted = [self._within(part, int(times.min()), int(times.max())) for part in self.log.slices]
        first = np.concatenate([judged, *(pair[0] for pair in noted)])
        second = np.concatenate([others, *(pair[1] for pair in noted)])
        # Both numbers in one. The rows held at once are far fewer than 2^31, and so are the
        # numbers between the first and the last of them.
        first -= first.min()
        second -= second.min()
        keys = first * (second.max() + 1) + second
        return np.isin(keys[: len(judged)], keys[len(judged) :])

    def drop_below(self, bound: int) -> None:
        """Forgets the pairs whose other rows are judged: those with times below the bound."""
        self.log.drop_below(bound)

    @staticmethod
    def _within(part: ChunkSlice, first: int, last: int) -> tuple[Numbers, Numbers]:
        """The pairs that a chunk notes at times from first to last."""
        start = max(part.skip, int(np.searchsorted(part.chunk.keys, first, side="left")))
        stop = max(start, int(np.searchsorted(part.chunk.keys, last, side="right")))
        columns = part.chunk.batch.columns
        return (
            columns.column(FIRST).to_numpy()[start:stop],
            columns.column(SECOND).to_numpy()[start:stop],
        )
