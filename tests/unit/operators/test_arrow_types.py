from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from windrow.errors import BindError, DataError
from windrow.operators.columns.arrow_types import (
    arrow_schema,
    arrow_type,
    conform,
    spark_schema,
    spark_type,
)
from windrow.schema import Field, Schema

CANONICAL = {
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
    "time(6)": pa.time64("ns"),
    "interval day to second": pa.duration("us"),
    "decimal(38,18)": pa.decimal128(38, 18),
    "array<int>": pa.list_(pa.int32()),
    "map<string,array<double>>": pa.map_(pa.string(), pa.list_(pa.float64())),
    "struct<a:int,`b c`:struct<d:date>>": pa.struct(
        [("a", pa.int32()), ("b c", pa.struct([("d", pa.date32())]))]
    ),
}


@pytest.mark.parametrize("spark", CANONICAL)
def test_every_spark_type_goes_to_arrow_and_back(spark):
    assert arrow_type(spark) == CANONICAL[spark]
    assert spark_type(CANONICAL[spark]) == spark


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("INTEGER", "int"),
        ("long", "bigint"),
        ("decimal", "decimal(10,0)"),
        ("numeric(5)", "decimal(5,0)"),
        ("varchar(20)", "string"),
        ("interval hour to minute", "interval day to second"),
        ("struct<>", "struct<>"),
        (" array< int > ", "array<int>"),
    ],
)
def test_other_spellings_mean_the_same_type(written, meant):
    assert spark_type(arrow_type(written)) == meant


@pytest.mark.parametrize(
    "written", ["money", "array<int", "map<int>", "int int", "decimal(x)", "?"]
)
def test_a_text_that_is_no_type_is_refused(written):
    with pytest.raises(BindError) as error:
        arrow_type(written)
    assert str(error.value) == (
        f"BindError[unsupported-type]: {written!r} is not a column type that Windrow knows\n"
        "  hint: months, variants and user-defined types are not supported: cast the column"
    )


@pytest.mark.parametrize(
    ("arrow", "spark"),
    [
        (pa.uint8(), "smallint"),
        (pa.uint16(), "int"),
        (pa.uint32(), "bigint"),
        (pa.uint64(), "decimal(20,0)"),
        (pa.float16(), "float"),
        (pa.large_string(), "string"),
        (pa.string_view(), "string"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.binary(16), "binary"),
        (pa.large_list(pa.uint8()), "array<smallint>"),
        (pa.timestamp("ns", "Europe/Zurich"), "timestamp"),
        (pa.timestamp("s"), "timestamp_ntz"),
        (pa.duration("ms"), "interval day to second"),
        (pa.decimal128(3, -2), "decimal(5,0)"),
    ],
)
def test_wider_and_narrower_forms_become_the_type_that_holds_them(arrow, spark):
    assert spark_type(arrow) == spark


def test_a_type_without_counterpart_is_refused_with_its_column():
    with pytest.raises(BindError) as error:
        spark_type(pa.dense_union([pa.field("a", pa.int8())]), "amount")
    assert str(error.value) == (
        "BindError[unsupported-type]: the column 'amount' has the Arrow type "
        "dense_union<a: int8=0>, which has no counterpart in Spark\n"
        "  hint: cast it, or leave the column out"
    )


def test_decimals_beyond_38_digits_are_refused():
    with pytest.raises(BindError, match="has 50 decimal digits"):
        spark_type(pa.decimal256(50, 2), "amount")


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, 2**64 - 1, None], pa.uint64()),
        pa.array(["a", None], pa.large_string()),
        pa.array(["a", "b", None], pa.string_view()),
        pa.array(["a", "b", "a", None]).dictionary_encode(),
        pa.array([b"0123", None], pa.binary(4)),
        pa.array([[1], None], pa.large_list(pa.uint8())),
        pa.array([1_000, None], pa.timestamp("ns")),
        pa.array([1, None], pa.timestamp("s", "Europe/Zurich")),
        pa.array([dt.date(2024, 1, 2), None], pa.date64()),
    ],
    ids=lambda array: str(array.type),
)
def test_values_survive_on_their_way_to_the_canonical_type(array):
    spark = spark_type(array.type)
    canonical = conform(array, arrow_type(spark), "c")
    assert canonical.type == arrow_type(spark)
    assert [_plain(v) for v in canonical.to_pylist()] == [_plain(v) for v in array.to_pylist()]


def _plain(value):
    if hasattr(value, "to_pydatetime"):
        value = value.to_pydatetime()
    if isinstance(value, dt.datetime) and value.tzinfo:
        return value.astimezone(dt.UTC)
    return int(value) if isinstance(value, Decimal) else value


def test_a_nanosecond_that_is_no_whole_microsecond_is_bad_data():
    with pytest.raises(DataError) as error:
        conform(pa.array([1_001], pa.timestamp("ns")), pa.timestamp("us"), "ts")
    assert str(error.value).splitlines() == [
        "DataError[value-does-not-fit]: a value of the column 'ts' does not fit timestamp_ntz",
        "  Casting from timestamp[ns] to timestamp[us] would lose data: 1001",
        "  hint: round or cast the column before you register it",
    ]


def test_intervals_of_days_and_nanoseconds_become_durations():
    array = pa.array([(0, 1, 5_000), None, (0, 0, -3_000)], pa.month_day_nano_interval())
    expected = pa.array([86_400_000_005, None, -3], pa.duration("us"))
    assert conform(array, pa.duration("us"), "i").equals(expected)
    assert conform(array.slice(1), pa.duration("us"), "i").equals(expected.slice(1))


def test_intervals_of_months_are_bad_data():
    array = pa.array([(1, 0, 0)], pa.month_day_nano_interval())
    with pytest.raises(DataError, match="an interval of months has no fixed length"):
        conform(array, pa.duration("us"), "i")


def test_schemas_go_both_ways():
    schema = Schema((Field("a.k", "string"), Field("a.ts", "timestamp")))
    assert spark_schema(arrow_schema(schema)) == schema
