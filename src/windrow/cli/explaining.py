"""EXPLAIN from the shell: of job files, and of SQL over their streams or streams without data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pyarrow as pa

import windrow
from windrow.cli.errors import JobError
from windrow.cli.files import schema_of
from windrow.cli.job import JobStream, JobTable, register_functions
from windrow.cli.job_file import load_job, schema_of_text
from windrow.errors import BindError
from windrow.operators.columns.arrow_types import arrow_schema

_STREAM = re.compile(
    r"\s*(?P<name>\w+)\s*\((?P<ddl>.*)\)\s*time\s*=\s*(?P<time>on\s+arrival|\w+)"
    r"(?:\s+lateness\s*=\s*(?P<lateness>.+?))?\s*",
    re.IGNORECASE | re.DOTALL,
)

_EXAMPLE = "for instance  --stream 'sales(item STRING, ts TIMESTAMP) time=ts'"


def explain_all(
    asked: Sequence[str], declared: Sequence[str], form: Literal["text", "json"] = "text"
) -> Iterator[str]:
    """EXPLAIN of each job file and each SQL text, in order, as "text" or "json"."""
    session = windrow.Session()
    for text in declared:
        _register(session, _declared(text))
    for text in asked:
        if not _is_job_file(text):
            with _hints_of_the_shell():
                found = session.explain(text, format=form)
            yield found
            continue
        job = load_job(Path(text))
        for source in job.streams:
            _register(session, source)
        for table in job.tables:
            session.table(table.name, _empty(table))
        register_functions(session, job)
        yield session.explain(job.query, format=form, **job.options)


@contextmanager
def _hints_of_the_shell() -> Iterator[None]:
    """Where no stream is known, says how the command line is told of one."""
    try:
        yield
    except BindError as error:
        if error.condition == "unknown-stream" and "session.stream(" in error.hint:
            error.hint = f"describe it first, {_EXAMPLE}, or name a job file before the SQL"
        raise


def _is_job_file(text: str) -> bool:
    """SQL has blanks; the path of a job file ends in .toml or names a file."""
    return text.endswith(".toml") or (not re.search(r"\s", text.strip()) and Path(text).is_file())


def _declared(text: str) -> JobStream:
    match = _STREAM.fullmatch(text)
    if match is None:
        raise JobError(
            "bad-stream",
            f"{text!r} does not describe a stream",
            hint=_EXAMPLE,
        )
    lateness = match["lateness"] or "0"
    return JobStream(
        name=match["name"],
        path="",
        time=match["time"],
        lateness=int(lateness) if lateness.isdigit() else lateness,
        schema=schema_of_text(match["ddl"]),
    )


def _register(session: windrow.Session, source: JobStream) -> None:
    session.stream(source.name, _empty(source), **source.about)


def _empty(source: JobStream | JobTable) -> pa.Table:
    """A stream or a table without rows: EXPLAIN looks at columns alone."""
    if source.place is not None:
        outside = (
            source.place.table_source() if isinstance(source, JobTable) else source.place.source()
        )
        return outside.columns().empty_table()
    return pa.Table.from_batches([], arrow_schema(schema_of(source)))
