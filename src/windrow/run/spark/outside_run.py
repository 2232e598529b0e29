"""A run on Spark whose answer goes to a sink: Spark's own query, its checkpoint, and a name for both.

The sink knows the epochs of a run by the run's name, so that the name is kept where Spark keeps its
epochs, in the checkpoint: `windrow-run`, a text that Spark writes once, on whatever file system that is.
A checkpoint that was moved goes on as the same run, and one that was emptied begins another.

Spark has no way to end a query between two micro-batches. `stop` waits for the end of the one that is
under way, if that does not take long, and stops Spark then: what it breaks off is computed again.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow.parquet as pq
from pyspark.errors import AnalysisException, PySparkException

from windrow.errors import PlanError, ResourceError, WindrowError
from windrow.io.protocol import NO_EPOCH, Answer
from windrow.operators.columns.arrow_types import arrow_schema, arrow_type
from windrow.physical.query import PhysicalQuery, Planner, Runner
from windrow.run.aside import open_folder
from windrow.run.course import Course, Patience, ThreadedRun
from windrow.run.progress import Progress, ProgressView, renderer
from windrow.run.spark.failures import as_ours, within_sparks_stack
from windrow.run.spark.launch import FOR_LOCAL_CHECKPOINT, FOR_STATE, reason_of
from windrow.run.spark.outside_sink import Writing, columns_of, write_batch, writer_to
from windrow.run.spark.outside_source import OutsideFrame, OutsideStream, digest
from windrow.run.spark.progress import BatchFigures, ProgressReader, await_query
from windrow.run.spark.query import Builder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUN = "windrow-run"
"""Where a checkpoint keeps the name of the run."""

STOP_S = 30.0
"""How long `stop` waits for the micro-batch that is under way."""

_STARTING = threading.Lock()
"""Held while settings of the session are those of a query that starts."""


def frames_of(
    spark: SparkSession,
    data: Mapping[str, Any],
    physical: PhysicalQuery,
    patience_s: float | None = None,
) -> dict[str, DataFrame | OutsideFrame]:
    """Each stream and table of a query: a DataFrame, or what reads it from outside."""
    about: dict[str, Any] = {} if patience_s is None else {"patience_s": patience_s}
    about |= {"folder": physical.options.dead_letters, "query": digest(physical.sql)}
    about["is_streaming"] = physical.runner is Runner.spark_streaming
    used = {scan.stream for scan in physical.root.scans}
    return {
        name: own.followed(spark, **about) if isinstance(own, OutsideStream) else own
        for name, own in data.items()
        if name in used or not isinstance(own, OutsideStream)
    }


class SparkRun(ThreadedRun):
    """A query on Spark whose answer goes to a sink, followed by a thread of its own.

    Args:
        query: the query.
        writing: the sink, open; closed at the end.
        shown: where its progress goes.
    """

    def __init__(self, query: PhysicalQuery, writing: Writing, shown: ProgressView) -> None:
        super().__init__(threading.Event())
        self._writing = writing
        self._shown = KeptProgress(shown)
        self._folder = query.options.dead_letters
        self._query = digest(query.sql)

    @property
    def progress(self) -> Progress | None:
        """How far the query has come, in this process; None before Spark has reported anything."""
        return self._shown.last

    @property
    def epoch(self) -> int:
        """The last epoch that is done, as far as Spark has reported; -1 for none."""
        return self._writing.committed if self._shown.last is None else self._shown.last.batch

    @property
    def aside(self) -> int:
        """How many things that could not be read as rows are kept aside, since the run began."""
        if self._folder is None:
            return 0
        from pyarrow.fs import FileSelector  # noqa: PLC0415  # seldom asked

        files, base = open_folder(self._folder)
        found = files.get_file_info(FileSelector(base, recursive=True))
        own = [file.path for file in found if file.base_name.startswith(f"aside-{self._query}-")]
        return sum(pq.read_metadata(files.open_input_file(path)).num_rows for path in own)

    def stop(self) -> None:
        """Ends the run, after the micro-batch that is under way if that is soon, and waits for it.

        Raises:
            WindrowError: it has failed.
        """
        self._is_stopping.set()
        if self.is_running:
            self._halt()
        self.wait()

    def failed(self, error: BaseException) -> None:
        """Is told what it fails with, before Spark puts it in its own words."""
        self._failure = self._failure or error

    def _run(self) -> None:
        try:
            self._follow()
        except WindrowError as error:
            self.failed(error)
        except Exception as error:  # noqa: BLE001  # it is raised where it is waited for
            self.failed(as_ours(error) or error)
        finally:
            try:
                self._writing.sink.close()
            except Exception as error:  # noqa: BLE001
                self.failed(error)

    @abstractmethod
    def _follow(self) -> None:
        """Goes on until the query has ended."""

    @abstractmethod
    def _halt(self) -> None:
        """Has the query end."""


class KeptProgress(ProgressView):
    """Shows progress as another does, and keeps what was shown last."""

    def __init__(self, shown: ProgressView) -> None:
        self._shown = shown
        self.last: Progress | None = None

    def show(self, progress: Progress) -> None:
        """Shows the newest record."""
        self.last = progress
        self._shown.show(progress)

    def warn(self, text: str) -> None:
        """Says what the user should look into."""
        self._shown.warn(text)

    def close(self) -> None:
        """Ends the display."""
        self._shown.close()


class StreamingRun(SparkRun):
    """A streaming query of Spark's, an epoch per micro-batch."""

    def begin(self, answer: DataFrame, course: Course, reader: ProgressReader) -> Self:
        """Starts the query."""
        writer = writer_to(answer, self._writing, self.failed)
        if course.checkpoint is not None:
            writer = writer.option("checkpointLocation", course.checkpoint)
        if course.until_done:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{round(course.epoch_s * 1_000)} milliseconds")
        self._reader = reader
        with _set_while_starting(answer.sparkSession, course.checkpoint):
            self._running = writer.start()
        self._thread.start()
        return self

    def _follow(self) -> None:
        await_query(self._running, self._reader, self._shown)

    def _halt(self) -> None:
        until = time.monotonic() + STOP_S
        with suppress(PySparkException):  # it ends by itself meanwhile
            while self._running.status["isTriggerActive"] and time.monotonic() < until:
                self._thread.join(0.02)
            self._running.stop()


