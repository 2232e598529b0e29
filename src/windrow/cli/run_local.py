"""A job in process.

A batch job knows its files whole: rows are sorted by event time, and none is late. A streaming job
reads its files as they come, batch by batch, and what breaks a stream's promise is late.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import windrow
from windrow.cli.files import read_batches
from windrow.cli.functions import register_functions
from windrow.cli.job import Job, Sink
from windrow.cli.sinks import FolderSink, TerminalSink, write_recall
from windrow.run.local.result import Result
from windrow.run.terminal import Terminal


def open_session(job: Job) -> windrow.Session:
    """A session in process with the job's streams and tables."""
    session = windrow.Session()
    for source in job.streams:
        reader = read_batches(source)
        data = reader.read_all() if job.mode == "batch" else reader
        session.stream(source.name, data, **source.about)
    for table in job.tables:
        session.table(table.name, read_batches(table).read_all())
    register_functions(session, job)
    return session


def run_in_process(job: Job, *, progress: str, stdout: Terminal) -> None:
    """Runs the job to its end; the answer goes to the sink, or to the terminal."""
    letters = _dead_letters(job)
    result: Result = open_session(job).sql(job.query, progress=progress, **job.options)
    if job.sink is None:
        terminal = TerminalSink(stdout)
        for batch in result:
            terminal.write(pa.Table.from_batches([batch]))
        terminal.show(result.schema, result.recall)
    elif job.mode == "batch":
        FolderSink(job.sink).write(result.to_arrow())
    else:
        folder = FolderSink(job.sink)
        for batch in result:
            folder.write(pa.Table.from_batches([batch]))
    if job.sink is not None:
        write_recall(job.sink.path, result.recall)
    for stream, rows in result.late.items():
        if stream in letters:
            letters[stream].write(rows)


def _dead_letters(job: Job) -> dict[str, FolderSink]:
    """Where late rows are kept, by stream: a folder that cannot take them is refused at once."""
    folder = job.options.get("dead_letters")
    if folder is None:
        return {}
    return {
        source.name: FolderSink(Sink(str(Path(folder) / source.name))) for source in job.streams
    }
