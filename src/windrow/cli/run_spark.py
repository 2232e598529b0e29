"""A job on Spark, batch or streaming, in a session of its own."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import windrow
from windrow.cli.errors import JobError
from windrow.cli.files import (
    check_columns_there,
    data_files,
    escaped_for_spark,
    found_at,
    schema_in_files,
    schema_of,
    streamed,
)
from windrow.cli.job import (
    AVAILABLE_NOW,
    Job,
    JobSink,
    JobStream,
    JobTable,
    is_here,
    register_functions,
)
from windrow.cli.notes import Notes
from windrow.cli.run_local import wait_for
from windrow.cli.sinks import (
    MOST_ROWS_SHOWN,
    RowSample,
    check_columns,
    foreign,
    held,
    make_folder,
    opened,
    show_recall,
    write_recall,
)
from windrow.cli.stopping import Sigterm
from windrow.errors import PlanError, ResourceError
from windrow.plan.exprs import quote_spark
from windrow.run.course import EPOCH_S
from windrow.run.progress import Progress, ProgressView, renderer
from windrow.run.terminal import Terminal, readable

if TYPE_CHECKING:
    from windrow.io.protocol import Connector
    from windrow.run.spark.launch import ClassicSpark, Frame, Running
    from windrow.session import ProgressStyle

    Follow = Callable[[Running], Progress | None]
    """Shows a streaming query's progress until it ends."""


