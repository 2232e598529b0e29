"""The demo's checks in plain SQL, against answers worked out by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.demo.questions import AGGREGATE, BESTMATCH, JOIN, QUICK, generate, timestamps

MINUTE = 60_000_000
HOUR = 60 * MINUTE
NEVER = 2**62


def store(*rows: tuple[str, float, int]) -> pa.Table:
    items, prices, times = zip(*rows, strict=True)
    return pa.table({"item": items, "price": prices, "ts": timestamps(np.array(times))})


def test_three_sales_join_when_every_pair_is_within_a_minute():
    # 0         1         2  minutes
    # |---------|---------|
    # n
    #           s           joins n: a minute is within
    # w . . . . . . w       the second w is too far from n
    streams = {
        "north": store(("pear", 1.0, 0), ("fig", 9.0, 0)),
        "south": store(("pear", 2.0, MINUTE)),
        "west": store(("pear", 3.0, 0), ("pear", 4.0, MINUTE + 1)),
    }
    assert JOIN.expected(streams, NEVER).select(["item", "west"]).to_pylist() == [
        {"item": "pear", "west": 3.0}
    ]


def sales(*rows: tuple[str, float, int, int]) -> dict[str, pa.Table]:
    stores, prices, quantities, times = zip(*rows, strict=True)
    columns = {"store": stores, "price": prices, "quantity": quantities}
    return {"sales": pa.table({**columns, "ts": timestamps(np.array(times))})}


def test_revenue_changes_as_sales_come_and_one_tick_after_their_hour():
    streams = sales(("north", 5.0, 2, 0), ("north", 6.0, 1, HOUR), ("north", 4.0, 9, 10))
    changes = AGGREGATE.expected(streams, NEVER)
    shown = [(row["_change_type"], row["revenue"], row["sales"]) for row in changes.to_pylist()]
    assert shown == [
        ("insert", 10.0, 1),
        ("delete", 10.0, 1),
        ("insert", 16.0, 2),
        ("delete", 16.0, 2),
        ("insert", 6.0, 1),
        ("delete", 6.0, 1),
    ]
    instants = changes["_event_time"].cast(pa.int64()).to_pylist()
    assert instants == [0, HOUR, HOUR, HOUR + 1, HOUR + 1, 2 * HOUR + 1]


def test_changes_at_the_watermark_are_not_out_yet():
    streams = sales(("north", 5.0, 1, 0), ("north", 5.0, 1, 7))
    assert AGGREGATE.expected(streams, 7).num_rows == 1


def readings(what: str, *rows: tuple[float, float, float, int]) -> pa.Table:
    values, x, y, times = zip(*rows, strict=True)
    return pa.table({what: values, "x": x, "y": y, "ts": timestamps(np.array(times))})


def test_a_reading_keeps_the_candidates_that_none_dominates():
    streams = {
        "temperature": readings("celsius", (20.0, 0.0, 0.0, 0)),
        "humidity": readings(
            "percent",
            (1.0, 5.0, 5.0, 10),  # best in time
            (2.0, 1.0, 5.0, 20),  # best in x
            (3.0, 2.0, 6.0, 30),  # worse than the one above in everything
            (4.0, 101.0, 0.0, 0),  # no candidate: too far
            (5.0, 1.0, 5.0, 20),  # equal distances: both stay
        ),
    }
    best = BESTMATCH.expected(streams, NEVER)
    assert sorted(best["percent"].to_pylist()) == [1.0, 2.0, 5.0]


@pytest.mark.parametrize(("watermark", "rows"), [(10 * MINUTE, 0), (10 * MINUTE + 1, 1)])
def test_a_reading_is_final_once_the_watermark_is_beyond_its_reach(watermark, rows):
    streams = {
        "temperature": readings("celsius", (20.0, 0.0, 0.0, 0)),
        "humidity": readings("percent", (50.0, 0.0, 0.0, 0)),
    }
    assert BESTMATCH.expected(streams, watermark).num_rows == rows


def test_generated_streams_are_the_same_every_time_and_keep_their_promise():
    first, second = generate(QUICK), generate(QUICK)
    assert first == second
    for table in first.values():
        times = table["ts"].cast(pa.int64()).to_numpy()
        behind = np.maximum.accumulate(times) - times
        assert 0 < behind.max() <= 30_000_000
