"""A job: its streams and tables, its query, its sink, and its functions in a session."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import windrow
from windrow.cli.errors import JobError
from windrow.io.protocol import Connector
from windrow.schema import ON_ARRIVAL, OnArrival, Schema

AVAILABLE_NOW = "available-now"
ARRIVAL = "on arrival"


@dataclass(frozen=True)
class JobStream:
    """One stream of a job: where its rows lie and what time they have."""

    name: str
    path: str
    time: str
    format: str = "parquet"
    lateness: str | int | None = None
    schema: Schema | None = None
    files_per_batch: int | None = None
    rate: str | float | None = None
    distinct: Mapping[str, float] = field(default_factory=dict)
    changes: str | None = None
    read_ahead: int | None = None
    punctuation: str | None = None
    place: Connector | None = None

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"stream {self.name}"

    @property
    def event_time(self) -> str | OnArrival:
        """The time as a session takes it."""
        return ON_ARRIVAL if " ".join(self.time.lower().split()) == ARRIVAL else self.time

    @property
    def about(self) -> dict[str, Any]:
        """What a session is told of the stream, beside its rows."""
        told = ("lateness", "rate", "distinct", "changes", "read_ahead", "punctuation")
        return {"time": self.event_time, **{name: getattr(self, name) for name in told}}


@dataclass(frozen=True)
class JobTable:
    """One table of a job: where its rows lie."""

    name: str
    path: str
    format: str = "parquet"
    schema: Schema | None = None
    place: Connector | None = None

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"table {self.name}"


@dataclass(frozen=True)
class Function:
    """One function of a job, for its query to call: where its body is, and its types."""

    name: str
    body: str
    arguments: tuple[str, ...] | None = None
    returns: str | None = None
    vectorized: bool = True
    partial_order: bool = False


@dataclass(frozen=True)
class JobSink:
    """Where the answer goes."""

    path: str
    format: str = "parquet"
    checkpoint: str | None = None
    overwrite: bool = False
    place: Connector | None = None

    @property
    def state(self) -> Path:
        """Where a run in process keeps its checkpoint beside its answer, if nobody says otherwise."""
        return Path(self.path) / "_state"

    @property
    def is_kept(self) -> bool:
        """Whether a run in process goes on from a checkpoint, or keeps one that is asked for."""
        return self.checkpoint is not None or (self.place is None and self.state.is_dir())


@dataclass(frozen=True)
class Job:
    """A whole job, as its file has it."""

    name: str
    query: str
    streams: tuple[JobStream, ...]
    sink: JobSink | None = None
    mode: str = "batch"
    on: str = "local"
    trigger: str = AVAILABLE_NOW
    options: Mapping[str, Any] = field(default_factory=dict)
    spark: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[Function, ...] = ()
    tables: tuple[JobTable, ...] = ()
    folder: str = "."
    until_done: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether it reads what comes as it comes, epoch by epoch, and a later run goes on from there.

        In process a job that ends with the files that are there, and keeps nothing, reads them as one
        stream instead.
        """
        if self.mode == "batch":
            return False
        is_kept = self.sink is not None and self.sink.is_kept
        return self.on == "spark" or self.has_places or is_kept or not self.until_done

    @property
    def read(self) -> tuple[JobStream | JobTable, ...]:
        """All that is read."""
        return (*self.streams, *self.tables)

    @property
    def sources(self) -> tuple[JobStream | JobTable, ...]:
        """All that is read from paths."""
        return tuple(own for own in self.read if own.place is None)

    @property
    def writes_outside(self) -> bool:
        """Whether a connector takes the answer."""
        return self.sink is not None and self.sink.place is not None

    @property
    def has_places(self) -> bool:
        """Whether something is read from, or written to, a place outside by its connector."""
        return self.writes_outside or any(own.place is not None for own in self.read)


def is_here(path: str) -> bool:
    """Whether a path is one of this machine, and no address with a scheme."""
    return "://" not in path


def check_runnable(job: Job) -> None:
    """Refuses what the job asks of its sink and would not get where and how it is to run."""
    _check_batch(job)
    sink = job.sink
    if sink is None:
        return
    if sink.checkpoint is not None and job.mode == "batch":
        raise JobError(
            "checkpoint-unused",
            "[sink] names a checkpoint, and a batch job keeps none",
            reason="it would read everything again, whatever an earlier run has answered",
            hint="take checkpoint out, or run with --mode streaming",
        )
    if sink.overwrite and job.goes_on:
        raise JobError(
            "overwrite-of-stream",
            "[sink] says overwrite = true, and a streaming job goes on where it stopped",
            hint="take overwrite out; to begin anew, remove the sink's folder and its checkpoint",
        )
    if sink.place is not None:
        return
    if job.on == "local" and not is_here(sink.path):
        raise JobError.sink_not_writable(sink.path, "addresses with :// are written only on Spark")
    if sink.overwrite and not is_here(sink.path):
        raise JobError(
            "overwrite-elsewhere",
            f"the sink {sink.path!r} is not a folder of this machine, and is not overwritten",
            reason="Spark would remove the old answer there before it has the new one",
            hint="give each run a path of its own, or remove the old answer yourself",
        )


def _check_batch(job: Job) -> None:
    """Refuses a batch in process that would read a connector, and answer to a folder or the terminal."""
    followed = [own.name for own in job.streams if own.place is not None]
    if job.mode != "batch" or job.on != "local" or job.writes_outside or not followed:
        return
    raise JobError(
        "batch-of-connector",
        f"stream {followed[0]} is read by a connector, and the job is a batch",
        reason="what a connector reads goes on coming; a batch takes files that are known whole",
        hint="take mode out, and run with --until-done: the job ends with what is there",
    )


def register_functions(session: windrow.Session, job: Job) -> list[ModuleType]:
    """Lets the session know the job's functions; gives their modules beside the job file."""
    modules = []
    for function in job.functions:
        module, body = _load(function, job.folder)
        session.function(
            function.name,
            body,
            arguments=function.arguments,
            returns=function.returns,
            vectorized=function.vectorized,
            partial_order=function.partial_order,
        )
        if Path(getattr(module, "__file__", None) or "").parent == Path(job.folder):
            modules.append(module)
    return modules


def _load(function: Function, folder: str) -> tuple[ModuleType, Any]:
    name, _, attribute = function.body.partition(":")
    try:
        with _looking_in(folder):
            module = importlib.import_module(name)
        return module, getattr(module, attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise JobError(
            "no-function",
            f"the function {function.name} is not found at {function.body!r}",
            reason=str(error),
            hint="write module:function, the module beside the job file or installed",
        ) from error
    except Exception as error:
        raise JobError(
            "function-module",
            f"the module {name!r} of the function {function.name} cannot be loaded",
            reason=f"{type(error).__name__}: {error}",
            hint=f"fix what fails in  python -c 'import {name}'  in the folder of the job file",
        ) from error


@contextmanager
def _looking_in(folder: str) -> Iterator[None]:
    """Modules beside the job file are found too."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