_AS_TEXT = {
    "header": "true",
    # By default Spark writes milliseconds: a row that leaves a tick after its window ends would seem
    # to leave with it.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""How CSV and JSON files are written; other formats pass it over."""


_LISTING = {"spark.sql.sources.parallelPartitionDiscovery.threshold": "100000"}
"""Up to so many files are looked at without a Spark job: it would have a task for each of them."""


def run_on_spark(
    job: Job, *, progress: ProgressStyle, stdout: Terminal, notes: Notes, debug: bool
) -> None:
    """Runs the job until its files are read, or for ever with an interval as trigger."""
    _look(job, notes)
    with _target(job) as target:
        figures = _run(job, target, progress=progress, stdout=stdout, debug=debug)
    if job.sink is not None and job.sink.overwrite:
        notes.kept(foreign(job.sink.path))
    notes.done(figures)


def _look(job: Job, notes: Notes) -> None:
    """Says which files are left out; that none is there is right where some are still to come."""
    is_endless = job.mode == "streaming" and job.trigger != AVAILABLE_NOW
    for source in job.sources:
        is_to_come = is_endless and isinstance(source, JobStream) and source.schema is not None
        try:
            notes.left_out(source.title, source.path, found_at(source))
        except JobError as error:
            is_there = is_to_come and Path(source.path).parent.is_dir()
            if error.condition != "no-data-files" or not is_there:
                raise


def _run(
    job: Job, target: str, *, progress: ProgressStyle, stdout: Terminal, debug: bool
) -> Progress | None:
    launch = _launcher()
    from windrow.run.spark.frames import send_whole
    from windrow.run.spark.progress import await_query

    settings = {**_LISTING, **job.spark}
    spark = launch(job.name, settings, log_level="error" if debug else "fatal")
    try:
        session = windrow.Session(spark)
        for source in job.streams:
            is_streaming = job.mode == "streaming"
            rows = source.place or _frame(spark, source, is_streaming=is_streaming)
            session.stream(source.name, rows, **source.about)
        for table in job.tables:
            rows = table.place or _frame(spark, table, is_streaming=False)
            session.table(table.name, rows)
        send_whole(register_functions(session, job))
        if job.sink is not None and job.sink.place is not None:
            return _write_outside(session, job, job.sink.place, progress)
        answer = session.sql(job.query, **job.options)
        if job.sink is not None:
            check_columns(job.sink.format, _arrow_schema(answer))
        shown = renderer(progress)
        if job.mode == "batch":
            started = time.perf_counter()
            _write_batch(job, answer, target, stdout)
            figures = _show_figures(session, answer, shown, time.perf_counter() - started)
        else:
            reader = session.progress_reader(job.query, **job.options)
            follow = partial(await_query, reader=reader, shown=shown)
            figures = _write_stream(job, answer, follow, stdout)
        _mark(job, target, figures, stdout)
    except Exception as error:
        from windrow.run.spark.failures import in_our_words

        if job.sink is not None and "[PATH_ALREADY_EXISTS]" in str(error):
            raise JobError.sink_exists(job.sink.path) from error
        ours = in_our_words(error)
        if ours is None:
            raise
        raise ours from error
    else:
        return figures
    finally:
        spark.stop()


def _write_outside(
    session: windrow.Session, job: Job, place: Connector, progress: ProgressStyle
) -> Progress | None:
    """Writes the answer to a connector, until the job is stopped or done."""
    is_timed = job.trigger != AVAILABLE_NOW
    checkpoint = job.sink.checkpoint if job.sink is not None else None
    epoch = job.trigger if is_timed else timedelta(seconds=EPOCH_S)
    run = session.run(
        job.query,
        to=place,
        checkpoint=checkpoint,
        until_done=job.mode == "batch" or job.until_done or not is_timed,
        progress=progress,
        **{"epoch": epoch, **job.options},
    )
    with Sigterm() as sigterm:
        wait_for(run, sigterm)
    return run.progress


def _launcher() -> Any:
    try:
        from windrow.run.spark.launch import launch
    except ModuleNotFoundError as error:
        raise ResourceError(
            "no-pyspark",
            "PySpark is not installed",
            hint="pip install 'windrow[spark]'  or run with --on local",
        ) from error
    return launch


def _frame(spark: ClassicSpark, source: JobStream | JobTable, *, is_streaming: bool) -> Frame:
    """The files of a stream or a table as a DataFrame, read as the in-process runner reads them."""
    # In process a value that is none of its type, or a header that is not the schema's, is an
    # error; Spark by default reads NULL, and columns by their places.
    how = {"mode": "FAILFAST", "enforceSchema": "false", "header": "true"}
    ddl = _ddl(source, is_streaming=is_streaming)
    if isinstance(source, JobStream) and is_streaming:
        path, found = streamed(source)
        if source.files_per_batch is not None:
            how["maxFilesPerTrigger"] = str(source.files_per_batch)
        stream = spark.readStream.format(source.format).options(**how, **found)
        rows = stream.schema(ddl).load(path)
    else:
        files = [escaped_for_spark(file) for file in data_files(source)]
        rows = spark.read.format(source.format).options(**how).schema(ddl).load(files)
    return rows.select([rows[quote_spark(name)] for name in schema_of(source).names])


def _ddl(source: JobStream | JobTable, *, is_streaming: bool) -> str:
    if is_streaming and source.format != "parquet" and source.schema is None:
        raise JobError(
            "schema-needed",
            f"stream {source.name} reads {source.format} as a stream and has no schema",
            reason="the types of files that are still to come cannot be inferred",
            hint='add  schema = "item STRING, price DOUBLE, ts TIMESTAMP"  with your columns',
        )
    if source.schema is None or not is_streaming:
        check_columns_there(source, data_files(source)[0])  # there must be one
    return schema_in_files(source).ddl()


def _write_batch(job: Job, answer: Frame, target: str, stdout: Terminal) -> None:
    if job.sink is None:
        kept = answer.persist()
        total = kept.count()  # all rows first: the figures are those of the first action
        stdout.print(readable(kept.limit(MOST_ROWS_SHOWN).toArrow(), total=total))
        return
    # An answer that is there is refused, or is replaced by us: Spark would remove it at once.
    mode = "append" if is_here(target) else "errorifexists"
    answer.write.format(job.sink.format).options(**_AS_TEXT).mode(mode).save(target)
    if is_here(target) and not Path(target).is_dir():
        raise JobError(
            "sink-not-here",
            f"Spark has not written the answer to {job.sink.path!r} on this machine",
            reason="its workers, or its settings, take the path for one on another file system",
            hint="write the sink's path as an address, such as  hdfs://host/folder",
        )


def _show_figures(
    session: windrow.Session, answer: Frame, shown: ProgressView, seconds: float
) -> Progress | None:
    """One record for the whole batch; None where there is none."""
    figures: Progress | None = None
    # The answer is written: figures that Spark does not hand over are no reason to fail.
    with contextlib.suppress(PlanError):
        figures = replace(session.progress(answer), ms=seconds * 1_000)
        shown.show(figures)
    shown.close()
    return figures


def _mark(job: Job, target: str, figures: Progress | None, stdout: Terminal) -> None:
    """Marks the rows of a query that sheds where they are, as far as that is on this machine."""
    recall = None if figures is None else figures.recall
    if job.sink is None:
        show_recall(stdout, recall)
    elif is_here(target):
        write_recall(Path(target), recall)


@contextlib.contextmanager
def _target(job: Job) -> Iterator[str]:
    """Where Spark is to write the answer; folders on this machine are made, and the sink's held.

    All that before Spark is started, which takes its time.
    """
    letters = job.options.get("dead_letters")
    if isinstance(letters, str) and is_here(letters):
        make_folder(letters)
    if job.sink is None or job.sink.place is not None:
        yield ""
        return
    path = job.sink.path
    with contextlib.ExitStack() as stack:
        if job.mode == "batch" and is_here(path):
            path = str(stack.enter_context(opened(job.sink)))
        elif job.mode == "streaming":
            for folder in filter(is_here, (path, checkpoint_of(job.sink))):
                make_folder(folder)
            if is_here(path):
                stack.enter_context(held(path))
        yield path


def checkpoint_of(sink: JobSink) -> str:
    """Where a streaming job keeps its progress and state."""
    return sink.checkpoint or f"{sink.path}/_checkpoint"


def _write_stream(job: Job, answer: Frame, follow: Follow, stdout: Terminal) -> Progress | None:
    writer = answer.writeStream.queryName(job.name).outputMode("append")
    if job.trigger == AVAILABLE_NOW:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=job.trigger)
    if job.sink is not None:
        writer = writer.format(job.sink.format).options(**_AS_TEXT)
        writer = writer.option("path", job.sink.path)
        writer = writer.option("checkpointLocation", checkpoint_of(job.sink))
        return follow(writer.start())
    terminal = RowSample(stdout)
    scratch = tempfile.mkdtemp(prefix="windrow-checkpoint-")

    def take(batch: Frame, _number: int) -> None:
        terminal.write(batch.toArrow())

    try:
        writer = writer.option("checkpointLocation", scratch).foreachBatch(take)
        figures = follow(writer.start())
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    terminal.show(_arrow_schema(answer))
    return figures


def _arrow_schema(answer: Frame) -> pa.Schema:
    """The columns of the answer, for the case that it has no row."""
    from windrow.operators.columns.arrow_types import arrow_schema
    from windrow.run.spark.frames import describe

    return arrow_schema(describe(answer)[0])
