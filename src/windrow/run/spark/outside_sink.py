"""Sinks of Windrow's protocol, written by Spark, exactly once by its own epochs.

    open                    here, before the query starts: what does not fit is said to the caller
    tasks      write(n)     each its own share of micro-batch n; what they return goes to the driver
    driver     commit(n)    with what the tasks that count have returned; then Spark's own commit log

Killed before `commit(n)`, Spark computes micro-batch n again, by the same offsets, and the sink shows no
share of the first time: nobody names them. Killed between `commit(n)` and Spark's log, it computes n again
as well, and the sink has it: its rows are passed over. A sink that has more than that belongs to another
checkpoint.

A sink that keeps in one process what `write` took until `commit` (`writes_anywhere` is False) is written
by the driver, with `foreachBatch`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)

from windrow.errors import ResourceError, UnsupportedError
from windrow.io.protocol import NO_EPOCH, Json, Sink, Unavailable
from windrow.operators.columns.arrow_types import arrow_schema, conform
from windrow.operators.columns.chunks import decode
from windrow.run.answer_rows import AnswerRows
from windrow.run.spark.failures import told_first
from windrow.run.spark.frames import describe
from windrow.run.spark.garbage import set_aside_modules
from windrow.run.spark.outside_source import as_option, from_option, patiently, register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

FORMAT = "windrow-sink"
WRITING = "secretWriting"
"""The option that holds a sink. Spark hides the values of options with such names: it may know passwords."""

HELD_BYTES = 64 << 20
"""Of a task's share so much is held, to be written again to a sink that was away."""


class HeldRows(Iterable[pa.RecordBatch]):
    """Rows that come once, and can be asked for again while they are few."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._coming = batches
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self.is_whole = True

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from list(self._held)
        for batch in self._coming:
            self._bytes += batch.nbytes
            self.is_whole = self.is_whole and self._bytes <= HELD_BYTES
            if self.is_whole:
                self._held.append(batch)
            else:
                self._held.clear()
            yield batch


@dataclass(frozen=True)
class Writing:
    """How the rows of a query are written to a sink that is open.

    Attributes:
        sink: where they go.
        columns: theirs, with those of a changelog.
        committed: the last epoch that the sink had when it was opened.
        patience_s: how long the sink may be away.
        place: the checkpoint, for messages.
        unpacking: what makes rows of the answer's blobs; None where rows come.
    """

    sink: Sink
    columns: pa.Schema
    committed: int
    patience_s: float
    place: str
    unpacking: AnswerRows | None = None

    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> list[Json]:
        """Writes a share of an epoch; what `commit` is to be told of it, nothing where it has no rows."""
        self._check(epoch)
        rows = (batch for batch in self._rows(batches) if batch.num_rows)
        if epoch == self.committed:
            for _ in rows:  # all of it is computed: what the query holds depends on it
                pass
            return []
        first = next(rows, None)
        if first is None:
            return []
        held = HeldRows(chain([first], rows))

        def write() -> Json:
            try:
                return self.sink.write(epoch, held)
            except Unavailable as error:
                if held.is_whole:
                    raise
                raise ResourceError.said_by(error) from error

        return [patiently(self.patience_s, write)]

    def commit(self, epoch: int, written: Sequence[Json]) -> None:
        """Has the sink show an epoch. One without rows is not told to it."""
        if written and epoch != self.committed:
            patiently(self.patience_s, lambda: self.sink.commit(epoch, written))

    def _check(self, epoch: int) -> None:
        if epoch < self.committed:
            raise ResourceError(
                "sink-of-another-time",
                f"the sink has the epochs of this run up to {self.committed}, and the checkpoint in"
                f" {self.place!r} goes on with {epoch}",
                reason="one of the two was restored, emptied, or belongs to something else;"
                " going on would lose or repeat rows of the answer",
                hint="restore the other one as well, or begin anew with an empty checkpoint and sink",
            )

    def _rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.unpacking is None:
            return map(self._fit, batches)
        blobs = (blob for batch in batches for blob in batch.column(0) if blob.is_valid)
        return self.unpacking.rows(decode(blob.as_buffer()) for blob in blobs)

    def _fit(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows as Spark gives them, in canonical types: its instants are in the session's time zone."""
        arrays = [
            conform(batch.column(place), field.type, field.name)
            for place, field in enumerate(self.columns)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.columns)


