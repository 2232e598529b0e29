"""Columns of every Arrow type, and of every one inside the others: right, or refused by name."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from sessions import session

from windrow import BindError, Session
from windrow.operators.columns.arrow_types import arrow_type, conform, spark_type

ROWS = 4


def arrays() -> dict[str, pa.Array]:
    """Four values of every type, the third of which is NULL where there may be one."""
    of = {
        "bool": ([True, False, None, True], pa.bool_()),
        "text": (["a", "", None, "bcd"], pa.string()),
        "large text": (["a", "", None, "bcd"], pa.large_string()),
        "text view": (["a", "", None, "longer than twelve bytes"], pa.string_view()),
        "bytes": ([b"a", b"", None, b"bcd"], pa.binary()),
        "large bytes": ([b"a", b"", None, b"bcd"], pa.large_binary()),
        "bytes view": ([b"a", b"", None, b"longer than twelve bytes"], pa.binary_view()),
        "fixed bytes": ([b"ab", b"cd", None, b"ef"], pa.binary(2)),
        "date64": ([dt.date(2020, 1, 1), dt.date(1960, 1, 1), None, dt.date(1, 1, 1)], pa.date64()),
        "time": ([dt.time(1), dt.time(2), None, dt.time(3)], pa.time32("s")),
        "seconds": ([dt.datetime(2020, 1, 1)] * 2 + [None] * 2, pa.timestamp("s")),  # noqa: DTZ001
        "duration": ([dt.timedelta(1), dt.timedelta(0), None, dt.timedelta(2)], pa.duration("s")),
        "decimal": ([Decimal("1.50"), Decimal(0), None, Decimal(-2)], pa.decimal256(30, 2)),
        "list": ([[1], [], None, [2, None]], pa.list_(pa.int32())),
        "large list": ([[1], [], None, [2, None]], pa.large_list(pa.int32())),
        "fixed list": ([[1, 2], [3, 4], None, [5, None]], pa.list_(pa.int32(), 2)),
        "list view": ([[1], [], None, [2, None]], pa.list_view(pa.int32())),
        "large list view": ([[1], [], None, [2, None]], pa.large_list_view(pa.int32())),
        "map": ([[("a", 1)], [], None, [("b", None)]], pa.map_(pa.string(), pa.int32())),
        "struct": ([{"f": 1}, {"f": None}, None, {"f": 2}], pa.struct([("f", pa.int32())])),
        "null": ([None] * ROWS, pa.null()),
    }
    made = {name: pa.array(values, kind) for name, (values, kind) in of.items()}
    made["dictionary"] = made["text"].dictionary_encode()
    made["interval"] = pa.array(
        [(0, 1, 1000), (0, 0, 0), None, (0, 2, 0)], pa.month_day_nano_interval()
    )
    ids = pa.array([uuid.UUID(int=n).bytes for n in range(ROWS)], pa.binary(16))
    made["extension"] = pa.ExtensionArray.from_storage(pa.uuid(), ids)
    # Views may overlap, leave out, and come in any order.
    offsets, sizes = pa.array([2, 0, 1, 0], pa.int32()), pa.array([1, 2, 0, 3], pa.int32())
    made["views anywhere"] = pa.ListViewArray.from_arrays(offsets, sizes, pa.array(["x", "y", "z"]))
    return made


def inside(array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """An array, and columns that have it inside."""
    yield "alone", array
    ends = pa.array(range(ROWS + 1), pa.int32())
    yield "struct", pa.StructArray.from_arrays([array], ["f"])
    yield "list", pa.ListArray.from_arrays(ends, array)
    ones = pa.array([1] * ROWS, pa.int32())
    yield "list view", pa.ListViewArray.from_arrays(ends.slice(0, ROWS), ones, array)
    keys = pa.array([f"key {n}" for n in range(ROWS)])
    yield "map", pa.MapArray.from_arrays(ends, keys, array)
    if not pa.types.is_dictionary(array.type):
        yield (
            "dictionary",
            pa.DictionaryArray.from_arrays(pa.array([3, 0, None, 2], pa.int32()), array),
        )


def plain(value: object) -> object:
    """A value as it is compared: the same in all types that hold it."""
    if isinstance(value, dict):
        return {name: plain(own) for name, own in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "nanoseconds"):
        return [plain(own) for own in value]
    if hasattr(value, "nanoseconds"):
        return dt.timedelta(days=value.days, microseconds=value.nanoseconds // 1_000)
    return value.bytes if isinstance(value, uuid.UUID) else value


@pytest.mark.parametrize("name", arrays())
def test_values_stay_the_same_in_their_canonical_type(name):
    for where, array in inside(arrays()[name]):
        target = arrow_type(spark_type(array.type))
        for part in (array, array.slice(1), array.slice(1, 2), array.slice(0, 0)):
            found = conform(part, target, "c")
            found.validate(full=True)
            assert found.type == target
            assert plain(found.to_pylist()) == plain(part.to_pylist()), where


@pytest.mark.parametrize("name", ["list view", "large list view", "views anywhere"])
def test_list_views_are_columns_of_streams(name):
    array = arrays()[name]
    w = session({"s": {"c": array, "at": range(ROWS)}}, time="at")
    assert w.sql("SELECT c FROM s").to_arrow()["c"].to_pylist() == array.to_pylist()
    distinct = w.sql("SELECT DISTINCT c FROM s [RANGE 9] EMIT CHANGES").to_arrow()
    distinct.validate(full=True)


@pytest.mark.parametrize(
    "array",
    [
        pc.run_end_encode(pa.array(["a", "a"])),
        pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])]),
    ],
)
def test_types_without_a_counterpart_are_refused_by_name(array):
    for data in (
        pa.table({"c": array}),
        pa.table({"c": pa.StructArray.from_arrays([array], ["f"])}),
    ):
        with pytest.raises(BindError, match=r"unsupported-type.*the column 'c"):
            Session().stream("s", data, time="c")
