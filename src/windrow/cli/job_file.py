"""Job files: streams, tables, functions, a query and a sink, in TOML, as `docs/how-to/job-files.md` has them.

Everything is checked before anything runs.

**Places outside** that it names, with what else is to be said of them:

    [streams.orders]
    kafka = "orders"                  # the connector, and the first thing that it is told
    servers = "localhost:9092"        # the others, by the names that Python has for them
    time = "ts"                       # what is said of any stream

The connector's own fields say what there is to say, and of which kind it is.
"""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_type_hints

from windrow.cli.errors import JobError
from windrow.cli.job import AVAILABLE_NOW, Function, Job, JobSink, JobStream, JobTable, is_here
from windrow.errors import BindError, nearest
from windrow.io.ddl import parse_ddl
from windrow.io.options import IN_PYTHON, is_of, told
from windrow.io.protocol import CONNECTORS, Connector
from windrow.physical.option import lacking
from windrow.physical.options import ROWS
from windrow.plan.units import to_ticks
from windrow.registry import load
from windrow.schema import Schema

FORMATS = ("parquet", "csv", "json")
MODES = ("batch", "streaming")
RUNNERS = ("spark", "local")

T = TypeVar("T")

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
_OF_PATHS = {"path", "format", "schema", "files_per_batch", "overwrite"}
"""What is said of files at a path, and of no connector."""
_EXAMPLES = {
    "streams": {"path": 'path = "data/sales"', "time": 'time = "ts"'},
    "tables": {"path": 'path = "data/favorites.parquet"'},
    "functions": {"body": 'body = "shapes:similar"'},
    "sink": {"path": 'path = "out"'},
}
"""What it must say, for instance."""
_NO_OPTIONS = {"self", "query", "resume", "progress"}
"""Arguments of `Session.sql` that are no options of the query."""
_SAID_ELSEWHERE = {
    "to": "[sink] says where the answer goes",
    "checkpoint": 'write  checkpoint = "state"  in [sink]',
    "until_done": "run with --until-done",
}
"""Arguments of `Session.run` that a job has in other places."""
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
            f"{file.name} is not TOML",
            reason=str(error),
            hint='texts stand in quotes, a query over several lines in """ three of them """',
        ) from error
    _check(file.name, raw, _TOP)
    folder = file.resolve().parent
    # Streams first: a query written below a table lands in it, and that is the thing to say.
    streams = _entries(JobStream, "streams", "a table with path and time", raw, folder)
    if not streams:
        raise JobError.missing_key(file.name, "streams", '[streams.sales]  path = "data/sales"')
    tables = _entries(JobTable, "tables", "a table with a path", raw, folder)
    sink = JobSink(**_values("sink", "[sink]", raw["sink"], folder)) if "sink" in raw else None
    options = _options(folder, raw.get("options", {}))
    # Files are a batch, where nobody says otherwise; what comes from elsewhere goes on coming.
    usual_mode = MODES[any(source.place is not None for source in streams)]
    _check_apart(sink, options.get("dead_letters"), (*streams, *tables))
    return Job(
        name=file.stem,
        query=_query(file, raw),
        streams=streams,
        sink=sink,
        mode=_one_of(file.name, "mode", raw.get("mode", usual_mode), MODES),
        on=_one_of(file.name, "on", raw.get("on", "local"), RUNNERS),
        trigger=_trigger(file.name, raw.get("trigger", AVAILABLE_NOW)),
        options=options,
        spark=dict(_settings(raw.get("spark", {}))),
        functions=_entries(Function, "functions", "a table with a body", raw, folder),
        tables=tables,
        folder=str(folder),
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
    _check(where, values, _known_of(section, place))
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


def _known_of(section: str, place: Connector | None) -> Mapping[str, Any]:
    """What a table may say; of a connector in place of files, all that it takes is told already."""
    known = _KEYS[section]
    if place is None:
        return known
    more = dict.fromkeys(inspect.signature(type(place)).parameters, object)
    return {**more, **{key: kind for key, kind in known.items() if key not in _OF_PATHS}}


def schema_of_text(text: str) -> Schema:
    """The columns of a text in a job file, or beside one."""
    try:
        return parse_ddl(text)
    except BindError as error:
        raise JobError.said_by(error) from error


def _check_apart(
    sink: JobSink | None, letters: str | None, sources: Iterable[JobStream | JobTable]
) -> None:
    """What is written does not lie where rows are read: it would replace them, or be read as input."""
    to = None if sink is None else _path_of(sink)
    outputs = [] if sink is None or to is None else [("the sink", to, _format_of(sink))]
    if letters is not None:
        outputs += [("dead_letters", letters, "parquet")]
    for title, path, suffix in outputs:
        own = Path(os.path.realpath(path))  # a link to a folder of data is that folder
        for source in sources:
            read = _path_of(source)
            if read is not None and _is_read(own, suffix, read):
                written = "the answer" if title == "the sink" else "what is late"
                raise JobError(
                    "sink-over-source",
                    f"{title} {path!r} and {source.title}, which reads {read!r}, overlap",
                    reason=f"{written} would replace rows that are read, or be read as some of them",
                    hint=f"give {title} a folder of its own, outside of what is read, behind links too",
                )
    if len(outputs) > 1:
        first, second = (Path(os.path.realpath(path)) for _, path, _ in outputs)
        if first.is_relative_to(second) or second.is_relative_to(first):
            raise JobError(
                "sink-over-source",
                f"dead_letters {outputs[1][1]!r} and the sink {outputs[0][1]!r} overlap",
                reason="readers of the answer would take late rows for part of it, or lose them"
                " with it",
                hint="give dead_letters a folder of its own",
            )


def _path_of(own: JobSink | JobStream | JobTable) -> str | None:
    """Where the files are that are read or written, by a connector too; None where there are none."""
    if own.place is None:
        return own.path
    path = getattr(own.place, "path", None)
    return path if isinstance(path, str) and is_here(path) else None


def _format_of(sink: JobSink) -> str:
    """What the names of its files end with."""
    return sink.format if sink.place is None else str(getattr(sink.place, "format", "parquet"))


def _is_read(own: Path, suffix: str, path: str) -> bool:
    """Whether what is written into a folder is read from a path, or is written over it."""
    # A pattern reads from the folder above its first wildcard on, but maybe not all of it.
    above, *wildcards = re.split(r"[^/]*[*?\[]", path)
    read = Path(os.path.realpath(above))
    is_inside = own.is_relative_to(read)
    # What is hidden in a folder is passed over as it is read.
    is_hidden = is_inside and any(p.startswith(("_", ".")) for p in own.relative_to(read).parts)
    if is_inside and wildcards:
        part = own / f"part-00000.{suffix}"
        is_inside = part.match(str(read / path.removeprefix(above)))
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
    for key in _SAID_ELSEWHERE.keys() & options.keys():
        said = f"[options] has no key {key!r}"
        raise JobError("unknown-key", said, hint=_SAID_ELSEWHERE[key])
    for name, row in ROWS.items():
        if row.is_folder and isinstance(options.get(name), str):
            options[name] = _resolve(folder, options[name])
    needs = lacking(ROWS, options)
    if needs is not None:
        example = f'{needs.option} = "{needs.example}"'
        raise JobError.missing_key("[options]", needs.option, example)
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


def _settings(table: Mapping[str, Any], prefix: str = "spark") -> Iterator[tuple[str, str]]:
    """Spark settings by full name: keys with bare dots are tables to TOML."""
    for key, value in table.items():
        name = key if key == prefix or key.startswith(f"{prefix}.") else f"{prefix}.{key}"
        if isinstance(value, dict):
            yield from _settings(value, name)
        else:
            yield name, str(value).lower() if isinstance(value, bool) else str(value)


FOLDERS = {"path"}
"""Fields of connectors that are paths, relative to the job file."""

_IN_TOML = {**IN_PYTHON, bool: "true or false", Mapping: "a table", NoneType: ""}
"""What types of fields are called in messages."""


def place_in(
    where: str, table: Mapping[str, Any], folder: Path, kept: Collection[str] = ()
) -> tuple[Connector | None, dict[str, Any]]:
    """The place that a table of the file names, if one does, and the rest of what it says.

    `where` names the table in messages. What is `kept` is never the place's, whatever it is: `changes` of
    a stream names a column, while a sink of Kafka's has an option of that name.

    Raises:
        JobError: it names two, or says something of it that does not fit.
    """
    named = [key for key in table if key in CONNECTORS]
    if not named:
        return None, dict(table)
    if len(named) > 1 or "path" in table:
        both = " and ".join([*named, *(["path"] if "path" in table else [])][:2])
        raise JobError("two-places", f"{where} names both {both}", hint="name one of them")
    kind = load(CONNECTORS[named[0]])
    first, *others = [own.name for own in fields(kind)]
    said = {own: table[own] for own in others if own in table and own not in kept}
    said[first] = table[named[0]]
    hints = get_type_hints(kind)
    for key, value in said.items():
        if isinstance(value, list):
            said[key] = tuple(value)
        if not is_of(said[key], hints[key]):
            shown = named[0] if key == first else key
            raise JobError.wrong_type(where, shown, value, told(hints[key], _IN_TOML))
        if key in FOLDERS and "://" not in value:
            said[key] = str(folder / value)
    try:
        place = kind(**said)
    except TypeError as error:  # something that it must be told is missing
        raise JobError.missing_key(where, str(error).rpartition(": ")[2], "see its page") from error
    except BindError as error:
        raise JobError.said_by(error) from error
    return place, {key: value for key, value in table.items() if key not in {*said, *named}}
