"""The data files of a job: which they are, the same on every runner, and their rows in process.

    path is        read are
    a file         that file, whatever its name ends with
    a folder       its files, those of its subfolders too, whose names end as the format's do
    a pattern      the files that it matches; one that matches a folder is refused

Names that begin with `_` or a dot, and what lies in folders of such names, are passed over: markers
and half-written files have them. Text files may be compressed as both Arrow and Spark read them; in
another way, they are refused. What else lies in a folder is left out, and the run says so.

In process the files are known by name, and so they are for a batch on Spark. Streaming, Spark looks
for files itself, by a pattern that says the same, and takes the oldest first. Those of one time come
in the order of their names, if their folder is given as the pattern of what it holds.

Reading in process goes file by file in the order of their names, batch by batch, so that memory holds a
few batches whatever the files hold, or one that is compressed. Texts of timestamps without a zone are
read as UTC, as the Spark session of a job does.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from windrow.cli.errors import JobError
from windrow.cli.job import JobStream, JobTable
from windrow.errors import DataError
from windrow.io.data_files import (
    COMPRESSIONS,
    SUFFIXES,
    WILD,
    files_below,
    is_hidden,
    is_of_format,
    matched,
)
from windrow.io.file_formats import DataFile, Format
from windrow.io.files import Files
from windrow.operators.columns.arrow_types import arrow_schema, spark_schema
from windrow.schema import Field, Schema

COMPRESSED = (".gz", ".bz2")
"""Arrow and Spark both know these, by names in lower case; Parquet is compressed within."""

_TO_HADOOP = re.compile(r"[\\*?\[\]{}]")


def connector(source: JobStream | JobTable) -> Files:
    """The files of a stream or a table as a connector has them."""
    schema = None if source.schema is None else source.schema.ddl()
    return Files(path=source.path, format=source.format, schema=schema)  # type: ignore[arg-type]


def schema_of(source: JobStream | JobTable) -> Schema:
    """The columns of a stream or a table: as the job states them, or as its first file has them."""
    if source.schema is not None:
        return source.schema
    return spark_schema(_columns_in(source, data_files(source)[0]))


def schema_in_files(source: JobStream | JobTable) -> Schema:
    """The columns as Spark has to be told them, which reads those of a CSV file by their places.

    They are in the order of the first file's header, if there is one yet; those that the job does not
    name are texts, whatever they hold.
    """
    schema = schema_of(source)
    if source.format != "csv" or source.schema is None:
        return schema
    with contextlib.suppress(JobError):
        there = _columns_in(source, data_files(source)[0]).names
        return Schema(tuple(schema.find(name) or Field(name, "string") for name in there))
    return schema


def read_batches(source: JobStream | JobTable) -> pa.RecordBatchReader:
    """The rows of a stream or a table, batch by batch."""
    files = data_files(source)
    schema = arrow_schema(schema_of(source))

    def batches() -> Iterator[pa.RecordBatch]:
        for file in files:
            with _opened(source, file) as (formats, about):
                yield from formats.whole(about, schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def check_columns_there(source: JobStream | JobTable, file: str) -> None:
    """Refuses a file without a column of the stated schema, whose rows would all be NULL there.

    A column of JSON is a key that an object may have or not. Case is left to what reads the file.
    """
    if source.schema is None or source.format == "json":
        return
    there = {name.lower() for name in _columns_in(source, file).names}
    for field in source.schema.fields:
        if field.name.lower() not in there:
            problem = f"it has no column {field.name!r}"
            raise JobError.unreadable(source.title, file, problem)


def _columns_in(source: JobStream | JobTable, file: str) -> pa.Schema:
    """The columns that a file has, as it writes them."""
    with _opened(source, file) as (formats, about):
        return formats.columns(about)


@contextlib.contextmanager
def _opened(source: JobStream | JobTable, file: str) -> Iterator[tuple[Format, DataFile]]:
    """What reads a file, and what it is told of it; errors name the stream or the table."""
    try:
        told = Path(file).stat()
        about = DataFile(file, told.st_size, told.st_mtime_ns, file)
        yield connector(source).formats(pafs.LocalFileSystem()), about
    except (DataError, OSError) as error:
        why = error.reason if isinstance(error, DataError) else str(error)
        raise JobError.unreadable(source.title, file, why) from error


@dataclass(frozen=True)
class FoundFiles:
    """The files at a path.

    Attributes:
        files: those to read, in the order of their names.
        left_out: those of a folder that are none of the format's.
        empty: text files without a byte, which hold no row.
    """

    files: list[str]
    left_out: list[str]
    empty: list[str]


def data_files(source: JobStream | JobTable) -> list[str]:
    """The files of a stream or a table, in the order of their names."""
    return found_at(source).files


def found_at(source: JobStream | JobTable) -> FoundFiles:
    """What lies at the path of a stream or a table.

    Raises:
        JobError: nothing to read, or something that not every runner could.
    """
    path = Path(source.path)
    if path.is_dir():
        there = list(_files_below(source, path))
        named = [file for file in there if is_of_format(source.format, file)]
    else:
        there = named = _named(source)
    for file in named:
        _check_compression(source, file)
    empty = [file for file in named if source.format != "parquet" and not Path(file).stat().st_size]
    files = sorted(set(named) - set(empty))
    if not files:
        reason = f"a path is one file, a folder with .{source.format} files, or a pattern with *"
        if empty:
            are = "s are" if len(empty) > 1 else " is"
            reason = f"{len(empty):,} file{are} there, without a byte"
        raise JobError(
            "no-data-files",
            f"{source.title} finds no file at {source.path!r}",
            reason=reason,
            hint="paths are relative to the folder of the job file, and names that begin with _ or a"
            " dot are passed over",
        )
    return FoundFiles(files, sorted(set(there) - set(named)), sorted(empty))


def streamed(source: JobStream) -> tuple[str, dict[str, str]]:
    """The path and the options by which Spark, streaming, finds the same files, and later ones."""
    path = Path(source.path)
    if path.is_dir():
        ends = [_any_case(end) for end in SUFFIXES[source.format]]
        if source.format != "parquet":
            ends += [end + more for end in ends for more in COMPRESSED]
        # Files that are given by a pattern come in the order of their names; it costs a look at each.
        inside = "/[!._]*" if source.files_per_batch is not None else ""
        options = {"recursiveFileLookup": "true", "pathGlobFilter": f"[!._]*{{{','.join(ends)}}}"}
        return escaped_for_spark(source.path) + inside, options
    if path.exists() or not WILD.search(source.path):
        return _pattern_of_one(path), {}
    return _hadoop_pattern(source.path), {"pathGlobFilter": "[!._]*"}


def _files_below(source: JobStream | JobTable, folder: Path) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise JobError.unreadable(source.title, str(error.filename), error.strerror or str(error))

    return files_below(folder, refuse)


def _named(source: JobStream | JobTable) -> list[str]:
    """The files that a path or a pattern names."""
    path = Path(source.path)
    if path.is_file():
        return [] if is_hidden(path.name) else [source.path]
    named = matched(source.path)
    for name in named:
        if Path(name).is_dir():
            raise JobError(
                "pattern-of-folder",
                f"{source.title} reads {source.path!r}, which matches the folder {name!r}",
                reason="a pattern names files",
                hint="write  /*  behind it for the files of such folders, or give the folder above"
                " as path",
            )
    return [name for name in named if Path(name).is_file()]


def _check_compression(source: JobStream | JobTable, file: str) -> None:
    last = Path(file).suffix
    is_known = last in COMPRESSED and source.format != "parquet"
    if last.lower() in COMPRESSIONS and not is_known:
        raise JobError(
            "unknown-compression",
            f"{source.title} finds {file!r}, whose compression not every runner reads",
            reason="a Parquet file is compressed within, if at all"
            if source.format == "parquet"
            else "text files are read as they are, and with names that end in "
            + " and ".join(COMPRESSED),
            hint="rewrite it, or name the other files by a pattern",
        )


def _any_case(text: str) -> str:
    return "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in text)


def escaped_for_spark(path: str) -> str:
    """A path that Spark takes for what it is, and not for a pattern."""
    return _TO_HADOOP.sub(lambda found: "\\" + found[0], path)


def _pattern_of_one(path: Path) -> str:
    """A pattern that one file matches: Spark streams from folders and patterns alone."""
    name = escaped_for_spark(path.name)
    if name == path.name:
        place = next((n for n, c in enumerate(name) if c not in "!^-"), 0)
        name = f"{name[:place]}[{name[place]}]{name[place + 1 :]}"
    return f"{escaped_for_spark(str(path.parent))}/{name}"


def _hadoop_pattern(pattern: str) -> str:
    """A pattern as Hadoop reads it: without its own signs, and hidden names left out."""
    parts = []
    for part in pattern.split("/"):
        text = re.sub(r"[\\{}]", lambda found: "\\" + found[0], part)
        if text.startswith("*"):
            text = f"[!._]{text}"
        elif text.startswith("?"):
            text = f"[!._]{text[1:]}"
        parts.append(text)
    return "/".join(parts)
