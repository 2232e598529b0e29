"""The order of rows of one time: the columns from left to right, of any type."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.count_windows import value_key

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.total_order import in_total_order, order_codes

REALS = [-math.inf, -1.5, -0.0, 0.0, 5e-324, 1.5, math.inf, math.nan]
ORDERED = {
    "tinyint": (pa.int8(), [-128, -1, 0, 127]),
    "bigint": (pa.int64(), [-(2**63), -1, 0, 1, 2**63 - 2]),
    "the greatest bigint": (pa.int64(), [-(2**63), -1, 0, 2**63 - 2, 2**63 - 1]),
    "unsigned": (pa.uint64(), [0, 1, 2**63, 2**64 - 1]),
    "boolean": (pa.bool_(), [False, True]),
    "float": (pa.float32(), [-math.inf, -1.5, -0.0, 0.0, 1.5, math.inf, math.nan]),
    "double": (pa.float64(), REALS),
    "date": (pa.date32(), [date(1900, 1, 1), date(1970, 1, 1), date(2024, 2, 29)]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [datetime(1900, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, 1, tzinfo=UTC)],
    ),
    "interval": (pa.duration("us"), [timedelta(-1), timedelta(0), timedelta(1)]),
    "decimal": (pa.decimal128(10, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("2.25")]),
    "wide decimal": (pa.decimal128(38, 0), [Decimal(-(10**37)), Decimal(0), Decimal(10**37)]),
    "string": (pa.string(), ["", "A", "a", "aa", "b", "é", "\U0001f600"]),
    "large string": (pa.large_string(), ["", "a", "b"]),
    "binary": (pa.binary(), [b"", b"\x00", b"\x00\x01", b"\x80", b"\xff"]),
    "fixed binary": (pa.binary(2), [b"\x00\x00", b"\x00\x01", b"\xff\x00"]),
    "array": (pa.list_(pa.int64()), [[], [None], [1], [1, None], [1, 1], [2]]),
    "array of texts": (pa.list_(pa.string()), [[], ["a"], ["a", "z"], ["b"]]),
    "struct": (
        pa.struct([("f", pa.int64()), ("g", pa.string())]),
        [{"f": None, "g": "z"}, {"f": 1, "g": None}, {"f": 1, "g": "a"}, {"f": 2, "g": "a"}],
    ),
    "empty struct": (pa.struct([]), [{}]),
    "map": (
        pa.map_(pa.string(), pa.int64()),
        [[], [("a", None)], [("a", 1)], [("a", 1), ("b", 0)], [("b", 0)]],
    ),
    "nested": (
        pa.list_(pa.struct([("m", pa.map_(pa.int64(), pa.float64()))])),
        [[], [None], [{"m": None}], [{"m": []}], [{"m": [(1, 0.5)]}], [{"m": [(1, math.nan)]}]],
    ),
    "null": (pa.null(), []),
}


@pytest.mark.parametrize("name", ORDERED)
def test_codes_ascend_with_the_values_and_null_is_first(name):
    kind, values = ORDERED[name]
    codes = order_codes(pa.array([None, *values, None], kind)).tolist()
    assert codes[0] == codes[-1] == 0
    assert codes[:-1] == sorted(set(codes))


@pytest.mark.parametrize("name", ORDERED)
def test_slices_and_repeated_values_keep_their_codes_order(name):
    kind, values = ORDERED[name]
    array = pa.array([None, *values, *values, None], kind).slice(1)
    codes = order_codes(array).tolist()
    size = len(values)
    assert codes[:size] == codes[size : 2 * size] == sorted(set(codes[:size]))


def test_maps_go_by_their_sorted_entries():
    kind = pa.map_(pa.string(), pa.int64())
    maps = pa.array([[("b", 1), ("a", 2)], [("a", 2), ("b", 1)], [("a", 3)]], kind)
    first, same, later = order_codes(maps).tolist()
    assert first == same < later


def test_an_encoded_column_is_ordered_by_its_values():
    texts = pa.array(["b", "a", None, "b"])
    assert np.argsort(order_codes(texts.dictionary_encode()), kind="stable").tolist() == [
        2,
        1,
        0,
        3,
    ]


VALUES = st.none() | st.integers(-2, 2)
LISTS = st.none() | st.lists(VALUES, max_size=3)
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.none() | st.sampled_from(REALS), LISTS, VALUES), max_size=12
)


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(ROWS)
def test_rows_are_sorted_by_time_then_by_column_after_column(rows):
    rows.sort(key=lambda row: row[0])
    kinds = [pa.float64(), pa.list_(pa.int64()), pa.int64()]
    arrays = [pa.array([row[n + 1] for row in rows], kind) for n, kind in enumerate(kinds)]
    batch = pa.RecordBatch.from_arrays(arrays, names=["a", "b", "c"])
    ordered = in_total_order(ChangeBatch(batch, np.array([row[0] for row in rows], np.int64)))
    found = zip(
        ordered.times.tolist(), *(c.to_pylist() for c in ordered.columns.columns), strict=True
    )
    wanted = sorted(rows, key=lambda row: (row[0], *map(value_key, row[1:])))
    assert list(map(repr, found)) == list(map(repr, wanted))
