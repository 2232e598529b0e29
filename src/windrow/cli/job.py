"""Job files: streams, a query and a sink, in TOML.

    query = "SELECT ..."              # or query_file = "join.sql"
    mode = "streaming"                # or "batch"; the command line decides over the file
    on = "spark"                      # or "local"
    trigger = "available-now"         # or an interval such as "10 seconds" (Spark streaming)

    [streams.sales]
    path = "data/sales"               # a file, a folder, or a pattern; relative to the job file;
                                      # or a connector: kafka = "sales", servers = "localhost:9092"
    format = "parquet"                # or "csv", "json" (one object per line)
    time = "ts"                       # or "on arrival"
    lateness = "5 seconds"
    rate = "1000 per second"          # hints to the planner, as for `Session.stream`
    distinct = { item = 10000 }

    [tables.favorites]                # joined with the streams; read whole when the job starts
    path = "data/favorites.csv"       # as for a stream; also schema = "item STRING, price DOUBLE"
    format = "csv"

    [functions.similar]
    body = "shapes:similar"           # a module, beside the job file or installed, and its function
    returns = "boolean"               # also arguments = ["string", "string"], vectorized = false

    [sink]
    path = "out"                      # or a connector: postgres = "postgresql://..", table = "out"
    format = "parquet"
    checkpoint = "state"              # by which a run that follows its streams survives

Everything is checked before anything runs.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from windrow.cli.errors import JobError
from windrow.cli.places import place_in
from windrow.errors import BindError, nearest
from windrow.io.ddl import parse_ddl
from windrow.io.protocol import Connector
from windrow.physical.options import ROWS
from windrow.plan.units import to_ticks
from windrow.schema import ON_ARRIVAL, OnArrival, Schema

FORMATS = ("parquet", "csv", "json")
MODES = ("batch", "streaming")
RUNNERS = ("spark", "local")
AVAILABLE_NOW = "available-now"
ARRIVAL = "on arrival"

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
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
class Table:
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
class Sink:
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
    streams: tuple[Source, ...]
    sink: Sink | None = None
    mode: str = "batch"
    on: str = "local"
    trigger: str = AVAILABLE_NOW
    options: Mapping[str, Any] = field(default_factory=dict)
    spark: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[Function, ...] = ()
    tables: tuple[Table, ...] = ()
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
    def read(self) -> tuple[Source | Table, ...]:
        """All that is read."""
        return (*self.streams, *self.tables)

    @property
    def sources(self) -> tuple[Source | Table, ...]:
        """All that is read from paths."""
        return tuple(own for own in self.read if own.place is None)

    @property
    def has_places(self) -> bool:
        """Whether something is read from, or written to, a place outside by its connector."""
        is_outside = self.sink is not None and self.sink.place is not None
        return is_outside or any(own.place is not None for own in self.read)


_TOP = {
    **dict.fromkeys(("query", "query_file", "mode", "on", "trigger"), str),
    **dict.fromkeys(("streams", "tables", "functions", "sink", "options", "spark"), dict),
}
_TABLE = {"path": str, "format": str, "schema": str}
_KEYS: dict[str, dict[str, Any]] = {
    "streams": {
        **_TABLE,
        **dict.fromkeys(("time", "changes", "punctuation"), str),
        **dict.fromkeys(("files_per_batch", "read_ahead"), int),
        "lateness": (str, int),
        "rate": (str, int, float),
        "distinct": dict,
    },
    "tables": _TABLE,
    "functions": {
        "body": str, "arguments": list, "returns": str, "vectorized": bool, "partial_order": bool,
    },
    "sink": {"path": str, "format": str, "checkpoint": str, "overwrite": bool},
}  # fmt: skip
"""What each table of the file may say."""
_EXAMPLES = {
    "streams": {"path": 'path = "data/sales"', "time": 'time = "ts"'},
    "tables": {"path": 'path = "data/favorites.parquet"'},
    "functions": {"body": 'body = "shapes:similar"'},
    "sink": {"path": 'path = "out"'},
}
"""What it must say, for instance."""
_NO_OPTIONS = {"self", "query", "resume", "progress"}
"""Arguments of `Session.sql` that are no options of the query."""
_KINDS = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    dict: "a table",
    list: "a list of types",
    (str, int): "a text such as '5 seconds', or a whole number of ticks",
    (str, int, float): "a text such as '1000 per second', or a number",
}


def load_job(file: Path) -> Job:
    """The job of a file, checked."""
    if not file.is_file():
        raise JobError(
            "no-job-file",
            f"there is no job file {str(file)!r}",
            hint="give the path of a TOML file with [streams.NAME] tables and a query",
        )
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise JobError(
            "not-toml",
            f"{file.name} is no TOML",
            reason=str(error),
            hint='texts stand in quotes, a query over several lines in """ three of them """',
        ) from error
    _check(file.name, raw, _TOP)
    folder = file.resolve().parent
    # Streams first: a query written below a table lands in it, and that is the thing to say.
    streams = _entries(Source, "streams", "a table with path and time", raw, folder)
    if not streams:
        raise JobError.missing_key(file.name, "streams", '[streams.sales]  path = "data/sales"')
    tables = _entries(Table, "tables", "a table with a path", raw, folder)
    sink = Sink(**_values("sink", "[sink]", raw["sink"], folder)) if "sink" in raw else None
    options = _options(folder, raw.get("options", {}))
    _check_apart(sink, options.get("dead_letters"), (*streams, *tables))
    return Job(
        name=file.stem,
        query=_query(file, raw),
        streams=streams,
        sink=sink,
        mode=_one_of(file.name, "mode", raw.get("mode", _usual_mode(streams)), MODES),
        on=_one_of(file.name, "on", raw.get("on", "local"), RUNNERS),
        trigger=_trigger(file.name, raw.get("trigger", AVAILABLE_NOW)),
        options=options,
        spark=dict(_settings(raw.get("spark", {}))),
        functions=_entries(Function, "functions", "a table with a body", raw, folder),
        tables=tables,
        folder=str(folder),
    )


def _usual_mode(streams: Iterable[Source]) -> str:
    """Files are a batch, where nobody says otherwise; what comes from elsewhere goes on coming."""
    return MODES[any(source.place is not None for source in streams)]


def check_runnable(job: Job) -> None:
    """Refuses what the job asks of its sink and would not get where and how it is to run."""
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
        raise JobError.sink_not_writable(sink.path, "addresses with :// are written on Spark alone")
    if sink.overwrite and not is_here(sink.path):
        raise JobError(
            "overwrite-elsewhere",
            f"the sink {sink.path!r} is not a folder of this machine, and is not overwritten",
            reason="Spark would remove the old answer there before it has the new one",
            hint="give each run a path of its own, or remove the old answer yourself",
        )


def _trigger(where: str, text: str) -> str:
    try:
        is_known = text == AVAILABLE_NOW or to_ticks(text, "timestamp") > 0
    except BindError:
        is_known = False
    if not is_known:
        wanted = f"{AVAILABLE_NOW!r}, or an interval such as '10 seconds'"
        raise JobError.wrong_type(where, "trigger", text, wanted)
    return text


def _query(file: Path, raw: Mapping[str, Any]) -> str:
    written = [key for key in ("query", "query_file") if key in raw]
    if len(written) != 1:
        raise JobError(
            "one-query",
            f"{file.name} has {'both query and query_file' if written else 'no query'}",
            hint="write the SQL as query, or the path of a file with the SQL as query_file",
        )
    if "query" in raw:
        return str(raw["query"])
    path = file.resolve().parent / str(raw["query_file"])
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        wanted = "the path of a file with text in UTF-8, relative to the job's"
        raise JobError.wrong_type(file.name, "query_file", raw["query_file"], wanted) from error


def _entries(
    kind: Callable[..., T], section: str, wanted: str, raw: Mapping[str, Any], folder: Path
) -> tuple[T, ...]:
    """The tables of one section, each by its name."""
    found = []
    for name, table in raw.get(section, {}).items():
        if not isinstance(table, dict):
            raise JobError.wrong_type(f"[{section}]", name, table, wanted)
        found.append(kind(name=name, **_values(section, f"[{section}.{name}]", table, folder)))
    return tuple(found)


def _values(section: str, where: str, table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a table says, checked: paths in their places, columns and types as values."""
    place, values = None, dict(table)
    if section in {"streams", "tables", "sink"}:
        kept = ("changes",) if section == "streams" else ()
        place, values = place_in(where, table, folder, kept)
    _check(where, values, _KEYS[section])
    for key, example in _EXAMPLES[section].items():
        if key not in values and not (key == "path" and place is not None):
            raise JobError.missing_key(where, key, example)
    if place is not None:
        values |= {"path": "", "place": place}
    if values.get("files_per_batch", 1) < 1:
        raise JobError.wrong_type(where, "files_per_batch", values["files_per_batch"], "1 or more")
    for key in values.keys() & {"path", "checkpoint"}:
        values[key] = _resolve(folder, values[key])
    if "format" in values:
        _one_of(where, "format", values["format"], FORMATS)
    if "schema" in values:
        values["schema"] = schema_of_text(values["schema"])
    # The session knows the columns, and checks them.
    for column, number in values.get("distinct", {}).items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise JobError.wrong_type(where, f"distinct.{column}", number, "a number of values")
    if "arguments" in values:
        values["arguments"] = tuple(values["arguments"])
        if not all(isinstance(type_, str) for type_ in values["arguments"]):
            raise JobError.wrong_type(where, "arguments", table["arguments"], _KINDS[list])
    return values


