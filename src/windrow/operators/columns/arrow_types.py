"""Arrow types and Spark types: each way, users' data brought to the few we use, instants to ticks.

Spark types are texts (`decimal(10,2)`, `array<int>`). Every Spark type has one Arrow type here, the
canonical one; operators see no other. Data that comes in wider or narrower forms of the same values
(large strings, dictionaries, unsigned integers, other units of time) is converted as it is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import BindError, DataError
from windrow.operators.columns.nested import with_parts
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

Part = TypeVar("Part")

INTERVAL = "interval day to second"

_SIMPLE = {
    "void": pa.null(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    INTERVAL: pa.duration("us"),
}
VALUE_TYPES = (
    *(name for name in _SIMPLE if name != "void"),
    "decimal(p,s)", "array<..>", "map<..,..>", "struct<name:..>",
)  # fmt: skip
"""The types that a value may have, as people write them."""

_SYNONYMS = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "timestamp_ltz": "timestamp",
}
_SPARK_OF = {arrow: spark for spark, arrow in _SIMPLE.items()}
_WIDENED = {
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.uint64(): "decimal(20,0)",
    pa.float16(): "float",
    pa.date64(): "date",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.month_day_nano_interval(): INTERVAL,
}
_MONTH_DAY_NANO = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])
DTYPES = {
    kind.id: np.dtype(name)
    for kind, name in (
        (pa.int8(), "<i1"),
        (pa.int16(), "<i2"),
        (pa.int32(), "<i4"),
        (pa.int64(), "<i8"),
        (pa.float32(), "<f4"),
        (pa.float64(), "<f8"),
        (pa.date32(), "<i4"),
        (pa.timestamp("us"), "<i8"),
        (pa.duration("us"), "<i8"),
        (pa.time64("ns"), "<i8"),
    )
}
"""What values of canonical types are made of that are one number each, by the ids of the types."""
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|[A-Za-z_0-9]+|[<>(),:])")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


@lru_cache(maxsize=1024)
def arrow_type(spark: str) -> pa.DataType:
    """The canonical Arrow type of a Spark type.

    Raises:
        BindError: the text is no type that Windrow knows.

    Examples:
        >>> arrow_type("decimal(10,2)")
        Decimal128Type(decimal128(10, 2))
    """
    return _TypeReader(spark).read()


def spark_type(arrow: pa.DataType, column: str = "") -> str:
    """The Spark type that holds every value of an Arrow type.

    `column` is the one that has it, for the message.

    Raises:
        BindError: no Spark type holds it.

    Examples:
        >>> spark_type(pa.uint64())
        'decimal(20,0)'
    """
    for known in (_SPARK_OF, _WIDENED):
        if arrow in known:
            return known[arrow]
    for applies, name_of in _FAMILIES:
        if applies(arrow):
            return name_of(arrow, column)
    raise BindError(
        "unsupported-type",
        f"the column {column!r} has the Arrow type {arrow}, which has no counterpart in Spark",
        hint="cast it, or leave the column out",
    )


def spark_schema(schema: pa.Schema) -> Schema:
    """Names and Spark types of the columns of an Arrow schema."""
    return Schema(tuple(Field(field.name, spark_type(field.type, field.name)) for field in schema))


@lru_cache(maxsize=1024)
def arrow_schema(schema: Schema) -> pa.Schema:
    """The canonical Arrow schema of columns with Spark types."""
    return pa.schema([pa.field(field.name, arrow_type(field.type)) for field in schema.fields])


def conform(array: pa.Array, target: pa.DataType, column: str) -> pa.Array:
    """The array in its canonical type.

    The values are of any type that `spark_type` maps to the target's Spark type.

    Raises:
        DataError: a value does not fit, such as a nanosecond that is no whole microsecond.
        BindError: Arrow cannot convert values of such a type.
    """
    try:
        return _conformed(array, target)
    except pa.ArrowNotImplementedError as error:
        raise BindError(
            "unsupported-type",
            f"the column {column!r} has the Arrow type {array.type}, which cannot be converted",
            reason=str(error).partition("\n")[0],
            hint="cast it, or leave the column out",
        ) from error
    except pa.ArrowInvalid as error:
        raise DataError(
            "value-does-not-fit",
            f"a value of the column {column!r} does not fit {spark_type(target)}",
            reason=str(error),
            hint="round or cast the column before you register it"
            if pa.types.is_temporal(target)
            else "cast the column before you register it",
        ) from error


def conform_rows(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rows with the columns of a schema, by their names, in its types.

    Raises:
        DataError: a value does not fit.
    """
    arrays = [conform(rows.column(own.name), own.type, own.name) for own in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _conformed(array: pa.Array, target: pa.DataType) -> pa.Array:
    if array.type == target:
        return array
    if isinstance(array, pa.ExtensionArray):
        return _conformed(array.storage, target)
    if pa.types.is_dictionary(array.type):
        values = _conformed(array.dictionary, target)
        return pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode()
    if array.type == pa.month_day_nano_interval():
        return _durations(array)
    if _casts_as_a_whole(array.type):
        return array.cast(target)
    return with_parts(array, target, _conformed)


def _casts_as_a_whole(arrow: pa.DataType) -> bool:
    """Whether Arrow casts values of a type with all that is in them, and does it right.

    Its cast of list views gives arrays that are not valid.
    """
    if pa.types.is_list_view(arrow) or pa.types.is_large_list_view(arrow):
        return False
    if pa.types.is_dictionary(arrow) or arrow == pa.month_day_nano_interval():
        return False
    if isinstance(arrow, pa.BaseExtensionType):
        return False
    return all(_casts_as_a_whole(arrow.field(i).type) for i in range(arrow.num_fields))


def _durations(array: pa.Array) -> pa.Array:
    """Microseconds of intervals that DuckDB keeps as months, days and nanoseconds."""
    if not len(array):
        return pa.array([], pa.duration("us"))
    # A buffer may be longer than its values.
    parts = np.frombuffer(array.buffers()[1], _MONTH_DAY_NANO, count=array.offset + len(array))
    parts = parts[array.offset :]
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    if bool(np.any(parts["months"][~is_null])):
        raise pa.ArrowInvalid("an interval of months has no fixed length")
    micros = parts["days"].astype(np.int64) * 86_400_000_000 + parts["nanos"] // 1_000
    return pa.array(micros, mask=is_null).cast(pa.duration("us"))


def _decimal(arrow: pa.DataType, column: str) -> str:
    # Negative scales are whole numbers with more digits: decimal(3,-2) holds 99900.
    scale, precision = max(arrow.scale, 0), arrow.precision - min(arrow.scale, 0)
    if precision > 38:
        raise BindError(
            "unsupported-type",
            f"the column {column!r} has {precision} decimal digits; Spark holds 38",
            hint="cast it to a decimal of 38 digits or fewer",
        )
    return f"decimal({precision},{scale})"


def _map(arrow: pa.DataType, column: str) -> str:
    return f"map<{spark_type(arrow.key_type, column)},{spark_type(arrow.item_type, column)}>"


def _struct(arrow: pa.DataType, column: str) -> str:
    fields = [arrow.field(i) for i in range(arrow.num_fields)]
    shown = [f"{_quoted(f.name)}:{spark_type(f.type, f'{column}.{f.name}')}" for f in fields]
    return f"struct<{','.join(shown)}>"


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def _is_any_list(arrow: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(arrow)
        or pa.types.is_large_list(arrow)
        or pa.types.is_fixed_size_list(arrow)
        or pa.types.is_list_view(arrow)
        or pa.types.is_large_list_view(arrow)
    )


_FAMILIES: tuple[
    tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, str], str]],
    ...,
] = (
    (pa.types.is_timestamp, lambda arrow, _: "timestamp_ntz" if arrow.tz is None else "timestamp"),
    (pa.types.is_duration, lambda *_: INTERVAL),
    (pa.types.is_time, lambda *_: "time(6)"),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_fixed_size_binary, lambda *_: "binary"),
    (_is_any_list, lambda arrow, column: f"array<{spark_type(arrow.value_type, column)}>"),
    (pa.types.is_map, _map),
    (pa.types.is_struct, _struct),
    (pa.types.is_dictionary, lambda arrow, column: spark_type(arrow.value_type, column)),
    (
        lambda arrow: isinstance(arrow, pa.BaseExtensionType),
        lambda arrow, column: spark_type(arrow.storage_type, column),
    ),
)


