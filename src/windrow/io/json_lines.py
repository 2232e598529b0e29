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
    if pa.types.is_struct(arrow):
        fields = [arrow.field(n) for n in range(arrow.num_fields)]
        return pa.struct([own.with_type(plain_type(own.type)) for own in fields])
    if pa.types.is_map(arrow):
        key, value = plain_type(arrow.key_type), plain_type(arrow.item_type)
        return pa.list_(pa.struct([("key", key), ("value", value)]))
    if pa.types.is_list(arrow):
        return pa.list_(arrow.value_field.with_type(plain_type(arrow.value_type)))
    return arrow


def typed(column: pa.Array, arrow: pa.DataType) -> pa.Array:
    """Values that were parsed, in the type that they are of.

    Raises:
        ValueError: one is none.
    """
    if not pa.types.is_nested(arrow) or column.type == arrow:
        return conformed(column, arrow)
    column, is_null = _from_beginning(column), column.is_null()
    if pa.types.is_struct(arrow):
        fields = [arrow.field(n) for n in range(arrow.num_fields)]
        parts = [typed(column.field(n), own.type) for n, own in enumerate(fields)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=is_null)
    if pa.types.is_map(arrow):
        keys, items = column.values.flatten()
        if keys.null_count:
            raise ValueError(
                'a map is written [{"key": .., "value": ..}], and none is without a key'
            )
        keys, items = typed(keys, arrow.key_type), typed(items, arrow.item_type)
        return pa.MapArray.from_arrays(column.offsets, keys, items, type=arrow, mask=is_null)
    values = typed(column.values, arrow.value_type)
    return pa.ListArray.from_arrays(column.offsets, values, type=arrow, mask=is_null)


def _from_beginning(column: pa.Array) -> pa.Array:
    """An array whose parts begin where they begin, for others to be made of."""
    return pa.concat_arrays([column, column.slice(0, 0)]) if column.offset else column


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
    column = _from_beginning(column)
    arrow, is_null = column.type, column.is_null()
    if pa.types.is_struct(arrow):
        fields = [arrow.field(n) for n in range(arrow.num_fields)]
        parts = [_plain(column.field(n)) for n in range(arrow.num_fields)]
        return pa.StructArray.from_arrays(parts, [own.name for own in fields], mask=is_null)
    if pa.types.is_map(arrow):
        pairs = pa.StructArray.from_arrays([column.keys, column.items], ["key", "value"])
        return pa.ListArray.from_arrays(column.offsets, _plain(pairs), mask=is_null)
    return pa.ListArray.from_arrays(column.offsets, _plain(column.values), mask=is_null)
