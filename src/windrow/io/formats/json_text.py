"""Columns as JSON texts, exactly: decimals with all their digits, times as ISO 8601 in UTC.

Texts are made column by column and joined, so that no value is touched by Python. What JSON has no word
for: an infinite DOUBLE and NaN are texts ("Infinity", "-Infinity", "NaN"), bytes are base64, an
INTERVAL is a number of microseconds.
"""

from __future__ import annotations

import base64
import json

import pyarrow as pa
import pyarrow.compute as pc

from windrow.io.formats.iso_times import date_texts, instant_texts
from windrow.operators.columns.nested import as_list, listed

_NULL = "null"
_ESCAPED = {"\\": "\\\\", '"': '\\"', **{chr(n): json.dumps(chr(n))[1:-1] for n in range(32)}}
_NEEDS_ESCAPE = r'["\\\x00-\x1f]'


def object_texts(rows: pa.RecordBatch | pa.StructArray) -> pa.Array:
    r"""A JSON object per row.

    Examples:
        >>> object_texts(pa.record_batch({"k": [1, None], "s": ["x", 'q"']})).to_pylist()
        ['{"k":1,"s":"x"}', '{"k":null,"s":"q\\""}']
    """
    if isinstance(rows, pa.StructArray):
        names, columns = [own.name for own in rows.type], rows.flatten()
    else:
        names, columns = rows.schema.names, rows.columns
    if not names:
        return pa.array(["{}"] * len(rows), pa.string())
    parts: list[pa.Array | str] = []
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        parts += [f"{',' if number else '{'}{json.dumps(name)}:", json_texts(column)]
    return pc.binary_join_element_wise(*parts, "}", "")


def json_texts(column: pa.Array) -> pa.Array:
    """The values of a column as JSON, `null` among them."""
    texts = _texts(column)
    return pc.fill_null(texts, _NULL) if texts.null_count else texts


def quoted(texts: pa.Array) -> pa.Array:
    """Texts as JSON strings; NULL stays NULL."""
    if pc.any(pc.match_substring_regex(texts, _NEEDS_ESCAPE)).as_py():
        for character, escaped in _ESCAPED.items():  # the backslash comes first
            texts = pc.replace_substring(texts, character, escaped)
    return _in_quotes(texts)


def _in_quotes(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _texts(column: pa.Array) -> pa.Array:  # noqa: PLR0911  # one for each kind
    kind = column.type
    if pa.types.is_string(kind):
        return quoted(column)
    if pa.types.is_floating(kind):
        return _floats(column)
    if pa.types.is_timestamp(kind):
        return _instants(column)
    if pa.types.is_duration(kind):
        return column.cast(pa.int64()).cast(pa.string())
    if pa.types.is_date(kind):
        return _in_quotes(date_texts(column))
    if pa.types.is_time(kind):
        return _in_quotes(column.cast(pa.string()))
    if pa.types.is_binary(kind):
        return _bytes(column)
    if pa.types.is_struct(kind):
        return _where_valid(column, object_texts(column))
    if pa.types.is_map(kind):
        return _maps(column)
    if pa.types.is_list(kind):
        return _lists(column, json_texts(column.flatten()), "[", "]")
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.string())
    return column.cast(pa.string())


def _floats(column: pa.Array) -> pa.Array:
    texts = column.cast(pa.string())
    is_finite = pc.is_finite(column)
    if not pc.all(is_finite, min_count=0).as_py():
        words = pc.if_else(
            pc.is_nan(column), "NaN", pc.if_else(pc.greater(column, 0), "Infinity", "-Infinity")
        )
        texts = pc.if_else(is_finite, texts, quoted(words))
    return texts


def _instants(column: pa.Array) -> pa.Array:
    zone = "" if column.type.tz is None else "Z"
    return pc.binary_join_element_wise('"', instant_texts(column), f'{zone}"', "")


def _bytes(column: pa.Array) -> pa.Array:
    encoded = [
        None if own is None else base64.b64encode(own).decode() for own in column.to_pylist()
    ]
    return quoted(pa.array(encoded, pa.string()))


def _maps(column: pa.Array) -> pa.Array:
    kind = column.type
    entries = column.cast(as_list(kind))
    keys, values = entries.flatten().flatten()
    names = keys if pa.types.is_string(kind.key_type) else keys.cast(pa.string())
    pairs = pc.binary_join_element_wise(quoted(names), json_texts(values), ":")
    return _lists(entries, pairs, "{", "}")


def _lists(column: pa.Array, texts: pa.Array, opens: str, closes: str) -> pa.Array:
    joined = pc.binary_join(listed(column, texts, pa.list_(pa.string())), ",")
    return pc.binary_join_element_wise(opens, joined, closes, "")


def _where_valid(column: pa.Array, texts: pa.Array) -> pa.Array:
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, pa.string()))
