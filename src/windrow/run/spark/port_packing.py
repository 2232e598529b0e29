"""Streams of sources of ours, packed for a stage as they are read: the JVM moves blobs, never rows.

    source --read--> filter, project, window --route, pack--> (bucket, port, first tick, blob)   a task
                 `--> how many rows, how new, and what Spark's watermark is told                 a row

What DataFrames do in two steps (rows into the JVM, rows out to be packed) is one here, and a stream
that a stage reads under several aliases is read once. The laws are the same: what is no row is kept
aside by ranges of offsets, late rows travel with their letters, and a range that is read again gives the
same blobs.

What a stream promises is told by a timestamp beside the blobs, as `relations.scan_stream` has Spark's
SQL tell it: of the newest row, of the newest punctuation, whichever reaches further.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from windrow.operators.columns.arrow_types import (
    arrow_schema,
    arrow_type,
    conform,
    conform_rows,
    spark_schema,
    ticks_of,
)
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.row_drivers import scan
from windrow.operators.expressions.evaluate import Evaluator
from windrow.operators.feeds.promises import complete_by_punctuations, split_punctuations
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.query import RowPath
from windrow.run.spark.failures import told_first
from windrow.run.spark.garbage import set_aside_modules
from windrow.run.spark.outside_source import READING, OffsetRange, Reading, as_option, register
from windrow.run.spark.packed_source import FORMAT, PackedRows, Sealed
from windrow.run.spark.packing import gather, pack_changes
from windrow.run.spark.stages import LETTER, PACKED, StagePlan
from windrow.run.spark.ticks import lateness_text, told_micros, whole_lateness
from windrow.schema import MAX_TICK, MIN_TICK, Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

TOLD = "told"
"""What Spark's watermark follows; NULL beside most blobs."""

_TOLD_TYPE = arrow_type("timestamp")

ROWS, NEWEST = "rows", "newest"
"""How many rows have been read, and the newest time among them: beside the first blob of those."""

TOLD_ROWS = Schema(
    (*PACKED.fields, *Schema.of(**{TOLD: "timestamp", ROWS: "bigint", NEWEST: "bigint"}).fields)
)


@dataclass(frozen=True)
class PackedPort:
    """The rows of a stream that go to one port of a stage.

    Attributes:
        port: which.
        path: how they get there.
        earlier: where rows are kept if they are late: the paths of the stream by which a row goes to
            another port with its letter, so that here it has none.
    """

    port: int
    path: RowPath
    earlier: tuple[RowPath, ...] = ()


