"""Late rows on Spark: counted, kept aside exactly once, or fatal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from bags import bag
from pyspark.errors import StreamingQueryException
from spark_runs import Run, SingleRun, Streams, table

from windrow.errors import PlanError

JOIN = "SELECT x.ts, y.ts AS yts FROM x, y WHERE x.k = y.k AND x.v < 9 WINDOW = 50"

# The watermark is 10 as the second batch begins: 10 is in time, 9 and NULL are not. A row that
# the WHERE removes is no late row.
FIRST = [(10, "a", 1), (12, "a", 1)]
SECOND = [(10, "a", 2), (9, "a", 3), (None, "a", 4), (3, "a", 9)]


@pytest.fixture
def streams(tmp_path: Path) -> Streams:
    found = Streams(
        tmp_path,
        {"x": [table(FIRST), table(SECOND)], "y": [table([(12, "a", 0)]), table([(20, "a", 0)])]},
    )
    found.write_all()
    return found


def test_late_rows_are_counted_and_left_out(spark: Any, streams: Streams, tmp_path: Path) -> None:
    session = streams.on_spark(spark, lateness=2)
    run, reader = SingleRun(tmp_path / "run"), session.progress_reader(JOIN)
    run.finish(session.sql(JOIN))
    records = [reader.read(report) for report in run.reports]
    assert [(record.late, record.null_time) for record in records] == [(0, 0), (1, 1)]
    pairs = [(x, y) for x in (10, 12, 10) for y in (12, 20)]
    assert sorted(bag(run.rows(spark)).elements()) == sorted(pairs)


def test_so_they_are_in_a_union_with_what_has_a_stage(
    spark: Any, streams: Streams, tmp_path: Path
) -> None:
    sql = "SELECT DISTINCT v FROM y [RANGE 5] UNION ALL SELECT v FROM x [RANGE 5] WHERE v < 9"
    session = streams.on_spark(spark, lateness=2)
    run, reader = SingleRun(tmp_path / "run"), session.progress_reader(sql)
    run.finish(session.sql(sql))
    records = [reader.read(report) for report in run.reports]
    assert [(record.late, record.null_time) for record in records] == [(0, 0), (1, 1)]
    assert not bag(run.rows(spark))  # what is in time comes once the watermark is beyond 10


# One stream under three aliases, two of them alike, in two stages; the row at 3 is late for q and for
# the outer p, the row at 9 for both that are called p, the row without a time for all three.
ALIASES = (
    "SELECT j.ts, p.ts AS pts FROM "
    "(SELECT p.k, p.ts FROM x p, x q WHERE p.k = q.k AND p.v < 9 AND q.v <> 3 WINDOW = 50) j, x p "
    "WHERE j.k = p.k WINDOW (j, p) = 50"
)


@pytest.mark.parametrize("sql", [JOIN, ALIASES], ids=["two streams", "aliases of one stream"])
def test_late_rows_are_kept_exactly_once(
    spark: Any, streams: Streams, tmp_path: Path, sql: str
) -> None:
    letters = tmp_path / "letters"
    late = [{"ts": 9, "k": "a", "v": 3}, {"ts": None, "k": "a", "v": 4}]
    if sql is ALIASES:
        late.append({"ts": 3, "k": "a", "v": 9})
    for _ in range(2):
        run = Run(tmp_path / "run")
        session = streams.on_spark(spark, lateness=2)
        run.finish(session.sql(sql, on_late="keep", dead_letters=str(letters)))
        run.forget_last_commit()  # the batch with the late rows is replayed
    found = [row for path in letters.glob("x/*.parquet") for row in pq.read_table(path).to_pylist()]
    expected = [row | {"_stream": "x", "_event_time": row["ts"]} for row in late]
    assert sorted(found, key=str) == sorted(expected, key=str)
    in_process = streams.in_process(lateness=2).sql(sql, on_late="keep")
    in_process.to_arrow()
    assert sorted(in_process.late["x"].to_pylist(), key=str) == sorted(late, key=str)


def test_a_late_row_can_be_fatal(spark: Any, tmp_path: Path) -> None:
    rows = {"x": [table(FIRST), table([(9, "a", 3)])], "y": [table(FIRST), table([(20, "a", 0)])]}
    streams = Streams(tmp_path, rows)
    streams.write_all()
    df = streams.on_spark(spark, lateness=2).sql(JOIN, on_late="fail")
    with pytest.raises(StreamingQueryException) as fatal:
        SingleRun(tmp_path / "run").finish(df)
    text = str(fatal.value).split("An exception was thrown from the Python worker: ")[1]
    assert text.startswith(
        "DataError[late-row]: a row of x at 9 is late\n"
        "  the watermark was 10 as its batch began; the stream promises a lateness of 2\n"
    )


def test_a_folder_for_late_rows_must_be_named(spark: Any, streams: Streams) -> None:
    with pytest.raises(PlanError) as refused:
        streams.on_spark(spark).sql(JOIN, on_late="keep")
    assert str(refused.value) == (
        "PlanError[no-dead-letters]: late rows are to be kept, but there is no folder for them\n"
        "  hint: name one with the option dead_letters: a path, or on Spark a path or a URI that all"
        " workers reach"
    )


def test_a_batch_run_has_no_late_rows_but_rows_without_a_time(
    spark: Any, streams: Streams, tmp_path: Path
) -> None:
    session = streams.on_spark(spark, is_streaming=False, lateness=2)
    letters = tmp_path / "letters"
    answer = session.sql(JOIN, on_late="keep", dead_letters=str(letters)).toArrow()
    pairs = [(x, y) for x in (10, 12, 10, 9) for y in (12, 20)]
    assert sorted(bag(answer).elements()) == sorted(pairs)
    (path,) = letters.glob("*/*.parquet")
    assert pq.read_table(path)["v"].to_pylist() == [4]


def test_a_bigint_time_that_spark_cannot_hold_is_refused(spark: Any, tmp_path: Path) -> None:
    streams = Streams(tmp_path, {"x": [table([(2**60, "a", 1)])], "y": [table([(1, "a", 1)])]})
    streams.write_all()
    with pytest.raises(StreamingQueryException) as fatal:
        SingleRun(tmp_path / "run").finish(streams.on_spark(spark).sql(JOIN))
    assert "DataError[time-out-of-reach]: an event time of x is beyond 2^52" in str(fatal.value)
