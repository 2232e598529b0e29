"""Batches in parts, where what a query does or holds would grow with a batch, not with its windows.

A batch of one stream waits for the others, whole. Cut, and the streams read in step, no more of it
waits than one part:

    a   |=====|-----|-----|-----|        a batch of a, its first part taken
    b   |===|---|---|                    then the first of b, which is behind, and so on

So it is for every query that keeps rows: what a table costs follows its windows, as what a stream costs
does. One that makes changes, counts rows or joins tuple by tuple costs the more, the more it is given at
once: its parts are small, whatever the batch. Others only lose time by small parts, so that theirs are
an eighth of a large batch, which its owner holds anyway. One that must hold little, for it sheds or
fails beyond its memory, takes parts by that.

What is not taken yet is the caller's. The rows of a batch that has parts are put in the order of time first: those
that were not late as the batch began are not late when their part does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from windrow.operators.columns.instants import ticks_of
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.options import SPILL, Options
from windrow.physical.shedding.limits import OF_ITS_OWN, part_of
from windrow.run.local.sources import Silence

PART_ROWS = 1 << 14
"""Rows of a batch that are taken at a time, at least.

Of tables of 100,000 rows, in seconds and MB, taken whole, in parts of 32,768 and of 16,384: a join of
three streams 0.13 s and 64 MB, 0.21 s and 59 MB, 0.25 s and 47 MB; of two 0.14 s and 64 MB, 0.17 s and
55 MB, 0.18 s and 51 MB; as-of 0.08 s and 45 MB, 0.08 s and 34 MB, 0.09 s and 31 MB. A band join by trees
gains in time as well: with tables of 200,000 rows it took 10.1 s whole, 1.8 s in parts of 32,768, 1.3 s in
parts of 16,384, 1.1 s in parts of 8,192."""

PARTS = 4
"""Parts of a large batch where many only take time: of tables of 2,000,000 rows a join by a key took
0.36 s whole and 0.66 s in eighths. (As-of joins 0.29 s and 0.65 s; of 10,000,000 rows 1.7 s and 4.8 s.)"""

RowsAtOnce = Callable[[pa.RecordBatch], int]
"""How many rows of a batch are taken at a time."""


class BatchSplitter:
    """One batch after the other, in parts.

    Args:
        rows_at_once: how many rows of a batch are taken at a time.
    """

    def __init__(self, rows_at_once: RowsAtOnce) -> None:
        self._rows_at_once = rows_at_once
        self._batch: pa.RecordBatch | None = None
        self._most = 0
        self.taken = 0

    @property
    def whole(self) -> int:
        """The rows of the batch."""
        return 0 if self._batch is None else int(self._batch.num_rows)

    @property
    def is_done(self) -> bool:
        """Whether the batch has been taken whole."""
        return self._batch is None or self.taken >= self._batch.num_rows

    def begin(self, batch: pa.RecordBatch, time: str | None, taken: int) -> None:
        """Begins a batch, so many rows of which have been taken before the query was stopped.

        One that is taken whole stays as it came.
        """
        self._most = self._rows_at_once(batch)
        has_parts = taken > 0 or batch.num_rows > self._most
        if time is not None and has_parts:
            ticks = ticks_of(batch.column(time))
            if np.any(
                ticks[1:] < ticks[:-1]
            ):  # a copy of what is in order would be held for nothing
                batch = batch.take(pa.array(np.argsort(ticks, kind="stable")))
        self._batch, self.taken = batch, taken

    def next(self) -> pa.RecordBatch:
        """The next part; an empty batch is one."""
        assert self._batch is not None
        part = self._batch.slice(self.taken, self._most)
        self.taken += part.num_rows
        return part


def first_of(
    batches: Iterator[pa.RecordBatch | Silence], rows: int
) -> Iterator[pa.RecordBatch | Silence]:
    """The batches, the first of which has so many rows, however they were cut before.

    For a batch that was stopped in: its rows were put in order as a whole.
    """
    gathered: list[pa.RecordBatch] = []
    missing = rows
    for batch in batches:
        if isinstance(batch, Silence):
            yield batch
            continue
        gathered.append(batch.slice(0, missing))
        missing -= gathered[-1].num_rows
        if not missing:
            yield pa.concat_batches(gathered)
            rest = batch.slice(gathered[-1].num_rows)
            if rest.num_rows:
                yield rest
            break
    yield from batches


def rows_at_once(root: PhysicalNode, options: Options) -> RowsAtOnce | None:
    """How batches are cut for a plan; None where they are not.

    A plan without state makes nothing wait, and an as-of join lets go of what it has met. A query that fails or sheds beyond its memory takes parts
    by that: a table is one batch, which would wait whole, and memory for the windows would not suffice.
    One that spills has a place for what waits.
    """
    amount = options.memory_amount
    if amount is None or options.on_memory == SPILL:
        if not root.has_state or _first_operator(root).lets_go_of_met:
            return None
        if _follows_a_batch(root):
            return lambda _: PART_ROWS
        return lambda batch: max(PART_ROWS, -(-batch.num_rows // PARTS))
    memory, streams = amount.count, len(root.scans)
    if amount.is_tuples:
        return lambda _: part_of(memory, streams)
    beside = max(node.shed_row_bytes for node in root.walk()) or OF_ITS_OWN
    return lambda batch: part_of(memory / (beside + _column_bytes(batch)), streams)


def all_at_once(batch: pa.RecordBatch) -> int:
    """As many rows as a batch has."""
    return max(1, int(batch.num_rows))


def _first_operator(node: PhysicalNode) -> PhysicalNode:
    """The first stateful node of a plan from the answer down; where there are several, what unites them."""
    while not node.is_stateful and len(node.inputs) == 1:
        (node,) = node.inputs
    return node


def _follows_a_batch(root: PhysicalNode) -> bool:
    """Whether a plan has what takes more time, or holds more, for a large batch than for small ones.

    What makes changes, or counts rows, has those of a whole batch at a time; a join that takes tuple by
    tuple has all tuples of a batch in its window before the first of another stream comes.
    """
    return root.takes_back or any(node.follows_a_batch for node in root.walk())


def _column_bytes(batch: pa.RecordBatch) -> float:
    """Bytes of a row, of its columns alone."""
    return float(batch.nbytes / max(1, batch.num_rows))
