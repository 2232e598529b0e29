"""Spark's reports, as both kinds of session give them, to Windrow's totals."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from plans import planned
from pyspark.sql import Row
from sessions import session

from windrow.run.spark.progress import ProgressReader
from windrow.run.spark.state import metric_name
from windrow.schema import MIN_TICK

JOIN = "SELECT a.ts FROM a, b WHERE a.k = b.k WINDOW = 5"


def query(time: pa.DataType) -> Any:
    w = session(
        {name: pa.schema([("ts", time), ("k", pa.int64())]).empty_table() for name in ("a", "b")},
        time="ts",
    )
    sql = JOIN if time == pa.int64() else JOIN.replace("5", "INTERVAL '5' SECONDS")
    return planned(w, sql)


def classic(**figures: int) -> Row:
    return Row(**figures)


def connect(**figures: int) -> Row:
    schema = {"type": "struct", "fields": [{"name": name} for name in figures]}
    return Row("values", "schema")(list(figures.values()), schema)


def report(physical: Any, row: Any, watermark: str | None, batch: int = 0, **stage: Any) -> dict:
    def named(what: str) -> str:
        return metric_name(physical.root, what)

    return {
        "batchId": batch,
        "eventTime": {} if watermark is None else {"watermark": watermark},
        "durationMs": {"triggerExecution": 12},
        "observedMetrics": {
            named("scan_0"): row(rows=3),
            named("scan_1"): row(rows=4),
            named("stage_0"): row(**stage),
            named("answer"): row(rows=2),
        },
    }


@pytest.mark.parametrize("row", [classic, connect])
def test_work_is_added_up_and_levels_follow_their_changes(row: Any) -> None:
    physical = query(pa.int64())
    reader = ProgressReader(physical)
    reader.read(report(physical, row, None, rows_in=7, stored=7, stored_change=7, late=1))
    # The watermark stands still: only the buckets that had rows report.
    figures = {"rows_in": 2, "stored": 3, "stored_change": 2, "late": None}
    second = reader.read(report(physical, row, None, 1, **figures))
    assert (second.batch, second.rows_in, second.rows_out, second.ms) == (1, 14, 4, 12)
    assert (second.stored, second.late) == (9, 1)
    assert second.operators["WJoin a, b"]["rows_in"] == 9


def test_a_reader_that_comes_later_knows_all_levels_once_the_watermark_moves() -> None:
    physical = query(pa.int64())
    reader = ProgressReader(physical)
    early, late = "+144683-05-23T16:29:40.496Z", "+144683-05-23T16:29:41.496Z"
    assert reader.read(report(physical, classic, early, stored=3, stored_change=1)).stored == 3
    assert reader.read(report(physical, classic, late, stored=8, stored_change=-2)).stored == 8


def test_a_stream_under_two_aliases_is_read_once() -> None:
    w = session({"a": pa.schema([("ts", pa.int64())]).empty_table()}, time="ts")
    physical = planned(w, "SELECT p.ts FROM a p, a q WHERE p.ts = q.ts WINDOW = 5")
    assert ProgressReader(physical).read(report(physical, classic, None, late=0)).rows_in == 3


@pytest.mark.parametrize(
    ("time", "shown", "tick"),
    [
        (pa.timestamp("us", "UTC"), "4020-03-01T00:00:00.250Z", 1_583_020_800_250_000),
        (pa.timestamp("us", "UTC"), "1970-01-01T00:00:00.000Z", MIN_TICK),
        (pa.int64(), "+144683-05-23T16:29:40.496Z", 10_000),
    ],
)
def test_the_watermark_is_shown_in_true_time(time: pa.DataType, shown: str, tick: int) -> None:
    physical = query(time)
    record = ProgressReader(physical).read(report(physical, classic, shown, stored=0))
    assert record.watermark == tick


@pytest.mark.parametrize("row", [classic, connect])
def test_plans_are_those_of_the_newest_micro_batch_and_their_steps_are_added_up(row: Any) -> None:
    physical = query(pa.int64())
    reader = ProgressReader(physical)
    assert reader.read(report(physical, row, None, late=0)).plans == {"WJoin a, b": "bew-hash"}
    first = {"steps by bew-hash": 4, "steps by btree/hash": 0}
    reader.read(report(physical, row, None, 1, **first))
    second = {"steps by bew-hash": 1, "steps by btree/hash": 3, "plan_changes": 3}
    record = reader.read(report(physical, row, None, 2, **second))
    assert record.plans == {"WJoin a, b": "btree/hash (3), bew-hash (1)"}
    assert record.plan_steps == {"WJoin a, b": {"bew-hash": 5, "btree/hash": 3}}
    assert record.plan_changes == 3
    # A micro-batch without rows tells nothing new.
    idle = {"steps by bew-hash": 0, "steps by btree/hash": None}
    assert reader.read(report(physical, row, None, 3, **idle)).plans == record.plans
