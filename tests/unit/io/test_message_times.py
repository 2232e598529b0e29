"""Instants and dates of messages: written exactly, read as they were, and as Spark reads them."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.io.formats.json_text import object_texts
from windrow.io.formats.json_values import JsonValues

EXTREMES = [
    -(2**63), -(2**63) + 1, -(2**62), -62_167_219_200_000_001, -62_167_219_200_000_000, -1, 0, 1,
    253_402_300_799_999_999, 253_402_300_800_000_000, 2**59, 2**62, 2**63 - 2, 2**63 - 1,
]  # fmt: skip


def micros(column):
    return column.view(pa.int64()).to_pylist()


@pytest.mark.law
@settings(deadline=None, max_examples=share_of(30))
@given(
    st.lists(st.sampled_from(EXTREMES) | st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=1)
)
def test_every_instant_is_written_as_iso_8601_and_read_as_it_was(numbers):
    count = pa.array(numbers, pa.int64())
    rows = pa.record_batch(
        {
            "zoned": count.view(pa.timestamp("us", "UTC")),
            "ntz": count.view(pa.timestamp("us")),
            "many": pa.ListArray.from_arrays(
                pa.array([*range(len(numbers)), len(numbers)], pa.int32()),
                count.view(pa.timestamp("us", "UTC")),
            ),
        }
    )
    texts = object_texts(rows).to_pylist()
    found = JsonValues(rows.schema).decode([own.encode() for own in texts])
    assert not found.bad
    assert micros(found.rows["zoned"]) == micros(found.rows["ntz"]) == numbers
    assert micros(found.rows["many"].flatten()) == numbers


@pytest.mark.law
@settings(deadline=None, max_examples=share_of(30))
@given(
    st.lists(
        st.sampled_from([-(2**31), -719_529, 2_932_897, 2**31 - 1])
        | st.integers(-(2**31), 2**31 - 1)
    )
)
def test_every_date_is_written_as_iso_8601_and_read_as_it_was(days):
    rows = pa.record_batch({"day": pa.array(days, pa.int32()).view(pa.date32())})
    found = JsonValues(rows.schema).decode([own.encode() for own in object_texts(rows).to_pylist()])
    assert not found.bad
    assert found.rows["day"].view(pa.int32()).to_pylist() == days


def test_long_years_have_a_sign_as_java_writes_them():
    instants = pa.array(EXTREMES, pa.int64()).view(pa.timestamp("us", "UTC"))
    texts = [
        json.loads(own)["t"] for own in object_texts(pa.record_batch({"t": instants})).to_pylist()
    ]
    assert texts[0] == "-290308-12-21T19:59:05.224192Z"
    assert texts[3:5] == ["-0001-12-31T23:59:59.999999Z", "0000-01-01T00:00:00.000000Z"]
    assert texts[8:10] == ["9999-12-31T23:59:59.999999Z", "+10000-01-01T00:00:00.000000Z"]
    assert texts[-1] == "+294247-01-10T04:00:54.775807Z"


def read(kind, values, timestamps="iso"):
    """What a column of instants has of values, as texts of JSON, and which are aside."""
    texts = [f'{{"a":{own}}}'.encode() for own in values]
    found = JsonValues(pa.schema([("a", kind)]), timestamps).decode(texts)
    shown = found.rows["a"]
    shown = shown.flatten() if pa.types.is_list(kind) else shown
    return shown.cast(pa.timestamp("us")).cast(pa.string()).to_pylist(), [n for n, _ in found.bad]


def test_instants_have_any_zone_and_are_cut_off_at_microseconds():
    texts = [
        "2026-01-01T00:00:00.123456789Z",
        "2026-01-01T00:00:00.123456789+02:00",
        "2026-01-01T00:00:00.123456789-0230",
        "2026-01-01 00:00:00.123456789",
        "2026-01-01T00:00Z",
        "1969-12-31T23:59:59.9999999Z",
        "+12028-02-29T01:00:00.5+01",
    ]
    none = [
        "2026-01-01T00:00:00.123456789+25:00",
        "2026-02-30T00:00:00.123456789Z",
        "+300000-01-01T00:00:00Z",
        "+12026-02-30T00:00:00Z",
        "",
    ]
    instants, bad = read(pa.timestamp("us", "UTC"), [json.dumps(own) for own in texts + none])
    assert instants[:-1] == [
        "2026-01-01 00:00:00.123456",
        "2025-12-31 22:00:00.123456",
        "2026-01-01 02:30:00.123456",
        "2026-01-01 00:00:00.123456",
        "2026-01-01 00:00:00.000000",
        "1969-12-31 23:59:59.999999",
    ]
    assert instants[-1].endswith("12028-02-29 00:00:00.500000")
    assert bad == [7, 8, 9, 10, 11]


def test_what_a_clock_on_the_wall_shows_has_no_zone_to_move_it():
    texts = [
        "2026-01-01T00:00:00+02:00",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00Z",
        "2026-01-01",
    ]
    shown = ["2026-01-01 00:00:00.000000"] * 4
    assert read(pa.timestamp("us"), [json.dumps(own) for own in texts]) == (shown, [])
    assert read(pa.list_(pa.timestamp("us")), [json.dumps([own]) for own in texts]) == (shown, [])


def test_numbers_of_nanoseconds_are_cut_off_at_microseconds_and_others_have_to_fit():
    instants, bad = read(pa.timestamp("us"), [1_700_000_000_123_456_789, -1, "null"], "ns")
    assert instants == ["2023-11-14 22:13:20.123456", "1969-12-31 23:59:59.999999", None]
    assert not bad
    assert read(pa.timestamp("us"), [2**62], "ms") == ([], [0])


def test_an_interval_is_a_number_of_microseconds():
    rows = pa.record_batch({"i": pa.array([5, None, -1], pa.duration("us"))})
    found = JsonValues(rows.schema).decode([own.encode() for own in object_texts(rows).to_pylist()])
    assert found.rows.equals(rows)
