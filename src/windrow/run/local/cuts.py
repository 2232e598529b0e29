"""Batches in parts, where a query must hold little: one that sheds, or fails beyond its memory.

A batch of one stream waits for the others, whole. Cut, and the streams read in step, no more of it
waits than one part:

    a   |=====|-----|-----|-----|        a batch of a, its first part taken
    b   |===|---|---|                    then the first of b, which is behind, and so on

What is not taken yet is the caller's. The rows of a batch are put in the order of time first: those
that were not late as the batch began are not late when their part does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from windrow.operators.instants import ticks_of
from windrow.physical.options import SPILL, Options
from windrow.physical.shedding import OF_ITS_OWN, part_of
from windrow.physical.specs import Spec, WJoin, inputs, scans
from windrow.run.local.sources import Silence

RowsAtOnce = Callable[[pa.RecordBatch], int]
"""How many rows of a batch are taken at a time."""


class Cut:
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
        """Begins a batch, so many rows of which have been taken before the query was stopped."""
        if time is not None:
            batch = batch.take(pa.array(np.argsort(ticks_of(batch.column(time)), kind="stable")))
        self._batch, self.taken = batch, taken
        self._most = self._rows_at_once(batch)

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


def rows_at_once(root: Spec, options: Options) -> RowsAtOnce | None:
    """How batches are cut for a plan; None where they are not.

    A query that would fail takes its batches in parts too: a table is one batch, which waits whole, and
    memory for the windows would not suffice. One that spills has a place for what waits.
    """
    amount = options.memory_amount
    if amount is None or options.on_memory == SPILL:
        return None
    memory, streams = amount.count, len(scans(root))
    if amount.is_tuples:
        return lambda _: part_of(memory, streams)
    join = _shedding_join(root)
    beside = OF_ITS_OWN if join is None else join.least_row_bytes
    return lambda batch: part_of(memory / (beside + _column_bytes(batch)), streams)


def all_at_once(batch: pa.RecordBatch) -> int:
    """As many rows as a batch has."""
    return max(1, int(batch.num_rows))


def _column_bytes(batch: pa.RecordBatch) -> float:
    """Bytes of a row, of its columns alone."""
    return float(batch.nbytes / max(1, batch.num_rows))


def _shedding_join(spec: Spec) -> WJoin | None:
    if isinstance(spec, WJoin) and spec.shedding is not None:
        return spec
    found = (_shedding_join(child) for child in inputs(spec))
    return next((own for own in found if own is not None), None)