class _TypeReader:
    """Reads one Spark type text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        self.position = 0
        self.is_clean = not _TOKEN.sub("", text).strip()

    def read(self) -> pa.DataType:
        """The whole text as one type."""
        found = self._type() if self.is_clean else None
        if found is None or self.position != len(self.tokens):
            raise self._refusal()
        return found

    def _type(self) -> pa.DataType:
        word = self._next().lower()
        name = _SYNONYMS.get(word, word)
        if name in _SIMPLE:
            return _SIMPLE[name]
        if name in {"array", "map", "struct"}:
            return self._nested(name)
        if name in {"decimal", "dec", "numeric"}:
            digits = self._arguments() or [10, 0]
            return pa.decimal128(digits[0], digits[1] if len(digits) > 1 else 0)
        if name in {"char", "varchar"}:
            self._arguments()
            return pa.string()
        if name == "time":
            self._arguments()
            return pa.time64("ns")
        if name == "interval":
            return self._interval()
        raise self._refusal()

    def _nested(self, name: str) -> pa.DataType:
        if name == "struct":
            return pa.struct(self._listed("<", ">", self._field))
        parts = self._listed("<", ">", self._type)
        if len(parts) != (1 if name == "array" else 2):
            raise self._refusal()
        return pa.list_(*parts) if name == "array" else pa.map_(*parts)

    def _field(self) -> pa.Field:
        name = self._next()
        self._expect(":")
        plain = name[1:-1].replace("``", "`") if name.startswith("`") else name
        return pa.field(plain, self._type())

    def _interval(self) -> pa.DataType:
        while self._peek().lower() in {"day", "hour", "minute", "second", "to"}:
            self._next()
        return pa.duration("us")

    def _arguments(self) -> list[int]:
        if self._peek() != "(":
            return []
        numbers = self._listed("(", ")", self._number)
        if not numbers:
            raise self._refusal()
        return numbers

    def _listed(self, opens: str, closes: str, read: Callable[[], Part]) -> list[Part]:
        """What stands between brackets, with commas between."""
        self._expect(opens)
        found: list[Part] = []
        while self._peek() != closes:
            if found:
                self._expect(",")
            found.append(read())
        self._expect(closes)
        return found

    def _number(self) -> int:
        token = self._next()
        if not token.isdigit():
            raise self._refusal()
        return int(token)

    def _peek(self) -> str:
        return str(self.tokens[self.position]) if self.position < len(self.tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise self._refusal()
        self.position += 1
        return token

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise self._refusal()

    def _refusal(self) -> BindError:
        return BindError(
            "unsupported-type",
            f"{self.text!r} is not a column type that Windrow knows",
            hint="months, variants and user-defined types are not supported: cast the column",
        )


def ticks_of(column: pa.Array) -> NDArray[np.int64]:
    """The ticks of a time column: microseconds, days or the number itself; MIN_TICK for NULL.

    MAX_TICK means "never" everywhere else, so a row that says it has no time either.

    Examples:
        >>> ticks_of(pa.array([5, None], pa.timestamp("us"))).tolist()
        [5, -9223372036854775808]
    """
    counts = column
    if pa.types.is_date(column.type):
        counts = column.view(pa.int32()).cast(pa.int64())
    if counts.null_count:
        counts = counts.view(pa.int64()).fill_null(MIN_TICK)
    if not len(counts):
        return np.empty(0, np.int64)
    ticks = np.frombuffer(counts.buffers()[1], np.int64, len(counts), 8 * counts.offset)
    if ticks.max() == MAX_TICK:
        return np.where(ticks == MAX_TICK, MIN_TICK, ticks)
    return ticks


def instants(ticks: NDArray[np.int64], time_type: str) -> pa.Array:
    """The ticks as an Arrow array of the time type; the inverse of `ticks_of`.

    Examples:
        >>> instants(np.array([1]), "date").to_pylist()
        [datetime.date(1970, 1, 2)]
    """
    target = arrow_type(time_type)
    if pa.types.is_date(target):
        return pa.array(ticks.astype(np.int32)).view(target)
    data = pa.py_buffer(np.ascontiguousarray(ticks))
    return pa.Array.from_buffers(target, len(ticks), [None, data], null_count=0)


def show_instant(tick: int, time_type: str) -> str:
    """An instant as people read it; `-infinity` and `infinity` for the ends of time.

    Examples:
        >>> show_instant(1_500_000, "timestamp")
        '1970-01-01 00:00:01.5'
    """
    if tick <= MIN_TICK:
        return "-infinity"
    if tick >= MAX_TICK:
        return "infinity"
    if time_type == "bigint":
        return str(tick)
    if time_type == "date":
        return str(np.datetime64(tick, "D"))
    text = str(np.datetime64(tick, "us")).replace("T", " ")
    return text.rstrip("0").rstrip(".") if "." in text else text


def moved(times: NDArray[np.int64], ticks: int) -> NDArray[np.int64]:
    """The times so many ticks later, or earlier, as far as the first or last tick there is.

    MIN_TICK     MIN_TICK + 1 ............................ MAX_TICK - 1      MAX_TICK
    no time      the times that rows have                                    never

    Times only ever meet lengths here, in `less_delay` and, compiled, in `kernels/bew_period.py`: what
    would come to lie beyond the last tick is never, and no sum wraps around.

    Examples:
        >>> moved(np.array([5, MAX_TICK - 1]), 3).tolist() == [8, MAX_TICK]
        True
    """
    if ticks < 0:
        return np.maximum(times, MIN_TICK - ticks) + ticks
    return np.minimum(times, MAX_TICK - ticks) + ticks


def less_delay(watermark: int, delay: int) -> int:
    """The watermark that is `delay` ticks behind; the ends of time stay where they are."""
    if watermark in {MIN_TICK, MAX_TICK}:
        return watermark
    return max(watermark - delay, MIN_TICK)