@contextmanager
def _set_while_starting(spark: SparkSession, checkpoint: str | None) -> Iterator[None]:
    """Settings for a query that starts inside, where the user has none.

    A query has a copy of its session's settings from its start on, so that nothing of the user's changes.
    """
    wanted = FOR_STATE
    if checkpoint is not None and Path(checkpoint.removeprefix("file://"), RUN).is_dir():
        wanted = FOR_STATE | FOR_LOCAL_CHECKPOINT  # Spark has just written there, and it is here
    with _STARTING:
        own = {name: value for name, value in wanted.items() if spark.conf.get(name, None) is None}
        for name, value in own.items():
            spark.conf.set(name, value)
        try:
            yield
        finally:
            for name in own:
                spark.conf.unset(name)


class BatchRun(SparkRun):
    """A batch query of Spark's, one epoch."""

    def begin(self, answer: DataFrame, figures: BatchFigures) -> Self:
        """Starts the query."""
        self._answer = answer
        self._figures = figures
        self._tag = f"windrow-{uuid.uuid4().hex}"
        self._thread.start()
        return self

    def _follow(self) -> None:
        if self._writing.committed != NO_EPOCH:
            return  # the one epoch that there is
        self._answer.sparkSession.addTag(self._tag)
        started = time.monotonic()
        try:
            write_batch(self._answer, self._writing)
        except Exception:
            if not self._is_stopping.is_set():
                raise
            return
        with suppress(PlanError):  # the answer is written: figures that do not come are no failure
            ms = (time.monotonic() - started) * 1_000
            self._shown.show(replace(self._figures.read(), ms=ms))
        self._shown.close()

    def _halt(self) -> None:
        self._answer.sparkSession.interruptTag(self._tag)


def start(
    spark: SparkSession,
    query: PhysicalQuery,
    data: Mapping[str, Any],
    course: Course,
    planner: Planner,
    *,
    progress: str,
) -> SparkRun:
    """Starts a query on Spark whose answer goes to a sink.

    Raises:
        WindrowError: it cannot be started: the sink, the checkpoint or a setting does not fit.
    """
    if course.until_done and course.checkpoint is None:
        # The streams end with what is there, and the answer is whole: a batch run gives it.
        query = replace(query, runner=Runner.spark_batch)
    shown, figures = renderer(progress), BatchFigures(query)
    with within_sparks_stack():
        frames = frames_of(spark, data, query, course.patience_s)
        builder = Builder(spark, query, frames, figures, planner)
        packed = builder.answer_blobs()
        if packed is None:
            answer, unpacking = builder.answer(), None
            columns = columns_of(answer)
        else:
            answer, unpacking = packed
            columns = unpacking.schema
    name = "" if course.checkpoint is None else run_name(spark, course.checkpoint)
    sink = course.sink
    told = Answer(
        arrow_schema(query.root.schema), query.is_changelog, query.keys, arrow_type(query.time_type)
    )
    committed = Patience(course.patience_s, shown.warn)(lambda: sink.open(name, told))
    if not sink.is_exactly_once:
        committed = NO_EPOCH
    place = course.checkpoint or ""
    writing = Writing(sink, columns, committed, course.patience_s, place, unpacking)
    try:
        if answer.isStreaming:
            return StreamingRun(query, writing, shown).begin(answer, course, ProgressReader(query))
        return BatchRun(query, writing, shown).begin(answer, figures)
    except Exception as error:
        sink.close()
        ours = None if isinstance(error, WindrowError) else as_ours(error)
        if ours is None:
            raise
        raise ours from error


def run_name(spark: SparkSession, checkpoint: str) -> str:
    """The name of the run that a checkpoint is of, made with the first run.

    Raises:
        ResourceError: the checkpoint cannot be written.
    """
    place = f"{checkpoint.rstrip('/')}/{RUN}"
    # Spark logs a warning of a path that is not there, and none of a pattern without a match.
    pattern = re.sub(r"([*?{}\[\]\\])", r"\\\1", place[:-1]) + f"[{place[-1]}]"
    try:
        with suppress(AnalysisException):  # there is none yet
            found = spark.read.text(pattern).collect()
            if found:
                return str(found[0]["value"])
        name = uuid.uuid4().hex
        # A name that was half written has been used by nobody.
        written = spark.createDataFrame([(name,)], "value STRING").coalesce(1)
        written.write.mode("overwrite").text(place)
    except PySparkException as error:
        raise ResourceError(
            "checkpoint-not-writable",
            f"no checkpoint can be kept in {checkpoint!r}",
            reason=reason_of(error),
            hint="name a folder that can be written",
        ) from error
    return name
