"""Rows as they arrived: carried beside the columns of a query, and written to files where they are late.

A stream may feed a query under several aliases, each with a WHERE of its own. A late row is kept
once: by the first alias whose WHERE lets it pass, and the later ones carry NULL in its place.

    row          1      2      3      4
    alias p      letter letter        letter
    alias q             NULL   letter NULL

A join with a table may give a row several times on its way to a stage. Its letter then has a name of
its own (Spark numbers no rows of a stream), and the task that packs the copies leaves it with the
first of them: the table is broadcast, so that copies come one after the other.

Late rows are kept in Parquet files named by stream, batch, question, input and bucket. A replayed
micro-batch writes the same files again under the same names, so that every late row is there exactly
once. A file is written under another name and moved into place when whole.

    <folder>/<stream>/batch-0000000042-1f0e77ab-stage-0-input-1-bucket-0003.parquet
        the stream's columns, `_stream`, `_event_time`
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from windrow.errors import UnsupportedError
from windrow.operators.columns.arrow_types import instants
from windrow.operators.columns.changes import ChangeBatch, concat
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.scans import ScanStream
from windrow.plan.exprs import quote_spark
from windrow.run.aside import open_folder
from windrow.run.spark.stages import LETTER, StagePlan
from windrow.schema import MIN_TICK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Way = tuple[PhysicalNode, ...]
"""The nodes that a row climbs from a stream to a stage, the scan first."""

NAME = "__name"
"""The field of a letter that tells copies of one row from equal rows."""

_ROW = "__row"
_PASSES = "__passes"


def ways(root: PhysicalNode) -> list[Way]:
    """One way per scan that feeds a stage, from the bottom of the plan up."""
    found: list[Way] = []
    for child in root.inputs:
        found += ways(child)
        way = _way(child) if root.is_stateful else None
        if way is not None:
            found.append(way)
    return found


def _way(node: PhysicalNode) -> Way | None:
    if node.is_stateful:
        return None
    if not node.inputs:
        return (node,)
    below = _way(node.inputs[0])
    return None if below is None else (*below, node)


def stream_of(way: Way) -> ScanStream:
    """The scan that a way begins with."""
    return way[0].scans[0]


def multiplied(root: PhysicalNode) -> set[str]:
    """The streams whose rows may reach a stage several times."""
    return {stream_of(way).stream for way in ways(root) if any(node.may_multiply for node in way)}


def with_letters(frame: DataFrame, earlier: Sequence[Way], *, is_named: bool) -> DataFrame:
    """A stream's rows with their letters, NULL for rows that pass one of the earlier ways."""
    name = f", uuid() AS {NAME}" if is_named else ""
    letter = f"struct(*{name}) AS {LETTER}"
    if not earlier:
        return frame.selectExpr("*", letter)
    rows = frame.selectExpr(f"struct(*) AS {_ROW}", letter)
    for way in earlier:
        if any(node.tables for node in way):
            scan = stream_of(way)
            raise UnsupportedError(
                "unsupported-letters",
                f"late rows of {scan.stream} are to be kept, and it stands in FROM twice, as"
                f" {scan.alias} joined with a table",
                reason="on Spark, a late row is kept by the first alias that lets it pass, which a table"
                " decides only where the rows are",
                hint="register the stream a second time under another name, or set on_late to 'count'",
            )
        rows = _without_passing(rows, way)
    return rows.selectExpr(f"{_ROW}.*", LETTER)


def _without_passing(rows: DataFrame, way: Way) -> DataFrame:
    """The same rows, without the letters of those that pass all filters on the way."""
    scan, nodes = stream_of(way), way[1:]
    columns = [
        f"{_ROW}.{quote_spark(source)} AS {quote_spark(name)}"
        for source, name in zip(scan.columns, scan.schema.names, strict=True)
    ]
    rows = rows.selectExpr(*columns, _ROW, LETTER, f"true AS {_PASSES}")
    for node in nodes:
        # What a filter below has removed must not be evaluated: it might be an error.
        own = [quote_spark(name) for name in node.schema.names]
        if node.computed_columns is not None:
            own = [
                f"IF({_PASSES}, {item.expr.spark}, NULL) AS {quote_spark(item.name)}"
                for item in node.computed_columns
            ]
        passes = _PASSES
        if node.row_tests:
            tests = " AND ".join(f"coalesce({p.spark}, false)" for p in node.row_tests)
            passes = f"IF({_PASSES}, {tests}, false) AS {_PASSES}"
        rows = rows.selectExpr(*own, _ROW, LETTER, passes)
    return rows.selectExpr(_ROW, f"IF({_PASSES}, NULL, {LETTER}) AS {LETTER}")


class FirstCopies:
    """Leaves the letter of a row with its first copy, in the rows of one task."""

    def __init__(self) -> None:
        self._last: str | None = None

    def of(self, letters: pa.Array) -> pa.Array:
        """The letters of the next rows, NULL for copies of rows that had theirs."""
        names = pc.struct_field(letters, [NAME])
        before = pa.concat_arrays([pa.array([self._last], names.type), names[:-1]])
        self._last = names[-1].as_py()
        is_first = pc.not_equal(names, before).fill_null(True)
        return pc.if_else(is_first, letters, pa.scalar(None, letters.type))


class DeadLetters:
    """Collects the late rows of one bucket in one micro-batch, then writes them."""

    def __init__(self, plan: StagePlan, batch: str, bucket: int) -> None:
        self._plan = plan
        self._batch = batch
        self._bucket = bucket
        self._kept: dict[int, list[ChangeBatch]] = defaultdict(list)

    def take(self, port: int, rows: ChangeBatch) -> None:
        """Takes the late rows of one port."""
        self._kept[port].append(rows)

    def write(self) -> None:
        """Writes what was taken, a file per port."""
        for port, kept in self._kept.items():
            (scan,) = self._plan.node.inputs[port].scans
            table = as_arrived(scan, concat(kept))
            if table.num_rows:
                self._write(scan.stream, port, table)
        self._kept.clear()

    def _write(self, stream: str, port: int, table: pa.Table) -> None:
        folder = (self._plan.options.dead_letters or "").rstrip("/")
        files, base = open_folder(f"{folder}/{stream}")
        # Several questions may keep their late rows in one folder.
        question = self._plan.identity.fingerprint[:8]
        place = f"stage-{self._plan.number}-input-{port}-bucket-{self._bucket:04d}"
        name = f"{self._batch}-{question}-{place}.parquet"
        with files.open_output_stream(f"{base}/.{name}.part") as out:
            pa.parquet.write_table(table, out)
        files.move(f"{base}/.{name}.part", f"{base}/{name}")


def as_arrived(scan: ScanStream, rows: ChangeBatch) -> pa.Table:
    """Late rows as they arrived, with their stream and their event time.

    Rows without their letter are kept under another alias of the stream.
    """
    has_letter = rows.columns.column(LETTER).is_valid().to_numpy(zero_copy_only=False)
    rows = rows.take(np.flatnonzero(has_letter))
    arrived = rows.columns.column(LETTER)
    names = [field.name for field in arrived.type if field.name != NAME]
    times = instants(rows.times, scan.time_type)
    has_time = pa.array(rows.times > MIN_TICK)
    return pa.table(
        [
            *(arrived.field(name) for name in names),
            pa.array([scan.stream] * len(rows)),
            pc.if_else(has_time, times, pa.scalar(None, times.type)),
        ],
        names=[*names, "_stream", "_event_time"],
    )
