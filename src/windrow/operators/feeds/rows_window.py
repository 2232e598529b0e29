"""[ROWS n] and [PARTITION BY k ROWS n] as changes: a row goes when the n-th after it comes.

What takes rows back (an aggregate, DISTINCT, a set operation, a join of changelogs) asks which rows
are alive at an instant; of a count window these are the newest n with a time up to it:

    rows by number     0    1    2    3         n = 2
    times              5    5    7    9
    alive            + 5............- 7         row 0 goes with row 2
                          + 5............- 9
                               + 7
                                    + 9

Rows below the watermark (`numbered_rows`) go through three steps:

1. They are numbered on from the last ones.
2. Each row that has n rows after it, of its partition, leaves: with a partition, rows of the same
   ones are looked up by their words (`keyed_rows`), so that a step costs what enters.
3. Out come all new rows, and those that leave, each with the columns it came with, at the time of
   the row that pushes it out.

State: what waits, and the newest n rows, of each k, with the columns that are shown.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.kernels.count_join import NEVER, partition_exits
from windrow.operators.columns.changes import ChangeBatch, Places, concat, select
from windrow.operators.columns.chunks import Chunk
from windrow.operators.feeds.numbered_rows import NEXT_NUMBER, NumberedRowsOp, Numbers
from windrow.operators.joins.keyed_rows import divided_by
from windrow.physical.nodes.count_rows import CountRows


class CountRowsOp(NumberedRowsOp):
    """Keeps the newest rows of a stream, and takes back the others."""

    kind = "count-rows"

    def __init__(self, node: CountRows) -> None:
        super().__init__(node)
        self._kept = list(dict.fromkeys([*self._shown, *node.partition]))

    def _entered(self, rows: ChangeBatch) -> ChangeBatch:
        """Takes rows in their order; gives them, and what they push out."""
        numbers = self._numbers_of(len(rows))
        new = ChangeBatch(select(rows.columns, self._kept), rows.times, numbers)
        divides = self._divided_window if self._node.partition else self._whole_window
        leaving, exits = divides(Chunk(new, numbers))
        comes = ChangeBatch(
            select(rows.columns, self._shown), rows.times, None, np.ones(len(rows), np.int8)
        )
        if not len(exits):
            return comes
        times = rows.times[exits - numbers[0]]
        goes = ChangeBatch(
            select(leaving, self._shown), times, None, np.full(len(exits), -1, np.int8)
        )
        changes = concat([goes, comes])
        return changes.sorted_by(changes.times)

    def _whole_window(self, new: Chunk) -> tuple[pa.RecordBatch, Numbers]:
        """Takes rows in; gives those that leave, and the number of the row that each leaves with.

        Without PARTITION BY the oldest leave, and numbers tell which these are.
        """
        self._there.append(new.batch)
        leaving = self._there.pop_below(self._numbers[NEXT_NUMBER] - self._node.rows)
        if leaving is None:
            return new.batch.columns.slice(0, 0), np.zeros(0, np.int64)
        self.counters.drops += len(leaving)
        return leaving.columns, leaving.ends_or_never() + self._node.rows

    def _divided_window(self, new: Chunk) -> tuple[pa.RecordBatch, Numbers]:
        """The same with PARTITION BY: rows leave from the middle."""
        slices = self._there.slices
        divided = divided_by(slices, new, self._node.partition)
        self.counters.comparisons += len(divided.places)
        exits = partition_exits(divided.partitions, divided.numbers, self._node.rows)
        leaves = np.flatnonzero(exits != NEVER)
        places = divided.places[leaves]
        if not len(places):
            self._there.append(new.batch)
            return new.batch.columns.slice(0, 0), exits[leaves]
        all_chunks = [*(part.chunk for part in slices), new]
        leaving = Places(places).columns(lambda at: all_chunks[at].batch.columns)
        self._replace(new, places)  # what comes and leaves in one step is never stored
        return leaving, exits[leaves]
