r"""JSON objects, one per message, as rows.

All values are parsed at once, with a newline between them. That each is one object, no more and no less,
follows from three facts, and is checked by them: each begins with { and ends with }; the whole parses;
there are as many objects as values.

    {"a": 1} \n {"a": 2} \n {"a": 3}
           ^----^      ^----^            } and { meet where two values do

Within an object a { never follows a } without a comma, and no string holds a newline as it is, so that
values meet between objects: each holds one object at least, hence exactly one.

Types are strict: a text is no number, 1.5 is no BIGINT, and 1.239 is no DECIMAL(10,2). What is missing is
NULL, and keys that are no columns are left out.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.json

from windrow.errors import BindError
from windrow.io.formats.decoded import Decoded, one_batch, parse_around_bad

ISO = "iso"
UNITS = ("s", "ms", "us", "ns")

_BLANK = b" \t\r\n"


class JsonValues:
    """Makes rows of JSON objects.

    Args:
        columns: the columns, of canonical types.
        timestamps: how TIMESTAMPs are written: "iso", or as a number of "s", "ms", "us" or "ns" since 1970;
            DATEs are then numbers of days.

    Examples:
        >>> found = JsonValues(pa.schema([("k", pa.int64())])).decode([b'{"k": 1}', b"{", b"{}"])
        >>> found.rows.to_pylist(), found.bad
        ([{'k': 1}, {'k': None}], [(1, 'it is no JSON object')])
    """

    def __init__(self, columns: pa.Schema, timestamps: str = ISO) -> None:
        if timestamps not in {ISO, *UNITS}:
            raise BindError(
                "bad-timestamps",
                f"timestamps={timestamps!r} says nothing about how times are written",
                hint="timestamps='iso', or the unit of numbers: 's', 'ms', 'us' or 'ns'",
            )
        self.columns = columns
        written = [field.with_type(_written(field.type, timestamps, field)) for field in columns]
        self._written = pa.schema(written)
        self._between = pa.schema(
            [
                field.with_type(columns.field(n).type)
                if pa.types.is_binary(columns.field(n).type)
                else field.with_type(_numbered(field.type, columns.field(n).type, timestamps))
                for n, field in enumerate(written)
            ]
        )
        self._base64 = [n for n, field in enumerate(columns) if pa.types.is_binary(field.type)]
        self._is_as_written = self._written == columns and not self._base64

    def decode(self, values: Sequence[bytes]) -> Decoded:
        """The rows of objects."""
        tables, good, bad = parse_around_bad(self._parsed, values)
        return Decoded(one_batch(tables, self.columns), good, bad)

    def _parsed(self, values: Sequence[bytes]) -> pa.Table:
        text = _joined(values)
        table = pyarrow.json.read_json(
            pa.BufferReader(text),
            # One block: where it is cut into several, a newline within an object would end it.
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=self._written, unexpected_field_behavior="ignore"
            ),
        )
        if table.num_rows != len(values):
            raise ValueError("it holds more than one JSON object")
        if self._is_as_written:
            return table
        for column in self._base64:
            decoded = [
                None if own is None else base64.b64decode(own, validate=True)
                for own in table.column(column).to_pylist()
            ]
            found = pa.array(decoded, pa.binary())
            table = table.set_column(column, self.columns.field(column), found)
        return table.cast(self._between).cast(self.columns)


def _joined(values: Sequence[bytes]) -> bytes:
    """The values with newlines between, if each begins and ends as an object does."""
    text = b"\n".join(values)
    if not _look_like_objects(text, values):
        values = [own.strip(_BLANK) for own in values]
        text = b"\n".join(values)
        if not _look_like_objects(text, values):
            raise ValueError("it is no JSON object")
    if not text.isascii():
        text.decode()  # the parser does not look whether it is UTF-8
    return text


def _look_like_objects(text: bytes, values: Sequence[bytes]) -> bool:
    lengths = np.fromiter(map(len, values), np.int64, len(values))
    if not lengths.all():
        return False
    ends = np.cumsum(lengths + 1) - 1
    characters = np.frombuffer(text, np.uint8)
    begins, closes = characters[ends - lengths] == ord("{"), characters[ends - 1] == ord("}")
    return bool(begins.all() and closes.all())


def _written(arrow: pa.DataType, timestamps: str, field: pa.Field) -> pa.DataType:
    """The type that values of a type are parsed as."""
    if pa.types.is_timestamp(arrow):
        return arrow if timestamps == ISO else pa.int64()
    if pa.types.is_date(arrow):
        return pa.string() if timestamps == ISO else arrow
    if pa.types.is_time(arrow):
        return pa.string()
    if pa.types.is_struct(arrow):
        parts = [arrow.field(n) for n in range(arrow.num_fields)]
        return pa.struct([own.with_type(_nested(own.type, timestamps, field)) for own in parts])
    if pa.types.is_list(arrow):
        return pa.list_(arrow.value_field.with_type(_nested(arrow.value_type, timestamps, field)))
    if pa.types.is_map(arrow):
        raise _no_json(field, "an object with any keys has no columns")
    return arrow


def _nested(arrow: pa.DataType, timestamps: str, field: pa.Field) -> pa.DataType:
    if pa.types.is_binary(arrow):
        raise _no_json(field, "bytes inside of other values are not read")
    return _written(arrow, timestamps, field)


def _numbered(written: pa.DataType, arrow: pa.DataType, timestamps: str) -> pa.DataType:
    """The type between what is parsed and what is wanted: numbers as instants of their unit."""
    if pa.types.is_timestamp(arrow):
        return arrow if timestamps == ISO else pa.timestamp(timestamps, arrow.tz)
    if pa.types.is_struct(arrow):
        return pa.struct(
            [
                own.with_type(_numbered(written.field(n).type, own.type, timestamps))
                for n, own in enumerate(arrow.field(i) for i in range(arrow.num_fields))
            ]
        )
    if pa.types.is_list(arrow):
        inner = _numbered(written.value_type, arrow.value_type, timestamps)
        return pa.list_(arrow.value_field.with_type(inner))
    return written


def _no_json(field: pa.Field, why: str) -> BindError:
    return BindError(
        "unsupported-type",
        f"the column {field.name!r} of the type {field.type} is not read from JSON",
        reason=why,
        hint="leave the column out, or give it as STRUCT with the keys that you need",
    )
