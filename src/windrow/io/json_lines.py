"""Rows as lines of JSON, an object each, and back: what JSON has no values of is text, within others too.

They are written by DuckDB, and read by Arrow.

DECIMAL              "1.10"                               a number would lose digits in most readers
TIMESTAMP            "2026-01-01 00:00:00.000007+00:00"   without a zone, for one without
DATE                 "2026-01-01"
MAP                  [{"key": "a", "value": 1}]           its keys are of any type
NULL                 null
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import BindError
from windrow.io.data_files import conformed
from windrow.operators.columns.nested import type_with_parts, with_parts


def check_columns(format_: str, schema: pa.Schema) -> None:
    """Refuses columns that a text format cannot hold.

    Raises:
        BindError: there is one.
    """
    for column in schema:
        if not _fits(format_, column.type):
            raise BindError(
                "sink-type",
                f"{format_} has no place for the column {column.name!r}, which is {column.type}",
                hint='write  format = "parquet", or cast the column to STRING',
            )


def _fits(format_: str, arrow: pa.DataType) -> bool:
    if format_ == "parquet":
        return True
    if pa.types.is_binary(arrow) or pa.types.is_duration(arrow):
        return False
    if format_ == "csv":
        return not pa.types.is_nested(arrow)
    return all(_fits(format_, arrow.field(n).type) for n in range(arrow.num_fields))


def json_lines(table: pa.Table) -> bytes:
    """The rows, a line each."""
    if not table.num_rows:
        return b""
    import duckdb

    columns = [_plain(column.combine_chunks()) for column in table.columns]
    named = [f"c{n}" for n in range(len(columns))]
    rows = pa.Table.from_arrays(columns, named)
    fields = ", ".join(
        "'{}': {}".format(name.replace("'", "''"), own)
        for name, own in zip(table.column_names, named, strict=True)
    )
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        lines = connection.sql(f"SELECT to_json({{{fields}}})::VARCHAR AS line FROM rows")
        found = lines.to_arrow_table()["line"].combine_chunks()
    if isinstance(found, pa.ChunkedArray):
        found = pa.concat_arrays(found.chunks)
    joined = pc.binary_join(
        pa.ListArray.from_arrays([0, len(found)], found.cast(pa.string())), "\n"
    )
    text: bytes = joined[0].as_buffer().to_pybytes()
    return text + b"\n"


def plain_type(arrow: pa.DataType) -> pa.DataType:
    """The type that values of a type are parsed as, before `typed` makes them what they are."""
    if pa.types.is_temporal(arrow):
        return pa.string()
    return type_with_parts(arrow, plain_type) if pa.types.is_nested(arrow) else arrow


def typed(column: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Values that were parsed, in the type that they are of.

    Raises:
        ValueError: one is none.
    """
    if not pa.types.is_nested(arrow) or column.type == arrow:
        return conformed(column, arrow)
    if pa.types.is_map(arrow) and column.flatten().flatten()[0].null_count:
        raise ValueError('a map is written [{"key": .., "value": ..}], and none is without a key')
    return with_parts(column, arrow, typed)


def _plain(column: pa.Array) -> pa.Array:
    """Values of types that JSON has."""
    arrow = column.type
    if pa.types.is_timestamp(arrow):
        text = column.cast(pa.timestamp("us", arrow.tz)).cast(pa.string())
        text = pc.replace_substring(text, ".000000", "")
        return pc.replace_substring_regex(text, "Z$", "+00:00")
    if pa.types.is_decimal(arrow) or pa.types.is_date(arrow) or pa.types.is_time(arrow):
        return column.cast(pa.string())
    if pa.types.is_nested(arrow):
        return with_parts(column, _written_type(arrow), lambda own, _: _plain(own))
    return column


def _written_type(arrow: pa.DataType) -> pa.DataType:
    """The type of values that `_plain` gives."""
    if pa.types.is_nested(arrow):
        return type_with_parts(arrow, _written_type)
    is_text = pa.types.is_temporal(arrow) or pa.types.is_decimal(arrow)
    return pa.string() if is_text and not pa.types.is_duration(arrow) else arrow
