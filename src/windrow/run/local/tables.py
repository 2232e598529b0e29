"""Tables that are read from outside, once or again at a period.

A table that is read again serves where every row meets it once, as it arrives. Where rows are taken back
above the join's input, a delete would meet other rows of the table than its insert has met:

    + (north, 3) meets (north, Kiel)     the table is read again     - (north, 3) meets (north, Bonn)

so that what came would never go. Such a query is refused before it begins. The same holds of a table that
has changed when a query is resumed: a checkpoint keeps a digest of those that rows meet when they go.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.errors import BindError, PlanError, ResourceError, WindrowError
from windrow.io.protocol import Source
from windrow.operators.columns.arrow_types import arrow_schema, spark_schema
from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.nodes.scans import ScanTable
from windrow.physical.nodes.stateless import TableJoinRows
from windrow.physical.query import PhysicalQuery
from windrow.plan.units import to_ticks
from windrow.run.local.followed import table_at
from windrow.run.local.sources import NOTHING_NOW, BatchReader, Silence, TableSource
from windrow.schema import SIGN

PATIENCE_S = 300.0
"""How long the rows read last serve where a table is due and cannot be read: what holds it is away, or it
is being written just then, and half of it is no table, or one of other columns."""


class RefreshedTable(TableSource):
    """A table that is read again once it is older than a period.

    Args:
        name: the table's.
        outside: where its rows are.
        period_s: seconds after which they are read again.
        clock: seconds.

    Attributes:
        version: how often it was read.
    """

    def __init__(
        self,
        name: str,
        outside: Source,
        period_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name, table_at(name, outside))
        self._outside = outside
        self._period_s = period_s
        self._clock = clock
        self._lock = threading.Lock()
        self._read_at = clock()
        self.version = 1

    def look(self) -> int:
        """Reads it again if it is due; gives the version.

        Raises:
            WindrowError: it cannot be read, or has other columns, and has not been right for long.
        """
        with self._lock:
            now = self._clock()
            if now - self._read_at >= self._period_s:
                try:
                    rows = self._read()
                except WindrowError:
                    if now - self._read_at >= self._period_s + PATIENCE_S:
                        raise
                else:
                    self._table, self._read_at = rows, now
                    self.derived.clear()
                    self.version += 1
            return self.version

    def _read(self) -> pa.Table:
        rows = table_at(self._name, self._outside)
        if rows.schema != self._table.schema:
            raise ResourceError(
                "table-changed",
                f"the table {self._name} has other columns than when it was read first",
                reason=f"they were {_columns(self._table)}, and are {_columns(rows)}",
                hint="put the columns back, or register the table anew, and start the query again",
            )
        return rows

    def batches(self, time: str | None, skip: int) -> Iterator[pa.RecordBatch | Silence]:
        """The rows read last."""
        with self._lock:
            rows = TableSource(self._name, self._table)
        return rows.batches(time, skip)


def outside_table(name: str, outside: Source, refresh: Any) -> TableSource:
    """A table read from outside; `refresh` is the period after which it is read again, or None.

    Raises:
        BindError: that is no length of time.
    """
    if refresh is None:
        return TableSource(name, table_at(name, outside))
    ticks = to_ticks(refresh, "timestamp") if isinstance(refresh, str) else 0
    if ticks <= 0:
        raise BindError(
            "bad-length",
            f"refresh is {refresh!r}, which is not a length of time",
            hint="for instance refresh='5 minutes'",
        )
    return RefreshedTable(name, outside, ticks / 1_000_000)


def check_refreshed(query: PhysicalQuery, data: Mapping[str, Any]) -> None:
    """Refuses a query in which rows would be taken back against other rows of a table.

    Raises:
        PlanError: a table that is read again is joined to rows that are taken back.
    """
    for scan in met_when_taken_back(query):
        if isinstance(data.get(scan.table), RefreshedTable):
            raise PlanError(
                "refresh-of-changes",
                f"the table {scan.table} is read again at a period, and joined to rows that are"
                " taken back",
                reason="a row that goes would meet other rows of the table than when it came",
                hint=f"join {scan.table} to the stream itself, below the aggregate (FROM (SELECT"
                " .. FROM stream, table ..) ..); or leave refresh out",
            )


def met_when_taken_back(query: PhysicalQuery) -> list[ScanTable]:
    """The tables that rows meet as they come, and again as they are taken back."""
    return [
        scan
        for node in query.root.walk()
        if isinstance(node, TableJoinRows) and SIGN in node.input.row_marks
        for scan in node.table.tables
    ]


def _columns(rows: pa.Table) -> str:
    return spark_schema(rows.schema).ddl()


def digest(rows: pa.RecordBatch) -> str:
    """A text that two tables of the same rows share, in whatever order these come."""
    total = 0
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        total += int.from_bytes(hashlib.blake2b(repr(row).encode(), digest_size=16).digest())
    return f"{rows.num_rows}-{total % (1 << 128):032x}"


def table_rows(sources: Mapping[str, BatchReader], scan: ScanTable) -> ChangeBatch:
    """The rows of a table as a batch: they may have no columns."""
    source = sources[scan.table]
    batches = [own for own in source.batches(None, 0) if own is not NOTHING_NOW]
    table = pa.Table.from_batches(batches, arrow_schema(source.schema))
    arrays = [table.column(name).combine_chunks() for name in scan.columns]
    columns = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(scan.schema))
    return ChangeBatch(columns, np.zeros(len(table), np.int64))


def table_version(sources: Mapping[str, BatchReader], scan: ScanTable) -> int:
    """Which reading of a table is the last; it is read again here, if it is to be."""
    source = sources[scan.table]
    return source.look() if isinstance(source, RefreshedTable) else 0
