"""Rows as lines of JSON, an object each: written by DuckDB, after what it would not keep was made text.

DECIMAL              "1.10"                               a number would lose digits in most readers
TIMESTAMP            "2026-01-01 00:00:00.000007+00:00"   without a zone, for one without
DATE                 "2026-01-01"
map                  [{"key": "a", "value": 1}]           as Arrow reads it
NULL                 null
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import BindError


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
        return _plain_parts(column)
    return column


def _plain_parts(column: pa.Array) -> pa.Array:
    if column.offset:  # arrays are made anew from parts that begin at their beginning
        column = pa.concat_arrays([column, column.slice(0, 0)])
    arrow, is_null = column.type, column.is_null()
    if pa.types.is_struct(arrow):
        fields = [arrow.field(n) for n in range(arrow.num_fields)]
        parts = [_plain(column.field(n)) for n in range(arrow.num_fields)]
        return pa.StructArray.from_arrays(parts, [own.name for own in fields], mask=is_null)
    if pa.types.is_map(arrow):
        pairs = pa.StructArray.from_arrays([column.keys, column.items], ["key", "value"])
        return pa.ListArray.from_arrays(column.offsets, _plain(pairs), mask=is_null)
    return pa.ListArray.from_arrays(column.offsets, _plain(column.values), mask=is_null)
