"""What the sink writes as lines of JSON comes back, dates and maps within other values too."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from case_share import share_of
from contracts.source_contract import read_through
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow
from windrow.errors import DataError
from windrow.io import Answer

STAMP = pa.timestamp("us", "UTC")
COLUMNS = pa.schema(
    [
        ("dates", pa.list_(pa.date32())),
        ("counts", pa.map_(pa.string(), pa.int64())),
        ("stays", pa.map_(pa.date32(), pa.list_(STAMP))),
        ("shop", pa.struct([("at", STAMP), ("plain", pa.timestamp("us")), ("m", pa.map_(pa.int64(), pa.decimal128(10, 2)))])),
        ("deep", pa.list_(pa.list_(pa.struct([("d", pa.date32())])))),
        ("n", pa.int64()),
    ]
)  # fmt: skip


def maybe(values):
    return st.one_of(st.none(), values)


dates = st.dates(date(1, 1, 1), date(9999, 12, 31))
plain_times = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))  # noqa: DTZ001
times = plain_times.map(lambda at: at.replace(tzinfo=UTC))
prices = st.decimals(0, 9, places=2)


def pairs(keys, values):
    return st.dictionaries(keys, maybe(values), max_size=2).map(lambda own: list(own.items()))


rows = st.fixed_dictionaries(
    {
        "dates": maybe(st.lists(maybe(dates), max_size=3)),
        "counts": maybe(pairs(st.text("ab\"\n", max_size=2), st.integers(-9, 9))),
        "stays": maybe(pairs(dates, st.lists(maybe(times), max_size=2))),
        "shop": maybe(
            st.fixed_dictionaries(
                {
                    "at": maybe(times),
                    "plain": maybe(plain_times),
                    "m": maybe(pairs(st.integers(-9, 9), prices)),
                }
            )
        ),
        "deep": maybe(
            st.lists(maybe(st.lists(maybe(st.fixed_dictionaries({"d": maybe(dates)})), max_size=2)))
        ),
        "n": maybe(st.integers(-9, 9)),
    }
)  # fmt: skip


@pytest.mark.law
@settings(max_examples=share_of(12), deadline=None)
@given(st.lists(rows, min_size=1, max_size=5), st.integers(1, 6))
def test_nested_rows_come_back_from_a_sink_however_they_are_cut(tmp_path_factory, found, cut):
    about = windrow.files(str(tmp_path_factory.mktemp("out")), "json")
    table = pa.Table.from_pylist(found, COLUMNS)
    sink = about.sink()
    sink.open("r", Answer(COLUMNS))
    sink.commit(0, [sink.write(0, table.to_batches())])
    assert about.source().columns() == COLUMNS
    assert read_through(about.source(), most_rows=cut)["0"] == table.to_pylist()


def test_nested_values_of_others_are_read(tmp_path):
    (tmp_path / "a.json").write_text(
        '{"at": ["2026-01-01T01:00:00+01:00", "2026-01-01 00:00:00", null], "m": []}\n'
        '{"m": [{"key": "a"}, {"value": "1.10", "key": "b", "more": 1}]}\n'
    )
    about = windrow.files(
        str(tmp_path), "json", "at ARRAY<TIMESTAMP>, m MAP<STRING, DECIMAL(10,2)>"
    )
    midnight = datetime(2026, 1, 1, tzinfo=UTC)
    assert read_through(about.source())["0"] == [
        {"at": [midnight, midnight, None], "m": []},
        {"at": None, "m": [("a", None), ("b", Decimal("1.10"))]},
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"m": [{"value": 1}]}', "none is without a key"),
        ('{"m": [null]}', "none is without a key"),
        ('{"m": {"a": 1}}', "JSON parse error"),
        ('{"d": ["Friday"]}', "Friday"),
        ('{"d": [5]}', "JSON parse error"),
    ],
)
def test_nested_values_that_are_none_are_bad_rows(tmp_path, line, why):
    file = tmp_path / "a.json"
    file.write_text(f'{{"d": ["2026-01-01"]}}\n{line}\n{{"m": []}}\n')
    about = windrow.files(str(tmp_path), "json", "d ARRAY<DATE>, m MAP<STRING, BIGINT>")
    with pytest.raises(DataError) as caught:
        read_through(about.source())
    assert caught.value.condition == "unreadable-data"
    assert why in caught.value.reason
    source = windrow.files(about.path, "json", about.schema, bad_rows="aside").source()
    assert read_through(source)["0"] == [
        {"d": [date(2026, 1, 1)], "m": None},
        {"d": None, "m": []},
    ]
    assert [own.content for own in source.take_aside()] == [line.encode()]
