"""Event time in every type, time zones, and times that Spark's watermark would not see."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from spark_runs import FileStream, SingleRun, Streams, table

import windrow
from windrow.cli.job import Job, JobSink
from windrow.cli.run_spark import _write_batch
from windrow.run.terminal import Terminal
from windrow.schema import MAX_TICK, MIN_TICK

JOIN = "SELECT x.ts, y.ts AS yts FROM x, y WHERE x.k = y.k WINDOW = INTERVAL '{}'"
SUM = "SELECT k, COUNT(*) AS n FROM x [RANGE INTERVAL '{}'] GROUP BY k"

TYPES = {
    "timestamp": (
        pa.timestamp("us", "UTC"),
        datetime(1930, 5, 1, tzinfo=UTC),
        timedelta(seconds=1),
    ),
    "timestamp_ntz": (pa.timestamp("us"), datetime(2024, 3, 10, 1, 59, 59), timedelta(seconds=1)),  # noqa: DTZ001
    "date": (pa.date32(), date(1969, 12, 20), timedelta(days=1)),
}


@pytest.fixture
def new_york(spark: Any) -> Any:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    return spark


def streams(folder: Path, time_type: str) -> tuple[dict[str, FileStream], dict[str, pa.Table]]:
    arrow, first, step = TYPES[time_type]
    schema = pa.schema([("ts", arrow), ("k", pa.int64())])
    files = {name: FileStream(folder / name, schema) for name in "xy"}
    tables = {}
    for name, found in files.items():
        parts = [
            pa.table(
                {"ts": [first + step * (10 * b + i) for i in range(6)], "k": [1] * 6}, schema=schema
            )
            for b in range(2)
        ]
        found.write(*parts)
        tables[name] = pa.concat_tables(parts)
    return files, tables


def test_a_window_beyond_the_last_tick_of_bigint_time_ends_with_it(
    spark: Any, tmp_path: Path
) -> None:
    rows = [(tick, "a", 1) for tick in (MIN_TICK + 1, 5, MAX_TICK - 9, MAX_TICK - 3)]
    found = Streams(tmp_path, {"x": [table(rows)]})
    found.write_all()
    sql = "SELECT k, COUNT(*) AS n FROM x [RANGE 5] GROUP BY k"
    expected = bag(found.in_process().sql(sql))
    assert bag(found.on_spark(spark, is_streaming=False).sql(sql).toArrow()) == expected


@pytest.mark.parametrize("question", [JOIN, SUM], ids=["join", "aggregate"])
@pytest.mark.parametrize("time_type", TYPES)
def test_the_answer_does_not_depend_on_the_time_zone_or_the_century(
    new_york: Any, tmp_path: Path, time_type: str, question: str
) -> None:
    unit = "DAYS" if time_type == "date" else "SECONDS"
    sql = (
        question.format("2") + f" {unit}"
        if question is JOIN
        else question.replace("'{}'", f"'2' {unit}")
    )
    files, tables = streams(tmp_path, time_type)
    local, remote, batch = windrow.Session(), windrow.Session(new_york), windrow.Session(new_york)
    for name, found in files.items():
        local.stream(name, tables[name], time="ts")
        ddl = f"ts {time_type}, k bigint"
        remote.stream(name, found.read(new_york, ddl, is_streaming=True), time="ts")
        batch.stream(name, found.read(new_york, ddl, is_streaming=False), time="ts")
    expected = bag(local.sql(sql))
    assert bag(batch.sql(sql).toArrow()) == expected
    run = SingleRun(tmp_path / "run")
    run.finish(remote.sql(sql))
    newest = max(tables["x"]["ts"].to_pylist())
    # The changes of an aggregate wait for the watermark.
    final = {r: n for r, n in expected.items() if question is JOIN or r[-1] < newest}
    assert bag(run.rows(new_york)) == Counter(final)


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_a_job_writes_times_as_text_to_the_tick(spark: Any, tmp_path: Path, format_: str) -> None:
    tick = datetime(2026, 1, 5, 11, 8, 0, 1, tzinfo=UTC)
    answer = spark.createDataFrame(pa.table({"at": [tick]})).selectExpr(
        "at", "TIMESTAMP_NTZ '2026-01-05 11:08:00.000001' AS there"
    )
    job = Job("ticks", "", (), JobSink(str(tmp_path / "out"), format_))
    _write_batch(job, answer, str(tmp_path / "out"), Terminal())
    last = next((tmp_path / "out").glob(f"*.{format_}")).read_text().splitlines()[-1]
    values = list(json.loads(last).values()) if format_ == "json" else last.split(",")
    assert [datetime.fromisoformat(value) for value in values] == [tick, tick.replace(tzinfo=None)]