@dataclass(frozen=True)
class Packing:
    """How a stream is read and packed for a stage.

    Attributes:
        plan: the stage.
        ports: where its rows go.
    """

    plan: StagePlan
    ports: tuple[PackedPort, ...]

    def narrowed(self, reading: Reading) -> Reading:
        """The same with no more columns read than are wanted: all, where late rows are kept."""
        if any(self.plan.letters[own.port] is not None for own in self.ports):
            return reading
        wanted = {name for own in self.ports for name in own.path.scan.source_columns}
        return replace(reading, source=reading.source.only(wanted))

    @property
    def scan(self) -> ScanStream:
        """The stream, as the first of the ports has it."""
        return self.ports[0].path.scan

    def blobs(
        self, reading: Reading, part: OffsetRange, *, is_streaming: bool
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a range, packed, in a task."""
        evaluator = Evaluator()
        columns = arrow_schema(spark_schema(reading.source.columns()))
        with told_first(self.plan.sql):
            try:
                for gathered in gather(reading.batches(part)):
                    whole = gathered[0] if len(gathered) == 1 else pa.concat_batches(gathered)
                    rows = conform_rows(whole, columns)
                    yield self._packed(rows, evaluator, is_streaming=is_streaming)
            finally:
                evaluator.close()
                reading.source.close()
        set_aside_modules()

    def _packed(
        self, rows: pa.RecordBatch, evaluator: Evaluator, *, is_streaming: bool
    ) -> pa.RecordBatch:
        node = self.scan
        times = ticks_of(rows.column(node.time))
        is_punctuation: NDArray[np.bool_] | None = None
        data = rows
        if node.punctuation is not None:
            data, is_punctuation = split_punctuations(rows, node.punctuation)
        packed = [
            pack_changes(
                self.plan, own.port, self._changes(own, data, evaluator), is_streaming=is_streaming
            )
            for own in self.ports
        ]
        blobs = pa.concat_batches(packed)
        # A batch run has no watermark, and may have times that Spark's would not reach.
        told = _told(node, times, is_punctuation) if is_streaming else None
        newest = int(times.max(initial=MIN_TICK))
        beside = _beside(len(blobs), told, data.num_rows, newest)
        return pa.RecordBatch.from_arrays([*blobs.columns, *beside], names=list(TOLD_ROWS.names))

    def _changes(self, own: PackedPort, data: pa.RecordBatch, evaluator: Evaluator) -> ChangeBatch:
        """The rows of a port; where late ones are kept, with their letters."""
        found = evaluator.apply_all(own.path.nodes, scan(own.path.scan, data))
        if self.plan.letters[own.port] is None:
            return found
        passing = _passing(own.path, data, evaluator)
        has_letter = np.ones(data.num_rows, np.bool_)
        for path in own.earlier:
            has_letter[_passing(path, data, evaluator)] = False
        kept = pa.array(np.where(has_letter[passing], passing, -1))
        kept = pc.if_else(pc.greater_equal(kept, 0), kept, pa.scalar(None, pa.int64()))
        field = arrow_schema(self.plan.packed_schema(own.port)).field(LETTER)
        letters = conform(
            pa.StructArray.from_arrays(data.columns, fields=list(data.schema)), field.type, LETTER
        )
        columns = found.columns.append_column(field, letters.take(kept))
        return replace(found, columns=columns)


def _passing(path: RowPath, data: pa.RecordBatch, evaluator: Evaluator) -> NDArray[np.int64]:
    """The places of the rows that come to the end of a path: in place of times, places travel along."""
    places = np.arange(data.num_rows)
    if not path.drops_rows:
        return places
    rows = ChangeBatch(scan(path.scan, data).columns, places)
    return evaluator.apply_all(path.nodes, rows).times


def _told(
    node: ScanStream, times: NDArray[np.int64], is_punctuation: NDArray[np.bool_] | None
) -> int | None:
    """What Spark's watermark is told of rows, in microseconds; None for nothing."""
    told = []
    if node.lateness is not None:
        rows = times if is_punctuation is None else times[~is_punctuation]
        rows = rows[rows > MIN_TICK]
        if len(rows):
            told = [
                told_micros(int(end), node.time_type, node.stream)
                for end in (rows.min(), rows.max())
            ]
    if is_punctuation is not None:
        complete = complete_by_punctuations(times[is_punctuation])
        if complete > MIN_TICK:
            # At once, and not when the lateness is over, by which Spark's watermark trails.
            lateness = whole_lateness(node.lateness or 0, node.time_type)
            reached = min(complete, MAX_TICK - lateness) + lateness
            told.append(told_micros(reached, node.time_type, node.stream))
    return max((own for own in told if own is not None), default=None)


def _beside(blobs: int, told: int | None, rows: int, newest: int) -> list[pa.Array]:
    """The columns beside so many blobs: figures beside the first one."""
    nothing = [None] * (blobs - 1)
    return [
        pa.array([told, *nothing], pa.int64()).cast(_TOLD_TYPE),
        pa.array([rows, *nothing], pa.int64()),
        pa.array([newest, *nothing], pa.int64()),
    ]


def packed_frame(
    spark: SparkSession, reading: Reading, packing: Packing, metric: str | None
) -> DataFrame:
    """The blobs of a stream, with its own watermark where it is streaming.

    Args:
        spark: the session.
        reading: how it is read.
        packing: for whom.
        metric: the name under which Spark's progress shows how many rows it has delivered; None in a
            batch run.
    """
    register(spark, PackedRows)
    sealed = Sealed.of(packing.narrowed(reading), packing)
    reader = spark.read if metric is None else spark.readStream
    schema = TOLD_ROWS.ddl()
    rows: DataFrame = reader.format(FORMAT).schema(schema).option(READING, as_option(sealed)).load()
    if metric is not None:
        node = packing.scan
        rows = rows.withWatermark(TOLD, lateness_text(node.lateness or 0, node.time_type))
        rows = rows.observe(metric, F.sum(ROWS).alias(ROWS), F.max(NEWEST).alias(NEWEST))
    return rows.select(*PACKED.names)
