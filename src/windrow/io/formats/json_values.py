r"""JSON objects, one per message, as rows.

All values are parsed at once, with a newline between them. That each is one object, no more and no less,
follows from three facts, and is checked by them: each begins with { and ends with }; the whole parses;
there are as many objects as values.

    {"a": 1} \n {"a": 2} \n {"a": 3}
           ^----^      ^----^            } and { meet where two values do

Within an object a { never follows a } without a comma, and no string holds a newline as it is, so that
values meet between objects: each holds one object at least, hence exactly one.

Types are strict: a text is no number, 1.5 is no BIGINT, 1.239 is no DECIMAL(10,2) and 99999 no
DECIMAL(5,2). What is missing is NULL, and keys that are no columns are left out. NaN and Infinity as they
stand, without quotes, are values of DOUBLE and FLOAT.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from windrow.errors import BindError
from windrow.io.formats.decoded import Decoded, one_batch, parse_around_bad
from windrow.io.formats.iso_times import dates_of, instants_of, micros_of_nanos
from windrow.operators.columns.nested import leaves, type_with_parts, with_parts

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
                f"timestamps={timestamps!r} is not a way to write times",
                hint="timestamps='iso', or the unit of numbers: 's', 'ms', 'us' or 'ns'",
            )
        self.columns = columns
        self._unit = timestamps
        self._written = _all_written(columns, timestamps, _zoned_as_read)
        self._any_text = _all_written(columns, timestamps, _zoned_as_text)
        self._as_doubles = pa.schema(
            [own.with_type(_floats_as_doubles(own.type)) for own in self._any_text]
        )
        self._base64 = [n for n, field in enumerate(columns) if pa.types.is_binary(field.type)]

    def decode(self, values: Sequence[bytes]) -> Decoded:
        """The rows of objects."""
        tables, good, bad = parse_around_bad(self._parsed, values)
        return Decoded(one_batch(tables, self.columns), good, bad)

    def _parsed(self, values: Sequence[bytes]) -> pa.Table:
        text = _joined(values)
        try:
            table = _read(text, self._written)
        except pa.ArrowInvalid as error:
            # Arrow's reader of instants is fast, and knows neither nanoseconds nor long years.
            if "to timestamp" not in str(error) or self._any_text == self._written:
                raise
            table = _read(text, self._any_text)
        if table.num_rows != len(values):
            raise ValueError("it holds more than one JSON object")
        arrays = [column.combine_chunks() for column in table.columns]
        self._check(text, arrays)
        for column in self._base64:
            decoded = [
                None if own is None else base64.b64decode(own, validate=True)
                for own in arrays[column].to_pylist()
            ]
            arrays[column] = pa.array(decoded, pa.binary())
        fitted = [
            self._converted(own, field.type)
            for own, field in zip(arrays, self.columns, strict=True)
        ]
        return pa.Table.from_arrays(fitted, schema=self.columns)

    def _check(self, text: bytes, arrays: Sequence[pa.Array]) -> None:
        """Refuses numbers that Arrow has read as others: too long for a DECIMAL, too large for a FLOAT."""
        is_large = False
        for leaf in (own for array in arrays for own in leaves(array)):
            if pa.types.is_decimal(leaf.type):
                leaf.validate(full=True)
            elif leaf.type == pa.float32():
                is_large |= bool(pc.any(pc.is_inf(leaf)).as_py())
        if not is_large:
            return
        doubles = _read(text, self._as_doubles)
        exact = (leaf for own in doubles.columns for leaf in leaves(own.combine_chunks()))
        for leaf, own in zip(
            (leaf for array in arrays for leaf in leaves(array)), exact, strict=True
        ):
            if leaf.type == pa.float32() and not pc.is_inf(leaf).equals(pc.is_inf(own)):
                raise ValueError("a number is too large for FLOAT")

    def _converted(self, array: pa.Array, target: pa.DataType) -> pa.Array:
        """What is written as a text or a number as what it means."""
        if array.type == target:
            return array
        if pa.types.is_nested(target):
            return with_parts(array, target, self._converted)
        if pa.types.is_string(array.type):
            if pa.types.is_timestamp(target):
                return instants_of(array, target)
            if pa.types.is_date(target):
                return dates_of(array)
        if pa.types.is_timestamp(target) and self._unit == "ns":
            return micros_of_nanos(array).view(target)
        if pa.types.is_timestamp(target):
            array = array.view(pa.timestamp(self._unit, target.tz))
        return array.cast(target)  # the number of an INTERVAL is one of microseconds, too


def _read(text: bytes, columns: pa.Schema) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(text),
        # One block: where it is cut into several, a newline within an object would end it.
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=columns, unexpected_field_behavior="ignore"
        ),
    )


def _joined(values: Sequence[bytes]) -> bytes:
    """The values with newlines between, if each begins and ends as an object does."""
    text = b"\n".join(values)
    if not _look_like_objects(text, values):
        values = [own.strip(_BLANK) for own in values]
        text = b"\n".join(values)
        if not _look_like_objects(text, values):
            raise ValueError("it is not JSON object")
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


def _all_written(
    columns: pa.Schema, timestamps: str, zoned: Callable[[pa.DataType], pa.DataType]
) -> pa.Schema:
    return pa.schema([own.with_type(_written(own.type, timestamps, own, zoned)) for own in columns])


def _zoned_as_read(arrow: pa.DataType) -> pa.DataType:
    """Arrow's reader knows most instants, and would move those that have no zone to UTC."""
    return arrow if arrow.tz is not None else pa.string()


def _zoned_as_text(arrow: pa.DataType) -> pa.DataType:  # noqa: ARG001
    return pa.string()


def _written(
    arrow: pa.DataType,
    timestamps: str,
    field: pa.Field,
    zoned: Callable[[pa.DataType], pa.DataType],
) -> pa.DataType:
    """The type that values of a type are parsed as."""
    if pa.types.is_timestamp(arrow):
        return zoned(arrow) if timestamps == ISO else pa.int64()
    if pa.types.is_date(arrow):
        return pa.string() if timestamps == ISO else arrow
    if pa.types.is_time(arrow):
        return pa.string()
    if pa.types.is_duration(arrow):
        return pa.int64()
    if pa.types.is_struct(arrow) or pa.types.is_list(arrow):
        return type_with_parts(arrow, lambda own: _nested(own, timestamps, field, zoned))
    if pa.types.is_map(arrow):
        raise _no_json(field, "an object with any keys has no columns")
    return arrow


def _nested(
    arrow: pa.DataType,
    timestamps: str,
    field: pa.Field,
    zoned: Callable[[pa.DataType], pa.DataType],
) -> pa.DataType:
    if pa.types.is_binary(arrow):
        raise _no_json(field, "bytes inside of other values are not read")
    return _written(arrow, timestamps, field, zoned)


def _floats_as_doubles(arrow: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(arrow) or pa.types.is_list(arrow):
        return type_with_parts(arrow, _floats_as_doubles)
    return pa.float64() if arrow == pa.float32() else arrow


def _no_json(field: pa.Field, why: str) -> BindError:
    return BindError(
        "unsupported-type",
        f"the column {field.name!r} of the type {field.type} is not read from JSON",
        reason=why,
        hint="leave the column out, or give it as STRUCT with the keys that you need",
    )
