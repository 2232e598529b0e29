"""Job files: streams, a query and a sink, in TOML.

    query = "SELECT ..."              # or query_file = "join.sql"
    mode = "streaming"                # or "batch"; the command line decides over the file
    on = "spark"                      # or "local"
    trigger = "available-now"         # or an interval such as "10 seconds" (Spark streaming)

    [streams.sales]
    path = "data/sales"               # a file, a folder, or a pattern; relative to the job file
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
    path = "out"
    format = "parquet"

Everything is checked before anything runs.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windrow.cli.ddl import parse_ddl
from windrow.cli.errors import JobError
from windrow.errors import BindError
from windrow.physical.options import ROWS
from windrow.plan.units import to_ticks
from windrow.schema import ON_ARRIVAL, OnArrival, Schema

FORMATS = ("parquet", "csv", "json")
MODES = ("batch", "streaming")
RUNNERS = ("spark", "local")
AVAILABLE_NOW = "available-now"
ARRIVAL = "on arrival"


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
        return {
            "time": self.event_time,
            "lateness": self.lateness,
            "rate": self.rate,
            "distinct": self.distinct,
            "changes": self.changes,
            "read_ahead": self.read_ahead,
            "punctuation": self.punctuation,
        }


@dataclass(frozen=True)
class Table:
    """One table of a job: where its rows lie."""

    name: str
    path: str
    format: str = "parquet"
    schema: Schema | None = None

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

    @property
    def sources(self) -> tuple[Source | Table, ...]:
        """All that is read."""
        return (*self.streams, *self.tables)


_TOP = {
    "query": str,
    "query_file": str,
    "mode": str,
    "on": str,
    "trigger": str,
    "streams": dict,
    "tables": dict,
    "functions": dict,
    "sink": dict,
    "options": dict,
    "spark": dict,
}
_STREAM = {
    "path": str,
    "format": str,
    "time": str,
    "lateness": (str, int),
    "schema": str,
    "files_per_batch": int,
    "rate": (str, int, float),
    "distinct": dict,
    "changes": str,
    "read_ahead": int,
    "punctuation": str,
}
_TABLE = {"path": str, "format": str, "schema": str}
_FUNCTION = {
    "body": str, "arguments": list, "returns": str, "vectorized": bool, "partial_order": bool,
}  # fmt: skip
_SINK = {"path": str, "format": str, "checkpoint": str, "overwrite": bool}
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
        raise JobError.no_file(file)
    try:
        raw = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise JobError.not_toml(file, str(error)) from error
    _check(file.name, raw, _TOP)
    folder = file.resolve().parent
    # Streams first: a query written below a table lands in it, and that is the thing to say.
    streams = tuple(_source(folder, *entry) for entry in raw.get("streams", {}).items())
    if not streams:
        raise JobError.missing_key(file.name, "streams", '[streams.sales]  path = "data/sales"')
    tables = tuple(_table(folder, *entry) for entry in raw.get("tables", {}).items())
    sink = _sink(folder, raw["sink"]) if "sink" in raw else None
    options = _options(folder, raw.get("options", {}))
    _check_apart(sink, options.get("dead_letters"), (*streams, *tables))
    return Job(
        name=file.stem,
        query=_query(file, raw),
        streams=streams,
        sink=sink,
        mode=_one_of(file.name, "mode", raw.get("mode", MODES[0]), MODES),
        on=_one_of(file.name, "on", raw.get("on", "local"), RUNNERS),
        trigger=_trigger(file.name, raw.get("trigger", AVAILABLE_NOW)),
        options=options,
        spark=dict(_settings(raw.get("spark", {}))),
        functions=tuple(_function(*entry) for entry in raw.get("functions", {}).items()),
        tables=tables,
        folder=str(folder),
    )


def check_runnable(job: Job) -> None:
    """Refuses what the job asks of its sink and would not get where and how it is to run."""
    sink = job.sink
    if sink is None:
        return
    goes_on = job.on == "spark" and job.mode == "streaming"
    if sink.checkpoint is not None and not goes_on:
        raise JobError.checkpoint_unused(job.on, job.mode)
    if sink.overwrite and goes_on:
        raise JobError.overwrite_of_stream()
    if job.on == "local" and not is_here(sink.path):
        raise JobError.sink_not_writable(sink.path, "addresses with :// are written on Spark alone")
    if sink.overwrite and not is_here(sink.path):
        raise JobError.overwrite_elsewhere(sink.path)


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
        raise JobError.no_query(file, written)
    if "query" in raw:
        return str(raw["query"])
    path = file.resolve().parent / str(raw["query_file"])
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        wanted = "the path of a file with text in UTF-8, relative to the job's"
        raise JobError.wrong_type(file.name, "query_file", raw["query_file"], wanted) from error


def _source(folder: Path, name: str, table: object) -> Source:
    where = f"[streams.{name}]"
    if not isinstance(table, dict):
        raise JobError.wrong_type("[streams]", name, table, "a table with path and time")
    _check(where, table, _STREAM)
    for key, example in (("path", 'path = "data/sales"'), ("time", 'time = "ts"')):
        if key not in table:
            raise JobError.missing_key(where, key, example)
    if table.get("files_per_batch", 1) < 1:
        raise JobError.wrong_type(where, "files_per_batch", table["files_per_batch"], "1 or more")
    return Source(
        name=name,
        path=_resolve(folder, table["path"]),
        time=table["time"],
        format=_one_of(where, "format", table.get("format", "parquet"), FORMATS),
        lateness=table.get("lateness"),
        schema=parse_ddl(table["schema"]) if "schema" in table else None,
        files_per_batch=table.get("files_per_batch"),
        rate=table.get("rate"),
        distinct=_distinct(where, table.get("distinct", {})),
        changes=table.get("changes"),
        read_ahead=table.get("read_ahead"),
        punctuation=table.get("punctuation"),
    )


def _table(folder: Path, name: str, entry: object) -> Table:
    where = f"[tables.{name}]"
    if not isinstance(entry, dict):
        raise JobError.wrong_type("[tables]", name, entry, "a table with a path")
    _check(where, entry, _TABLE)
    if "path" not in entry:
        raise JobError.missing_key(where, "path", 'path = "data/favorites.parquet"')
    return Table(
        name=name,
        path=_resolve(folder, entry["path"]),
        format=_one_of(where, "format", entry.get("format", "parquet"), FORMATS),
        schema=parse_ddl(entry["schema"]) if "schema" in entry else None,
    )


def _distinct(where: str, table: Mapping[str, Any]) -> dict[str, float]:
    """How many different values columns have; the session knows the columns, and checks them."""
    for column, number in table.items():
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise JobError.wrong_type(where, f"distinct.{column}", number, "a number of values")
    return dict(table)


def _function(name: str, table: object) -> Function:
    where = f"[functions.{name}]"
    if not isinstance(table, dict):
        raise JobError.wrong_type("[functions]", name, table, "a table with a body")
    _check(where, table, _FUNCTION)
    if "body" not in table:
        raise JobError.missing_key(where, "body", 'body = "shapes:similar"')
    arguments = table.get("arguments")
    if arguments is not None and not all(isinstance(type_, str) for type_ in arguments):
        raise JobError.wrong_type(where, "arguments", arguments, "a list of types")
    return Function(
        name=name,
        body=table["body"],
        arguments=None if arguments is None else tuple(arguments),
        returns=table.get("returns"),
        vectorized=table.get("vectorized", True),
        partial_order=table.get("partial_order", False),
    )


def _sink(folder: Path, table: Mapping[str, Any]) -> Sink:
    _check("[sink]", table, _SINK)
    if "path" not in table:
        raise JobError.missing_key("[sink]", "path", 'path = "out"')
    checkpoint = table.get("checkpoint")
    return Sink(
        path=_resolve(folder, table["path"]),
        format=_one_of("[sink]", "format", table.get("format", "parquet"), FORMATS),
        checkpoint=_resolve(folder, checkpoint) if checkpoint is not None else None,
        overwrite=table.get("overwrite", False),
    )


def _check_apart(sink: Sink | None, letters: str | None, sources: Iterable[Source | Table]) -> None:
    """What is written does not lie where rows are read: it would replace them, or be read as input."""
    outputs = [("the sink", sink.path, sink.format)] if sink is not None else []
    if letters is not None:
        outputs += [("dead_letters", letters, "parquet")]
    for title, path, suffix in outputs:
        own = Path(os.path.realpath(path))  # a link to a folder of data is that folder
        for source in sources:
            if _is_read(own, suffix, source):
                raise JobError.sink_over_source(title, path, source.title, source.path)
    if len(outputs) > 1:
        first, second = (Path(os.path.realpath(path)) for _, path, _ in outputs)
        if first.is_relative_to(second) or second.is_relative_to(first):
            raise JobError.letters_in_sink(outputs[1][1], outputs[0][1])


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
    folders = [name for name, row in ROWS.items() if row.is_folder]
    for name in folders:
        if isinstance(options.get(name), str):
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
        raise JobError.not_one_of(where, key, value, known)
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