def schema_of_text(text: str) -> Schema:
    """The columns of a text in a job file, or beside one."""
    try:
        return parse_ddl(text)
    except BindError as error:
        raise JobError(
            error.condition, error.sentence, reason=error.reason, hint=error.hint
        ) from error


def _check_apart(sink: Sink | None, letters: str | None, sources: Iterable[Source | Table]) -> None:
    """What is written does not lie where rows are read: it would replace them, or be read as input."""
    is_folder = sink is not None and sink.place is None
    outputs = [("the sink", sink.path, sink.format)] if sink is not None and is_folder else []
    if letters is not None:
        outputs += [("dead_letters", letters, "parquet")]
    for title, path, suffix in outputs:
        own = Path(os.path.realpath(path))  # a link to a folder of data is that folder
        for source in sources:
            if source.place is None and _is_read(own, suffix, source):
                written = "the answer" if title == "the sink" else "what is late"
                raise JobError(
                    "sink-over-source",
                    f"{title} {path!r} and {source.title}, which reads {source.path!r}, are not apart",
                    reason=f"{written} would replace rows that are read, or be read as some of them",
                    hint=f"give {title} a folder of its own, outside of what is read, behind links too",
                )
    if len(outputs) > 1:
        first, second = (Path(os.path.realpath(path)) for _, path, _ in outputs)
        if first.is_relative_to(second) or second.is_relative_to(first):
            raise JobError(
                "sink-over-source",
                f"dead_letters {outputs[1][1]!r} and the sink {outputs[0][1]!r} are not apart",
                reason="who reads the answer would read late rows as some of it, or lose them with it",
                hint="give dead_letters a folder of its own",
            )


