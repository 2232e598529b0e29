"""Joins without an equality on Spark: slices of time, each combination once, the work spread."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bags import bag
from differential.real_data import connection, departures
from spark_runs import FileStream, SingleRun, Streams, table

import windrow

FLIGHTS = pa.schema(
    [("ts", pa.timestamp("us")), ("carrier", pa.string()), ("flight", pa.int64()),
     ("distance", pa.int64())]
)  # fmt: skip
DDL = "ts timestamp_ntz, carrier string, flight bigint, distance bigint"
SELECTED = "e.ts AS ets, e.flight AS e, j.flight AS j"
CONDITION = "e.distance < j.distance AND e.carrier <> j.carrier"
DAYS = 2


def flights(origin: str) -> list[pa.Table]:
    """Departures from one airport, a table per day."""
    own = departures(1).filter(pc.equal(departures(1)["origin"], origin))
    first = datetime(2013, 1, 1)  # noqa: DTZ001  # the stream has no time zone
    days = [(first + timedelta(n), first + timedelta(n + 1)) for n in range(DAYS)]
    return [
        own.filter(
            pc.and_(pc.greater_equal(own["ts"], begin), pc.less(own["ts"], end))
        ).select(FLIGHTS.names)
        for begin, end in days
    ]  # fmt: skip


@pytest.mark.parametrize("is_streaming", [False, True], ids=["batch", "streaming"])
def test_flights_that_leave_about_the_same_time_are_paired_as_duckdb_has_it(
    spark: Any, tmp_path: Path, is_streaming: bool
) -> None:
    tables = {name: flights(name.upper()) for name in ("ewr", "jfk")}
    session, database = windrow.Session(spark), connection()
    for name, days in tables.items():
        files = FileStream(tmp_path / name, FLIGHTS)
        files.write(*days)
        session.stream(name, files.read(spark, DDL, is_streaming=is_streaming), time="ts")
        database.register(name, pa.concat_tables(days))
    # Most flights leave on the hour or at half past, where slices of half an hour begin.
    on_boundary = pc.minute(pa.concat_tables(tables["ewr"])["ts"]).to_pylist()
    assert on_boundary.count(0) + on_boundary.count(30) > 100
    query = f"SELECT {SELECTED} FROM ewr e, jfk j WHERE {CONDITION} WINDOW = INTERVAL '15' MINUTES"
    assert "slices of event time, 30m wide" in session.explain(query)
    answer = session.sql(query)
    if is_streaming:
        run = SingleRun(tmp_path / "run")
        run.finish(answer)
        found = run.rows(spark)
    else:
        found = answer.toArrow()
    expected = database.sql(
        f"SELECT {SELECTED} FROM ewr e, jfk j WHERE {CONDITION} "
        "AND epoch_us(j.ts) - epoch_us(e.ts) BETWEEN -900000000 AND 900000000"
    ).to_arrow_table()
    assert expected.num_rows > 1000
    assert bag(found) == bag(expected)


@pytest.mark.parametrize("is_streaming", [False, True], ids=["batch", "streaming"])
def test_flights_of_two_airports_are_paired_or_come_alone_as_duckdb_has_it(
    spark: Any, tmp_path: Path, is_streaming: bool
) -> None:
    tables = {name: flights(name.upper())[:1] for name in ("ewr", "jfk")}
    session, database = windrow.Session(spark), connection()
    for name, days in tables.items():
        files = FileStream(tmp_path / name, FLIGHTS)
        files.write(*days)
        session.stream(name, files.read(spark, DDL, is_streaming=is_streaming), time="ts")
        database.register(name, pa.concat_tables(days))
    selected = f"{SELECTED}, j.ts AS jts"
    condition = "e.distance < j.distance AND e.carrier <> j.carrier AND e.flight > 1000"
    query = (
        f"SELECT {selected} FROM ewr e FULL JOIN jfk j ON {condition} "
        "WINDOW (e, j) BETWEEN INTERVAL '15' MINUTES PRECEDING AND INTERVAL '5' MINUTES FOLLOWING"
    )
    assert "slices of event time, 20m wide" in session.explain(query)
    answer = session.sql(query)
    expected = database.sql(
        f"SELECT {selected} FROM ewr e FULL JOIN jfk j ON {condition} "
        "AND epoch_us(j.ts) - epoch_us(e.ts) BETWEEN -900000000 AND 300000000"
    )
    if is_streaming:
        run = SingleRun(tmp_path / "run")
        run.finish(answer)
        found = run.rows(spark)
        # What is final: the watermark is that of the stream that ended first.
        newest = min(pc.max(pa.concat_tables(days)["ts"]).as_py() for days in tables.values())
        expected = expected.filter(
            "e IS NOT NULL AND j IS NOT NULL"
            f" OR j IS NULL AND ets + INTERVAL 5 MINUTE < TIMESTAMP '{newest}'"
            f" OR e IS NULL AND jts + INTERVAL 15 MINUTE < TIMESTAMP '{newest}'"
        )
    else:
        found = answer.toArrow()
    rows = expected.to_arrow_table()
    alone = [rows[name].null_count for name in ("e", "j")]
    assert min(alone) > 20
    assert rows.num_rows - sum(alone) > 100
    assert bag(found) == bag(rows)


@pytest.mark.partitions(4)
def test_with_uniform_times_no_task_holds_over_40_percent(spark: Any, tmp_path: Path) -> None:
    rows = [(tick, "k", 0) for tick in range(2000)]
    streams = Streams(tmp_path, {"x": [table(rows)], "y": [table(rows)]})
    streams.write_all()
    run = SingleRun(tmp_path / "run")
    # The lateness keeps every row in the state; slices are 500 wide.
    session = streams.on_spark(spark, lateness=9999)
    run.finish(session.sql("SELECT x.ts FROM x, y WHERE x.v < y.v WINDOW = 250"))
    stored = run.tuples_per_task(spark)
    assert len(stored) == 4
    assert sum(stored) > 5_000
    assert max(stored) < 0.4 * sum(stored)
