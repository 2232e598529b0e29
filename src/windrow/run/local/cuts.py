"""Batches in parts, where what a query does or holds would grow with a batch, not with its windows.

A batch of one stream waits for the others, whole. Cut, and the streams read in step, no more of it
waits than one part:

    a   |=====|-----|-----|-----|        a batch of a, its first part taken
    b   |===|---|---|                    then the first of b, which is behind, and so on

So it is for a query that must hold little: one that sheds, or fails beyond its memory. And for one that
makes changes, counts rows or joins tuple by tuple: a large batch, such as a table is, costs it more
than small ones of the same rows.

What is not taken yet is the caller's. The rows of a batch that has parts are put in the order of time first: those
that were not late as the batch began are not late when their part does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from windrow.operators.instants import ticks_of
from windrow.physical.algorithms import DEFAULT
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.range_aggregate import RangeAggregate
from windrow.physical.nodes.window_join import WJoin
from windrow.physical.options import SPILL, Options
from windrow.physical.shedding import OF_ITS_OWN, part_of
from windrow.run.local.sources import Silence

PART_ROWS = 1 << 14
"""Rows of a batch that are taken at a time where the cost follows the batch.

Of tables of 200,000 rows, windows of 200 to 1,000: a band join by trees took 10.1 s with its tables taken
whole, 1.8 s in parts of 32,768 rows, 1.3 s in parts of 16,384, 1.1 s in parts of 8,192. What makes changes
has those of a part in memory at once, and gains there: of tables of 100,000 rows INTERSECT ALL held 2.2
times as much whole as in batches of 10,000, and 1.6 times in parts of 32,768. In time it took whole, in
parts of 16,384 and of 8,192: an aggregate of a join 0.40 s, 0.53 s, 0.73 s; EXCEPT 0.25 s, 0.21 s, 0.36 s;
SUM 0.09 s, 0.09 s, 0.10 s. Other joins, by hash or as-of, only lose by parts: they take batches whole."""

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
        """Begins a batch, so many rows of which have been taken before the query was stopped.

        One that is taken whole stays as it came.
        """
        self._most = self._rows_at_once(batch)
        has_parts = taken > 0 or batch.num_rows > self._most
        if time is not None and has_parts:
            batch = batch.take(pa.array(np.argsort(ticks_of(batch.column(time)), kind="stable")))
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

    A plan whose cost follows what a batch brings takes it in parts. So does a query that fails or sheds
    beyond its memory: a table is one batch, which would wait whole, and memory for the windows would
    not suffice. One that spills has a place for what waits.
    """
    amount = options.memory_amount
    if amount is None or options.on_memory == SPILL:
        return (lambda _: PART_ROWS) if _follows_a_batch(root) else None
    memory, streams = amount.count, len(root.scans)
    if amount.is_tuples:
        return lambda _: part_of(memory, streams)
    join = _shedding_join(root)
    beside = OF_ITS_OWN if join is None else join.least_row_bytes
    return lambda batch: part_of(memory / (beside + _column_bytes(batch)), streams)


def all_at_once(batch: pa.RecordBatch) -> int:
    """As many rows as a batch has."""
    return max(1, int(batch.num_rows))


def _follows_a_batch(spec: PhysicalNode) -> bool:
    """Whether a plan has what takes more time, or holds more, for a large batch than for small ones.

    What makes changes, or counts rows, has those of a whole batch at a time, and so has an aggregate over
    the rows near each; a join that takes tuple by tuple has all tuples of a batch in its window before the
    first of another stream comes.
    """
    if spec.takes_back or isinstance(spec, RangeAggregate):
        return True
    if isinstance(spec, WJoin) and (spec.counts is not None or spec.algorithm != DEFAULT):
        return True
    return any(map(_follows_a_batch, spec.inputs))


def _column_bytes(batch: pa.RecordBatch) -> float:
    """Bytes of a row, of its columns alone."""
    return float(batch.nbytes / max(1, batch.num_rows))


def _shedding_join(spec: PhysicalNode) -> WJoin | None:
    if isinstance(spec, WJoin) and spec.shedding is not None:
        return spec
    found = (_shedding_join(child) for child in spec.inputs)
    return next((own for own in found if own is not None), None)