def _is_read(own: Path, suffix: str, source: Source | Table) -> bool:
    """Whether a source reads what is written into a folder, or is written over by it."""
    # A pattern reads from the folder above its first wildcard on, but maybe not all of it.
    above, *wildcards = re.split(r"[^/]*[*?\[]", source.path)
    read = Path(os.path.realpath(above))
    is_inside = own.is_relative_to(read)
    # What is hidden in a folder is passed over as it is read.
    is_hidden = is_inside and any(p.startswith(("_", ".")) for p in own.relative_to(read).parts)
    if is_inside and wildcards:
        part = own / f"part-00000.{suffix}"
        is_inside = part.match(str(read / source.path.removeprefix(above)))
    if read.is_relative_to(own) or (is_inside and not is_hidden):
        return True
    return any(own.is_relative_to(link) or link.is_relative_to(own) for link in _links_in(read))


def _links_in(folder: Path) -> Iterator[Path]:
    """Where the links in a folder lead: what is behind them is read with it."""
    for above, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        for name in (*folders, *files):
            entry = Path(above, name)
            if entry.is_symlink():
                yield entry.resolve()


def _options(folder: Path, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options for the query, which checks them; a folder among them is the job's to place."""
    options = dict(table)
    for key in _NO_OPTIONS & options.keys():
        raise JobError.unknown_key("[options]", key, tuple(ROWS), is_top=key in _TOP)
    for name, row in ROWS.items():
        if row.is_folder and isinstance(options.get(name), str):
            options[name] = _resolve(folder, options[name])
    if options.get("on_late") == "keep" and not isinstance(options.get("dead_letters"), str):
        raise JobError.missing_key("[options]", "dead_letters", 'dead_letters = "late"')
    return options


def _check(where: str, table: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Every key is known, and every value of its kind."""
    for key, value in table.items():
        if key not in known:
            raise JobError.unknown_key(where, key, known, is_top=known is not _TOP and key in _TOP)
        kind = known[key]
        if key == "path" and value == "":
            raise JobError.wrong_type(where, key, value, "a path; . is the folder of the job file")
        is_flag_as_number = isinstance(value, bool) and kind is not bool
        if is_flag_as_number or not isinstance(value, kind):
            raise JobError.wrong_type(where, key, value, _KINDS[kind])


def _one_of(where: str, key: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise JobError(
            "wrong-value", f"{key} of {where} is {value!r}", hint=f"one of {nearest(value, known)}"
        )
    return value


def _resolve(folder: Path, path: str) -> str:
    """A path relative to the job file; an address with a scheme stays as it is."""
    if path.startswith("file:///"):
        return path.removeprefix("file://")
    return str(folder / path) if is_here(path) else path


def is_here(path: str) -> bool:
    """Whether a path is one of this machine, and no address with a scheme."""
    return "://" not in path


def _settings(table: Mapping[str, Any], prefix: str = "spark") -> Iterator[tuple[str, str]]:
    """Spark settings by full name: keys with bare dots are tables to TOML."""
    for key, value in table.items():
        name = key if key == prefix or key.startswith(f"{prefix}.") else f"{prefix}.{key}"
        if isinstance(value, dict):
            yield from _settings(value, name)
        else:
            yield name, str(value).lower() if isinstance(value, bool) else str(value)
