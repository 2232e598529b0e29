"""Rows joined with a table that does not move, batch by batch, in process.

The table is indexed once, by the values of the equalities; a batch then costs its own rows and its
candidates, whatever the table holds:

    keys of the table   slot    rows of the table, by slot
    "pen"           ->  0  ->   [ 4, 7 | 0 | 1, 2, 9 ]
    "ink"           ->  1         0      1   2             `starts` says where a slot begins

Candidates are pairs (row of the batch, row of the table) in blocks of bounded size; DuckDB tests the
other conditions on them. Without an equality DuckDB joins the batch with the table itself, or, where
there is no condition at all, every pair is one.

NULL keys match nothing, unless by <=>. A result has the time, the end and the sign of its row, and
results come in the order of the rows: a changelog stays in the order of its instants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.columns.changes import ChangeBatch, counted, select, take_columns
from windrow.operators.columns.key_columns import can_equal
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.expressions.duckdb_engine import BoundPairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from windrow.operators.expressions.evaluate import Evaluator
    from windrow.physical.nodes.stateless import TableJoinRows

    Rows = NDArray[np.int64]
    Pairs = tuple[range, Rows, Rows]
    """Some rows of a batch, and the pairs of these with rows of the table, in the order of the rows."""

BLOCK_PAIRS = 1 << 18
"""Candidates that are gathered at a time."""

NO_PLACE = -1
"""In place of a row of the table: none."""


class TableIndex:
    """The rows of a table by the values of some columns.

    `nulls_match` says per column whether NULL equals NULL.
    """

    def __init__(self, columns: Sequence[pa.Array], nulls_match: Sequence[bool]) -> None:
        self._nulls_match = nulls_match
        self._directory = KeyDirectory()
        usable = np.flatnonzero(can_equal(len(columns[0]), columns, nulls_match))
        slots = self._directory.slots_of([column.take(pa.array(usable)) for column in columns])
        self._rows = usable[np.argsort(slots, kind="stable")]
        counts = np.bincount(slots, minlength=self._directory.slot_count)
        self._starts = np.concatenate([[0], np.cumsum(counts)])

    def pairs(self, columns: Sequence[pa.Array]) -> Iterator[Pairs]:
        """The pairs of rows with equal keys, in blocks, by the keys of a batch's rows."""
        slots = self._directory.find(columns)
        has_key = (slots >= 0) & can_equal(len(slots), columns, self._nulls_match)
        first = np.where(has_key, self._starts[slots], 0)
        counts = np.where(has_key, self._starts[slots + 1] - first, 0)
        for block in _blocks(counts):
            own = counts[block.start : block.stop]
            places = np.repeat(first[block.start : block.stop], own) + counted(own)
            yield block, np.repeat(np.array(block), own), self._rows[places]


def _blocks(counts: Rows) -> Iterator[range]:
    """Cuts rows into runs that have about so many pairs as a block holds."""
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + BLOCK_PAIRS, "right")))
        yield range(start, stop)
        start = stop


