from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from stream_texts import batches, rows, stream


def test_types_are_those_that_the_cells_look_like():
    table = stream("""
        k | n  | x   | ok
        a |  7 | 1.5 | true
        b | -1 | 2   |
    """)
    assert table.schema.types == [pa.string(), pa.int64(), pa.float64(), pa.bool_()]
    assert table.to_pylist() == [
        {"k": "a", "n": 7, "x": 1.5, "ok": True},
        {"k": "b", "n": -1, "x": 2.0, "ok": None},
    ]


def test_types_can_be_written_after_the_names():
    table = stream("""
        ts:timestamp        | at:timestamp_ntz    | day:date   | price:decimal(6,2) | n:int
        2024-01-01 12:00:00 | 2024-01-01 12:00:00 | 2024-02-29 | 4.50               |
    """)
    assert table.schema.types == [
        pa.timestamp("us", "UTC"),
        pa.timestamp("us"),
        pa.date32(),
        pa.decimal128(6, 2),
        pa.int32(),
    ]
    assert table.to_pylist() == [
        {
            "ts": datetime(2024, 1, 1, 12, tzinfo=UTC),
            "at": datetime(2024, 1, 1, 12),  # noqa: DTZ001  a timestamp without a zone
            "day": date(2024, 2, 29),
            "price": Decimal("4.50"),
            "n": None,
        }
    ]


def test_empty_cells_are_null_and_quotes_keep_strings():
    assert rows("""
        a    | b
        ---- | ----
        ''   | '7'
             | NULL
        it's | 'a''b'
    """) == [{"a": "", "b": "7"}, {"a": None, "b": None}, {"a": "it's", "b": "a'b"}]


def test_a_header_alone_is_an_empty_stream():
    table = stream("k | ts:bigint")
    assert table.num_rows == 0
    assert table.schema.names == ["k", "ts"]


def test_a_row_of_another_width_is_refused():
    with pytest.raises(ValueError, match=r"2 cells expected: '1 \| 2 \| 3'"):
        stream("a | b\n1 | 2 | 3")


def test_no_header_is_refused():
    with pytest.raises(ValueError, match="a stream table needs a header line"):
        stream("\n")


def test_batches_keep_every_row_in_order():
    table = stream("n\n1\n2\n3\n4\n5")
    cut = batches(table, [2, 0, 1])
    assert [batch.column("n").to_pylist() for batch in cut] == [[1, 2], [], [3], [4, 5]]
    assert all(batch.schema == table.schema for batch in cut)
