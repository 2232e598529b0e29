"""A job in process.

A batch job knows its files whole: rows are sorted by event time, and none is late. A streaming job
reads what comes as it comes, batch by batch, and what breaks a stream's promise is late: it follows its
streams until it is stopped, epoch by epoch, or ends with what is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

import windrow
from windrow.cli.files import connector, found_at, read_batches
from windrow.cli.job import Job, JobSink, register_functions
from windrow.cli.notes import Notes
from windrow.cli.sinks import FolderSink, RowSample, foreign, write_recall
from windrow.cli.stopping import Sigterm
from windrow.io.protocol import CONNECTORS, Connector
from windrow.registry import load
from windrow.run.local.result import Result
from windrow.run.terminal import Terminal

if TYPE_CHECKING:
    from windrow.runners.base import Run
    from windrow.session import ProgressStyle

LOOK_S = 0.1
"""How often a run that is waited for looks whether it is to stop."""


def open_session(job: Job, *, follows: bool = False) -> windrow.Session[Result]:
    """A session in process with the job's streams and tables.

    Args:
        job: the job.
        follows: whether files that come later are read as well, where it is no batch.
    """
    session = windrow.Session()
    for source in job.streams:
        rows = source.place or (connector(source) if follows else read_batches(source))
        if job.mode == "batch" and source.place is None:
            rows = read_batches(source).read_all()
        session.stream(source.name, rows, **source.about)
    for table in job.tables:
        session.table(table.name, table.place or read_batches(table).read_all())
    register_functions(session, job)
    return session


def run_in_process(
    job: Job, *, progress: ProgressStyle, stdout: Terminal, notes: Notes, sigterm: Sigterm
) -> None:
    """Runs the job to its end; the answer goes to the sink, or to the terminal."""
    if job.goes_on or job.writes_outside:
        with sigterm.starting():
            run = _started(job, progress=progress, notes=notes)
        wait_for(run, sigterm)
        notes.done(run.progress)
        return
    sigterm.leave()
    for source in job.sources:
        notes.left_out(source.title, source.path, found_at(source))
    with _dead_letters(job) as letters:
        result = open_session(job).sql(job.query, progress=progress, **job.options)
        if job.sink is None:
            _show(result, stdout)
            _keep(result, letters)
            notes.done(result.progress)
            return
        with FolderSink(job.sink) as folder:
            if job.mode == "batch":
                folder.write(result.to_arrow())
            else:
                for batch in result:
                    folder.write(pa.Table.from_batches([batch]))
            write_recall(folder.folder, result.recall)
            _keep(result, letters)
        notes.kept(foreign(job.sink.path) if job.sink.overwrite else [])
        notes.done(result.progress)


def _started(job: Job, *, progress: ProgressStyle, notes: Notes) -> Run:
    """Starts the job, which runs until it is stopped, or until nothing more is there."""
    session = open_session(job, follows=True)
    is_batch = job.mode == "batch"
    sink, checkpoint = _target(job)
    if checkpoint is None and not is_batch:
        notes.say(
            "no checkpoint is kept: a run that ends begins anew; [sink] checkpoint names a folder"
        )
    return session.run(
        job.query,
        to=sink,
        checkpoint=checkpoint,
        until_done=is_batch or job.until_done,
        progress=progress,
        **job.options,
    )


def wait_for(run: Run, sigterm: Sigterm) -> None:
    """Waits for the end of a run; Ctrl-C and SIGTERM end it between two epochs.

    Raises:
        KeyboardInterrupt: Ctrl-C did.
    """
    try:
        while not sigterm.is_asked.is_set() and not run.wait(LOOK_S):
            pass
        if sigterm.is_asked.is_set():
            run.stop()
    except KeyboardInterrupt:
        run.stop()
        raise


def _target(job: Job) -> tuple[Connector, str | None]:
    """Where the answer goes, and where the run keeps what it survives by."""
    if job.sink is None:
        return load(CONNECTORS["terminal"])(), None
    checkpoint = job.sink.checkpoint
    if job.sink.place is not None:
        return job.sink.place, checkpoint
    place = load(CONNECTORS["files"])(path=job.sink.path, format=job.sink.format)
    return place, checkpoint or str(job.sink.state)


def _show(result: Result, stdout: Terminal) -> None:
    terminal = RowSample(stdout)
    for batch in result:
        terminal.write(pa.Table.from_batches([batch]))
    terminal.show(result.schema, result.recall)


@contextmanager
def _dead_letters(job: Job) -> Iterator[dict[str, FolderSink]]:
    """Where late rows are kept, by stream: a folder that cannot take them is refused at once."""
    folder = job.options.get("dead_letters")
    sinks = (
        {} if folder is None else {s.name: JobSink(str(Path(folder) / s.name)) for s in job.streams}
    )
    with ExitStack() as stack:
        yield {name: stack.enter_context(FolderSink(sink)) for name, sink in sinks.items()}


def _keep(result: Result, letters: Mapping[str, FolderSink]) -> None:
    for stream, rows in result.late.items():
        if stream in letters:
            letters[stream].write(rows)