class TableJoiner:
    """Joins batches with one table.

    Args:
        node: the join.
        table: the rows of the table, filtered, with the columns that the join reads.
        evaluator: computes keys and conditions; the caller's, who closes it.
    """

    def __init__(self, node: TableJoinRows, table: ChangeBatch, evaluator: Evaluator) -> None:
        self._node = node
        self._table = table.columns
        self._places = len(table)
        self._evaluator = evaluator
        self._schema = arrow_schema(node.schema)
        own = set(node.input.schema.names)
        self._shown = [name for name in node.schema.names if name not in own]
        self._read = list(dict.fromkeys(name for p in node.predicates for name in p.columns))
        self._index: TableIndex | None = None
        self._joined: BoundPairs | None = None
        if node.keys:
            keys = evaluator.compute([k.table for k in node.keys], table.columns, len(table))
            self._index = TableIndex(keys, [key.null_safe for key in node.keys])
        elif node.predicates:
            self._joined = BoundPairs(node.predicates, table.columns, len(table))

    def join(self, batch: ChangeBatch) -> Iterator[ChangeBatch]:
        """The results of a batch, in parts, in the order of its rows.

        Raises:
            DataError: a key or a condition cannot be computed for some value.
        """
        for found in self._matches(batch):
            rows, places = self._of_kind(*found) if self._node.gives_alone else found[1:]
            if len(rows):
                yield self._results(batch, rows, places)

    def _of_kind(self, block: range, rows: Rows, places: Rows) -> tuple[Rows, Rows]:
        """What a join that is not inner gives for some rows; -1 stands for no row of the table."""
        matched = np.zeros(len(block), np.bool_)
        matched[rows - block.start] = True
        alone = block.start + np.flatnonzero(matched if self._node.gives_matched else ~matched)
        if not self._node.gives_pairs:
            return alone, np.full(len(alone), NO_PLACE)
        rows = np.concatenate([rows, alone])
        places = np.concatenate([places, np.full(len(alone), NO_PLACE)])
        order = np.argsort(rows, kind="stable")
        return rows[order], places[order]

    def _results(self, batch: ChangeBatch, rows: Rows, places: Rows) -> ChangeBatch:
        """The given rows of the batch, each beside a row of the table."""
        of_rows = [name for name in self._node.schema.names if name not in self._shown]
        own = ChangeBatch(select(batch.columns, of_rows), batch.times, batch.ends, batch.signs)
        taken = own.take(rows)
        of_table = pa.array(places, mask=places == NO_PLACE)
        arrays = [
            self._table.column(name).take(of_table)
            if name in self._shown
            else taken.columns.column(name)
            for name in self._node.schema.names
        ]
        columns = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        return ChangeBatch(columns, taken.times, taken.ends, taken.signs)

    def _matches(self, batch: ChangeBatch) -> Iterator[Pairs]:
        """The pairs that meet all conditions, for every row of the batch, in blocks."""
        everything = range(len(batch))
        if not len(batch) or not self._places:
            yield everything, np.zeros(0, np.int64), np.zeros(0, np.int64)
        elif self._joined is not None:
            rows, places = self._joined.pairs(batch.columns, len(batch))
            order = np.argsort(rows, kind="stable")
            yield everything, rows[order], places[order]
        else:
            for block, rows, places in self._candidates(batch):
                holds = self._holds(batch, rows, places)
                yield block, rows[holds], places[holds]

    def _holds(self, batch: ChangeBatch, rows: Rows, places: Rows) -> NDArray[np.bool_]:
        """Which candidates meet the conditions beside the equalities."""
        if not self._node.predicates or not len(rows):
            return np.ones(len(rows), np.bool_)
        columns = self._candidate_columns(batch, rows, places)
        return self._evaluator.verdicts(self._node.predicates, columns, len(rows))

    def _candidates(self, batch: ChangeBatch) -> Iterator[Pairs]:
        if self._index is not None:
            keys = [key.row for key in self._node.keys]
            yield from self._index.pairs(self._evaluator.compute(keys, batch.columns, len(batch)))
            return
        places = np.arange(self._places)
        for block in _blocks(np.full(len(batch), len(places))):
            yield block, np.repeat(np.array(block), len(places)), np.tile(places, len(block))

    def _candidate_columns(self, batch: ChangeBatch, rows: Rows, places: Rows) -> pa.RecordBatch:
        """The columns that the conditions read, a value per candidate."""
        of_table = [name for name in self._read if name in self._table.schema.names]
        of_rows = [name for name in self._read if name not in of_table]
        parts = [
            take_columns(select(batch.columns, of_rows), rows),
            take_columns(select(self._table, of_table), places),
        ]
        arrays = [column for part in parts for column in part.columns]
        return pa.RecordBatch.from_arrays(arrays, names=[*of_rows, *of_table])
