"""Values of Avro's types as columns: exact, or refused.

What types have in common is decided with the schema: a BIGINT is read from an int or a long, never from a
double. What values have in common is checked as they come: a long that a SMALLINT cannot hold is refused.
Values come as they were written, without their logical types, and get their meaning column by column.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import BindError
from windrow.io.formats.avro_schema import AvroType
from windrow.io.formats.iso_times import micros_of_nanos
from windrow.operators.columns.arrow_types import spark_type
from windrow.operators.columns.nested import listed, with_parts

Convert = Callable[[pa.Array], pa.Array]

_WRITTEN = {
    "null": pa.null(), "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "bytes": pa.binary(), "fixed": pa.binary(),
    "string": pa.string(), "enum": pa.string(),
}  # fmt: skip
_PYTHON = {
    "boolean": bool, "int": int, "long": int, "float": float, "double": float, "bytes": bytes,
    "fixed": bytes, "string": str, "enum": str, "array": list, "map": dict, "record": dict,
}  # fmt: skip
_NUMBERS = ("int", "long", "float", "double")
_MOST_DIGITS, _MOST_DIGITS_READ = 38, 76
_DAY_NS = 86_400_000_000_000


class Misfit(ValueError):
    """A column cannot have values of a type."""


@dataclass(frozen=True)
class ColumnReading:
    """How values become a column.

    Attributes:
        written: what they are at first.
        convert: makes the column of these.
        classes: of a union, those of its types that are read; others are refused. Empty: any.
    """

    written: pa.DataType
    convert: Convert
    classes: tuple[type, ...] = ()

    def column(self, values: Sequence[Any]) -> pa.Array:
        """Values as a column.

        Raises:
            ValueError: one is none of it.
        """
        if self.classes:
            for value in values:
                if value is not None and type(value) not in self.classes:
                    raise ValueError("it is of a type, in the union, that the column does not have")
        try:
            return self.convert(pa.array(values, self.written))
        except (TypeError, OverflowError, pa.ArrowTypeError) as error:
            raise ValueError(str(error)) from error


def columns_of(kind: AvroType) -> pa.Schema:
    """The columns of a record.

    Raises:
        BindError: a field has no column type.
    """
    found = []
    for name, part in zip(kind.fields, kind.parts, strict=True):
        try:
            found.append((name, _natural(part)))
        except Misfit as error:
            raise BindError(
                "unsupported-type",
                f"the field {name!r} of the Avro type {error} has no column type",
                hint="name the columns that you need with schema='..'",
            ) from error
    return pa.schema(found)


def readings_of(kind: AvroType, columns: pa.Schema) -> dict[str, ColumnReading]:
    """How the columns are read from records that have them.

    Raises:
        BindError: a column cannot have the values of its field.
    """
    found = {}
    for name, part in zip(kind.fields, kind.parts, strict=True):
        if name not in columns.names:
            continue
        wanted = columns.field(name).type
        try:
            found[name] = _union(part, wanted) or _reading(part, wanted)
        except Misfit as error:
            shown = spark_type(wanted, name).upper()
            raise BindError(
                "unsupported-type",
                f"the column {name!r} of the type {shown} is not read from Avro's {error}",
                hint=_hint(name, part),
            ) from error
    return found


def _hint(name: str, part: AvroType) -> str:
    try:
        return f"in schema='..' write {name} {spark_type(_natural(part), name).upper()}, or leave it out"
    except (Misfit, BindError):
        return "leave the column out"


def _one_of(kind: AvroType) -> AvroType:
    """The type beside null, of a union with one."""
    if kind.name != "union":
        return kind
    others = [own for own in kind.parts if own.name != "null"]
    if len(others) > 1:
        raise Misfit(str(kind))
    return others[0] if others else AvroType("null")


def _natural(kind: AvroType) -> pa.DataType:  # noqa: PLR0911  # one for each kind
    """The column type that has all values of a type, and their meaning."""
    kind = _one_of(kind)
    if kind.logical == "decimal":
        if kind.precision > _MOST_DIGITS:
            raise Misfit(str(kind))
        return pa.decimal128(kind.precision, kind.scale)
    if kind.logical == "date":
        return pa.date32()
    if "timestamp" in kind.logical:
        return pa.timestamp("us", None if kind.logical.startswith("local") else "UTC")
    if kind.logical.startswith("time-"):
        return pa.time64("ns")
    if kind.logical == "uuid":
        return pa.string()
    if kind.name == "record":
        pairs = zip(kind.fields, kind.parts, strict=True)
        return pa.struct([(name, _natural(part)) for name, part in pairs])
    if kind.name == "array":
        return pa.list_(_natural(kind.parts[0]))
    if kind.name == "map":
        return pa.map_(pa.string(), _natural(kind.parts[0]))
    return _WRITTEN[kind.name]


def _union(kind: AvroType, wanted: pa.DataType) -> ColumnReading | None:
    """How a column is read from a union of several types: from those of them that fit."""
    others = [own for own in kind.parts if kind.name == "union" and own.name != "null"]
    if len(others) < 2:
        return None
    fits = [own for own in others if _fits(own, wanted)]
    classes = {_PYTHON[own.name] for own in fits}
    left = {_PYTHON[own.name] for own in others if own not in fits}
    is_alike = all(own.name in {"string", "enum"} and not own.logical for own in fits)
    if all(own.name in _NUMBERS and not own.logical for own in fits):
        fits.sort(key=lambda own: _NUMBERS.index(own.name))
        is_alike = True
    if not fits or classes & left or not (is_alike or len(fits) == 1):
        raise Misfit(str(kind))
    widest = AvroType("double") if fits[-1].name == "float" and len(fits) > 1 else fits[-1]
    own = _reading(widest, wanted)
    return ColumnReading(own.written, own.convert, tuple(classes))


def _fits(kind: AvroType, wanted: pa.DataType) -> bool:
    try:
        _reading(kind, wanted)
    except Misfit:
        return False
    return True


def _reading(kind: AvroType, wanted: pa.DataType) -> ColumnReading:
    kind = _one_of(kind)
    if kind.name == "null":
        return ColumnReading(pa.null(), lambda own: pa.nulls(len(own), wanted))
    if kind.name == "record" and pa.types.is_struct(wanted):
        return _struct(kind, wanted)
    if kind.name == "array" and pa.types.is_list(wanted):
        part = _reading(kind.parts[0], wanted.value_type)
        return ColumnReading(
            pa.list_(part.written), lambda own: listed(own, part.convert(own.flatten()), wanted)
        )
    if kind.name == "map" and pa.types.is_map(wanted) and wanted.key_type == pa.string():
        return _map(_reading(kind.parts[0], wanted.item_type), wanted)
    convert = _logical(kind, wanted) if kind.logical else _plain(kind.name, wanted)
    if convert is None:
        raise Misfit(str(kind))
    return ColumnReading(_WRITTEN[kind.name], convert)


def _struct(kind: AvroType, wanted: pa.DataType) -> ColumnReading:
    fields = [wanted.field(n) for n in range(wanted.num_fields)]
    kinds = dict(zip(kind.fields, kind.parts, strict=True))
    parts = {own.name: _reading(kinds[own.name], own.type) for own in fields if own.name in kinds}

    def convert(array: pa.Array) -> pa.Array:
        made = [
            parts[own.name].convert(array.field(own.name))
            if own.name in parts
            else pa.nulls(len(array), own.type)
            for own in fields
        ]
        return pa.StructArray.from_arrays(made, fields=fields, mask=array.is_null())

    return ColumnReading(pa.struct([(name, own.written) for name, own in parts.items()]), convert)


def _map(part: ColumnReading, wanted: pa.DataType) -> ColumnReading:
    def convert(array: pa.Array) -> pa.Array:
        return with_parts(array, wanted, entries)

    def entries(array: pa.Array, kind: pa.DataType) -> pa.Array:
        keys, items = array.flatten()
        return pa.StructArray.from_arrays([keys, part.convert(items)], fields=list(kind))

    return ColumnReading(pa.map_(pa.string(), part.written), convert)


def _plain(name: str, wanted: pa.DataType) -> Convert | None:
    """How values without a logical type become others; None where they never do."""
    if _WRITTEN.get(name) == wanted:
        return lambda own: own
    types = pa.types
    if name in {"int", "long"}:
        if types.is_integer(wanted) or types.is_floating(wanted):
            return lambda own: own.cast(wanted)
        if types.is_decimal(wanted):
            return lambda own: own.cast(pa.decimal256(_MOST_DIGITS_READ, 0)).cast(wanted)
    if name in {"float", "double"} and types.is_floating(wanted):
        return lambda own: _floats(own, wanted)
    is_text = types.is_string(wanted) or types.is_binary(wanted)
    if name in {"bytes", "fixed", "string", "enum"} and is_text:
        return lambda own: own.cast(wanted)
    return None


def _floats(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    found = array.cast(wanted)
    if not pc.is_inf(found).equals(pc.is_inf(array)):
        raise ValueError("a number is too large for FLOAT")
    return found


def _logical(kind: AvroType, wanted: pa.DataType) -> Convert | None:  # noqa: PLR0911
    """How values with a meaning become a column with it; None where there is none."""
    logical, types = kind.logical, pa.types
    if logical == "decimal" and kind.precision <= _MOST_DIGITS_READ and types.is_decimal(wanted):
        return lambda own: _decimals(own, kind).cast(wanted)
    if logical == "date" and types.is_date(wanted):
        return lambda own: own.view(wanted)
    if "timestamp" in logical and types.is_timestamp(wanted):
        if logical.endswith("nanos"):
            return lambda own: micros_of_nanos(own).view(wanted)
        unit = "ms" if logical.endswith("millis") else "us"
        return lambda own: own.view(pa.timestamp(unit, wanted.tz)).cast(wanted)
    if logical.startswith("time-") and types.is_time(wanted):
        return lambda own: _times_of_day(own, 1_000_000 if logical == "time-millis" else 1_000)
    if logical == "uuid":
        if kind.name == "string":
            return _plain("string", wanted)
        return _uuids if types.is_string(wanted) else _plain("fixed", wanted)
    return None


def _decimals(array: pa.Array, kind: AvroType) -> pa.Array:
    """Numbers of any length, as bytes with the first one first; a digit too many is refused."""
    exact = [
        None if own is None else Decimal(f"{int.from_bytes(own, signed=True)}e-{kind.scale}")
        for own in array.to_pylist()
    ]
    made = pa.decimal128 if kind.precision <= _MOST_DIGITS else pa.decimal256
    return pa.array(exact, made(kind.precision, kind.scale))


def _times_of_day(array: pa.Array, unit_ns: int) -> pa.Array:
    nanos = pc.multiply_checked(array.cast(pa.int64()), unit_ns)
    is_of_day = pc.and_(pc.greater_equal(nanos, 0), pc.less(nanos, _DAY_NS))
    if not pc.all(is_of_day, min_count=0).as_py():
        raise ValueError("a time is not within a day")
    return nanos.view(pa.time64("ns"))


def _uuids(array: pa.Array) -> pa.Array:
    texts = [None if own is None else str(uuid.UUID(bytes=own)) for own in array.to_pylist()]
    return pa.array(texts, pa.string())
