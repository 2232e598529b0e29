"""Data files of a job, read and written in process.

Reading goes file by file in the order of their names (`finding.py`), batch by batch, so that memory holds a few
batches whatever the files hold. Texts of timestamps without a zone are read as UTC, as the Spark
session of a job does.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from windrow.cli.errors import JobError
from windrow.cli.finding import data_files
from windrow.cli.job import Source, Table
from windrow.operators.columns.arrow_types import arrow_schema, spark_schema
from windrow.schema import Field, Schema

BATCH_ROWS = 65_536
ZONED = pa.timestamp("us", "UTC")
_ZONE_AT_END = r"(Z|[+-]\d\d(:?\d\d)?)$"


_EMPTY = re.compile(r"Empty CSV file|Empty JSON (?:stream|file)")
"""What Arrow says of a text file without a byte in it."""


def schema_of(source: Source | Table) -> Schema:
    """The columns of a stream or a table: as the job states them, or as its first file has them."""
    if source.schema is not None:
        return source.schema
    first, *_ = data_files(source)
    found = _dataset(source, [first]).schema
    try:
        found.names  # noqa: B018  # which may be in another encoding
    except UnicodeDecodeError as error:
        raise JobError.unreadable(source.title, first, _first_line(error)) from error
    if source.format == "json":
        # Its reader takes times with a zone to UTC, and does not tell them from those without one.
        found = pa.schema(
            [f.with_type(ZONED) if pa.types.is_timestamp(f.type) else f for f in found]
        )
    return spark_schema(found)


def schema_in_files(source: Source | Table) -> Schema:
    """The columns as Spark has to be told them, which reads those of a CSV file by their places.

    They are in the order of the first file's header, if there is one yet; those that the job does not
    name are texts, whatever they hold.
    """
    schema = schema_of(source)
    if source.format != "csv" or source.schema is None:
        return schema
    with contextlib.suppress(JobError):
        there = _names_in(source, data_files(source)[0])
        return Schema(tuple(schema.find(name) or Field(name, "string") for name in there))
    return schema


def read_batches(source: Source | Table) -> pa.RecordBatchReader:
    """The rows of a stream or a table, batch by batch."""
    files = data_files(source)
    schema = arrow_schema(schema_of(source))

    def batches() -> Iterator[pa.RecordBatch]:
        for file in files:
            try:
                check_columns_there(source, file)
                for batch in _dataset(source, [file]).to_batches(batch_size=BATCH_ROWS):
                    if batch.num_rows:
                        yield _conform(batch, schema)
            except (pa.ArrowException, KeyError, OSError, ValueError) as error:
                if _EMPTY.search(str(error)):
                    continue  # compressed, it has bytes, and no row
                if isinstance(error, JobError):
                    raise
                raise JobError.unreadable(source.title, file, _first_line(error)) from error

    return pa.RecordBatchReader.from_batches(schema, batches())


def check_columns_there(source: Source | Table, file: str) -> None:
    """Refuses a file without a column of the stated schema, whose rows would all be NULL there.

    A column of JSON is a key that an object may have or not. Case is left to what reads the file.
    """
    if source.schema is None or source.format == "json":
        return
    there = {name.lower() for name in _names_in(source, file)}
    for field in source.schema.fields:
        if field.name.lower() not in there:
            problem = f"it has no column {field.name!r}"
            raise JobError.unreadable(source.title, file, problem)


def _names_in(source: Source | Table, file: str) -> list[str]:
    """The columns that a file has, as it writes them."""
    try:
        names: list[str] = ds.dataset([file], format=source.format).schema.names
    except (pa.ArrowException, OSError, ValueError) as error:
        raise JobError.unreadable(source.title, file, _first_line(error)) from error
    return names


def _dataset(source: Source | Table, files: list[str]) -> ds.Dataset:
    """The files as one dataset; zoned timestamps in text files are read as texts at first."""
    try:
        if source.format == "parquet" or source.schema is None:
            return ds.dataset(files, format=source.format)
        fields = [
            pa.field(field.name, pa.string() if field.type == ZONED else field.type)
            for field in arrow_schema(source.schema)
        ]
        return ds.dataset(files, format=source.format, schema=pa.schema(fields))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise JobError.unreadable(source.title, files[0], _first_line(error)) from error


def _conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of the schema, in its order and types."""
    columns = []
    for field in schema:
        column = batch.column(field.name)
        is_text_of_time = field.type == ZONED and pa.types.is_string(column.type)
        columns.append(zoned_times(column) if is_text_of_time else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def zoned_times(texts: pa.Array) -> pa.Array:
    """Instants of texts with a zone, and of texts without one taken as UTC."""
    nothing = pa.scalar(None, pa.string())
    texts = pc.utf8_upper(texts)
    has_zone = pc.match_substring_regex(texts, _ZONE_AT_END)
    # A date alone ends like an offset ("2026-01-05"): a zone follows a time of day.
    has_zone = pc.and_kleene(has_zone, pc.match_substring(texts, ":"))
    with_zone = pc.if_else(has_zone, texts, nothing).cast(ZONED)
    without = pc.if_else(has_zone, nothing, texts).cast(pa.timestamp("us"))
    return pc.coalesce(with_zone, pc.assume_timezone(without, "UTC"))


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