@dataclass(frozen=True)
class Share(WriterCommitMessage):
    """What a task tells the driver of its share of an epoch."""

    written: list[Json]


class SinkRows(DataSource):
    """A sink that is open, as Spark writes to it."""

    @classmethod
    def name(cls) -> str:
        """As `format` names it."""
        return FORMAT

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002, FBT001, N802
        """What writes micro-batches; Spark asks for it anew in each."""
        set_aside_modules(is_task=False)
        return SinkWriter(self.options[WRITING])


class SinkWriter(DataSourceStreamArrowWriter):
    """Writes shares of a micro-batch in tasks, and commits them in a process of the driver's."""

    def __init__(self, option: str) -> None:
        self._option = option

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Writes a task's share; the number of the micro-batch comes with the task."""
        context = TaskContext.get()
        assert context is not None
        epoch = int(context.getLocalProperty("streaming.sql.batchId") or NO_EPOCH)
        with _given(self._option, is_task=True) as writing:
            return Share(writing.write(epoch, iterator))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Shows the micro-batch."""
        shares = (own for own in messages if isinstance(own, Share))
        with _given(self._option, is_task=False) as writing:
            writing.commit(batchId, [one for own in shares for one in own.written])


@contextmanager
def _given(option: str, *, is_task: bool) -> Iterator[Writing]:
    """What a process of Spark's is given to write with; its sink is closed at the end."""
    with told_first():
        writing: Writing = from_option(option)
        try:
            yield writing
        finally:
            writing.sink.close()
            set_aside_modules(is_task=is_task)


def writer_to(
    answer: DataFrame, writing: Writing, failed: Callable[[BaseException], None]
) -> DataStreamWriter:
    """What writes a streaming answer to a sink; its trigger and its checkpoint are still to be set.

    Args:
        answer: its rows.
        writing: the sink, and how it is written.
        failed: is told what a sink of this process has failed with, as it was raised.

    Raises:
        UnsupportedError: the sink is written in this process, and Spark would call it in another one.
    """
    writer = answer.writeStream.outputMode("append")
    if writing.sink.writes_anywhere:
        register(answer.sparkSession, SinkRows)
        return writer.format(FORMAT).option(WRITING, as_option(writing))
    if not hasattr(answer, "_jdf"):
        raise UnsupportedError(
            "sink-over-connect",
            f"{type(writing.sink).__name__} cannot be written through Spark Connect",
            reason="it is written in the process that asks, and Connect computes the answer in others",
            hint="use a classic Spark session, or a sink that tasks can write: files, for instance",
        )

    def take(batch: DataFrame, epoch: int) -> None:
        try:
            written = writing.write(epoch, batch.toArrow().to_batches())
            writing.commit(epoch, written)
        except BaseException as error:
            failed(error)
            raise

    return writer.foreachBatch(take)


def write_batch(answer: DataFrame, writing: Writing) -> None:
    """Writes the answer of a batch run, as one epoch."""
    if not writing.sink.writes_anywhere:
        writing.commit(0, writing.write(0, answer.toArrow().to_batches()))
        return
    option = as_option(writing)

    def share(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with _given(option, is_task=True) as own:
            written = own.write(0, batches)
        yield pa.record_batch({"share": pa.array([json.dumps(written)])})

    # mapInArrow takes no names with dots; columns are known by their places.
    named = answer.toDF(*(f"c{place}" for place in range(len(answer.columns))))
    shares = named.mapInArrow(share, "share STRING").collect()
    writing.commit(0, [one for row in shares for one in json.loads(row["share"])])


def columns_of(answer: DataFrame) -> pa.Schema:
    """The columns of an answer in canonical types."""
    return arrow_schema(describe(answer)[0])
