r"""Rows as the text that COPY takes, written by Arrow's kernels, whole columns at a time.

    columns      "pen", 3      each as an array of texts, NULL stays NULL
                 NULL, 4
    rows         pen \t 3 \n   joined, \N for NULL; all rows of a batch lie in one buffer,
                 \N \t 4 \n    which is sent as it is

Numbers are written with as many digits as bring them back exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import DataError
from windrow.operators.columns.nested import listed

BLOCK_ROWS = 16_384
"""Rows that are written at a time."""

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LAST_CONTROL = 13
_BACKSLASH = 92
_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), "S2")
_DAYS = (-719_162, 2_932_896)
"""The first day of the year 1 and the last one of 9999, counted from 1970: others have no text in ISO 8601."""

_DAY_US = 86_400_000_000


def copy_text(rows: pa.RecordBatch) -> Iterator[memoryview]:
    """The rows as text, in blocks.

    Raises:
        DataError: a value is none that PostgreSQL has.
    """
    for start in range(0, rows.num_rows, BLOCK_ROWS):
        block = rows.slice(start, BLOCK_ROWS)
        texts = [
            _escaped(_text(column, name))
            for name, column in zip(rows.schema.names, block.columns, strict=True)
        ]
        lines = pc.binary_join_element_wise(
            *texts, "\t", null_handling="replace", null_replacement="\\N"
        )
        yield one_text(pc.binary_join_element_wise(lines, "", "\n"))


def one_text(lines: pa.Array) -> memoryview:
    """All texts of an array, one behind the other."""
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int32, lines.offset + len(lines) + 1)
    return memoryview(data)[ends[lines.offset] : ends[-1]]


def _escaped(texts: pa.Array) -> pa.Array:
    """The texts with what COPY would read otherwise written as it asks."""
    if len(texts) == texts.null_count:
        return texts
    raw = np.frombuffer(texts.buffers()[2], np.uint8)
    if not ((raw == _BACKSLASH) | (raw <= _LAST_CONTROL)).any():
        return texts
    for character, escape in _ESCAPES.items():
        texts = pc.replace_substring(texts, character, escape)
    return texts


def _text(column: pa.Array, name: str) -> pa.Array:
    """The values as PostgreSQL reads them."""
    kind = column.type
    if pa.types.is_string(kind):
        _check_text(column, name)
        return column
    if pa.types.is_binary(kind):
        return _hex(column)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        _check_time(column, name)
    if pa.types.is_duration(kind):
        micros = column.view(pa.int64()).cast(pa.string())
        return pc.binary_join_element_wise(micros, "microseconds", " ")
    if pa.types.is_list(kind):
        return _array(column, name)
    return column.cast(pa.string())


def _array(column: pa.Array, name: str) -> pa.Array:
    """Lists as PostgreSQL writes arrays: {1,NULL,2}."""
    kind = column.type.value_type
    texts = _text(column.flatten(), name)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        for character in ("\\", '"'):
            texts = pc.replace_substring(texts, character, "\\" + character)
    texts = pc.binary_join_element_wise('"', texts, '"', "")
    texts = pc.fill_null(texts, "NULL")
    joined = pc.binary_join(listed(column, texts, pa.list_(pa.string())), ",")
    return pc.binary_join_element_wise("{", joined, "}", "")


def _hex(column: pa.Array) -> pa.Array:
    r"""Bytes as \x0aff."""
    column = pa.concat_arrays([column])  # of which the buffers begin where it does
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32, column.offset + len(column) + 1)[column.offset :]
    raw = (
        np.frombuffer(data, np.uint8)[ends[0] : ends[-1]] if data is not None else np.zeros(0, int)
    )
    digits = pa.py_buffer(_HEX[raw].tobytes())
    at = pa.py_buffer(((ends - ends[0]) * 2).astype(np.int64).tobytes())
    made = pa.Array.from_buffers(pa.large_string(), len(column), [None, at, digits])
    texts = pc.binary_join_element_wise("\\x", made.cast(pa.string()), "")
    return pc.if_else(column.is_null(), pa.scalar(None, pa.string()), texts)


def _check_text(column: pa.Array, name: str) -> None:
    if len(column) == column.null_count:
        return
    if (np.frombuffer(column.buffers()[2], np.uint8) == 0).any() and pc.any(
        pc.match_substring(column, "\0")
    ).as_py():
        raise DataError(
            "postgres-value",
            f"a text of the column {name!r} has a NUL character in it",
            reason="PostgreSQL texts cannot hold one",
            hint=f"take it out in the query: replace({name}, char(0), '')",
        )


def _check_time(column: pa.Array, name: str) -> None:
    if len(column) == column.null_count:
        return
    is_date = pa.types.is_date(column.type)
    counts = column.view(pa.int32() if is_date else pa.int64())
    per_day = 1 if is_date else _DAY_US
    least, most = pc.min(counts).as_py(), pc.max(counts).as_py()
    if least < _DAYS[0] * per_day or most >= (_DAYS[1] + 1) * per_day:
        raise DataError(
            "postgres-value",
            f"a time of the column {name!r} is not within the years 1 to 9999",
            reason="other times would not read back unchanged",
            hint="filter such rows in the query",
        )
