"""Stages on Spark: nested, copied, spread, expiring, and counted."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bags import bag
from spark_runs import SingleRun, Streams, closed, draw, table

from windrow.run.spark.stages import labels, murmur3

pytestmark = pytest.mark.partitions(2)

QUERIES = {
    "a join inside an aggregate": (
        "SELECT j.k, COUNT(*) AS n FROM "
        "(SELECT x.k FROM x, y WHERE x.k = y.k WINDOW = 3) j [RANGE 6] GROUP BY j.k"
    ),
    "a bestmatch join inside an aggregate": (
        "SELECT j.k, COUNT(*) AS n FROM (SELECT x.k FROM x LEFT OUTER BESTMATCH JOIN y "
        "ON x.ts MINDIST y.ts, x.v MINDIST y.v WHERE abs(x.ts - y.ts) <= 4 AND abs(x.v - y.v) <= 9"
        ") j [RANGE 6] GROUP BY j.k"
    ),
    "an outer join at every instant": (
        "SELECT x.k, COUNT(*) AS n, COUNT(y.v) AS m, MIN(y.v) AS least, MAX(x.v) AS greatest, "
        "MEDIAN(y.v) AS middle, COUNT(DISTINCT x.v, y.v) AS pairs, VARIANCE(x.v) AS var "
        "FROM x [RANGE 6] LEFT JOIN y [RANGE 3] ON x.k = y.k AND x.v < y.v GROUP BY x.k"
    ),
    "a join whose keys differ": (
        "SELECT x.ts, y.ts AS yts, z.ts AS zts FROM x, y, z "
        "WHERE x.k = y.k AND y.v = z.v WINDOW = 4"
    ),
}
STAGES = {
    "a join inside an aggregate": 1,  # both by k
    "a bestmatch join inside an aggregate": 2,
    "an outer join at every instant": 2,
    "a join whose keys differ": 1,
}
SUM = "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM x [RANGE 5] WHERE v > 2 GROUP BY k"
JOIN = "SELECT x.ts FROM x, y WHERE x.k = y.k WINDOW = 3"


@pytest.mark.law
@pytest.mark.parametrize("sql", QUERIES.values(), ids=QUERIES)
def test_a_batch_run_agrees_with_the_one_in_process(spark: Any, tmp_path: Path, sql: str) -> None:
    streams = Streams(tmp_path, {name: draw(seed, 3) for seed, name in enumerate("xyz")})
    streams.write_all()
    expected = bag(streams.in_process().sql(sql))
    assert bag(streams.on_spark(spark, is_streaming=False).sql(sql).toArrow()) == expected
    assert expected


@pytest.mark.law
@pytest.mark.parametrize("name", QUERIES)
def test_a_streaming_run_agrees_with_the_one_in_process(
    spark: Any, tmp_path: Path, name: str
) -> None:
    sql = QUERIES[name]
    streams = Streams(tmp_path, {name: closed(draw(seed, 2)) for seed, name in enumerate("xyz")})
    streams.write_all()
    expected = bag(streams.in_process().sql(sql))
    run = SingleRun(tmp_path / "run")
    run.finish(streams.on_spark(spark).sql(sql))
    # What the far row changes waits for a watermark that never comes.
    assert bag(run.rows(spark)) == Counter({r: n for r, n in expected.items() if "end" not in r})
    assert len(run.reports[-1]["stateOperators"]) == STAGES[name]


def test_a_join_forgets_nothing_that_the_slowest_stream_of_the_query_still_allows(
    spark: Any, tmp_path: Path
) -> None:
    # x and y are far ahead; z holds the watermark at 5, so that the row of x at 50 is in time, and
    # the row of y at 51 must still be there.
    streams = Streams(
        tmp_path,
        {
            "x": [table([(100, "a", 1)]), table([(50, "a", 2)])],
            "y": [table([(51, "a", 1), (100, "a", 3)]), table([])],
            "z": [table([(5, "a", 1)]), table([(52, "a", 1)])],
        },
    )
    streams.write_all()
    run = SingleRun(tmp_path / "run")
    run.finish(
        streams.on_spark(spark).sql(
            "SELECT j.v, z.ts FROM (SELECT x.k, x.v FROM x, y WHERE x.k = y.k WINDOW = 3) j, z "
            "WHERE j.k = z.k WINDOW (j, z) = 5"
        )
    )
    assert bag(run.rows(spark)) == {(2, 52): 1}


def test_rows_expire_in_a_batch_that_brings_none(spark: Any, tmp_path: Path) -> None:
    streams = Streams(tmp_path, {"x": [table([(1, "a", 5)]), table([(20, "a", 1)])]})
    streams.write_all()
    run = SingleRun(tmp_path / "run")
    run.finish(streams.on_spark(spark).sql(SUM))
    # The row at 20 does not pass the filter, but the stream has come to 20: the sum at 1 is gone
    # at 7, and said to be in the batch without rows that follows.
    assert bag(run.rows(spark)) == {("insert", "a", 5, 1, 1): 1, ("delete", "a", 5, 1, 7): 1}
    assert run.reports[-1]["numInputRows"] == 0


def test_four_buckets_are_four_tasks(spark: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    buckets = spark.createDataFrame([(label,) for label in labels(4, 4)], "bucket int")
    tasks = buckets.repartition(4, "bucket").select(F.spark_partition_id().alias("task")).collect()
    assert sorted(row.task for row in tasks) == [0, 1, 2, 3]


@pytest.mark.partitions(4)
def test_with_uniform_keys_no_task_holds_over_40_percent(spark: Any, tmp_path: Path) -> None:
    rows = [(tick, str(tick % 1000), 0) for tick in range(4000)]
    streams = Streams(tmp_path, {"x": [table(rows)], "y": [table(rows)]})
    streams.write_all()
    run = SingleRun(tmp_path / "run")
    run.finish(streams.on_spark(spark).sql(JOIN.replace("= 3", "= 9999")))
    stored = run.tuples_per_task(spark)
    assert sum(stored) == 8000
    assert len(stored) == 4
    assert max(stored) < 0.4 * 8000


def test_spark_maps_no_columns_whose_names_have_dots(spark: Any) -> None:
    """Why columns are renamed by place before they are packed; once it maps them, that can go."""
    from pyspark.errors import PySparkException

    rows = spark.range(1).withColumnRenamed("id", "s.id")
    with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"):
        rows.mapInArrow(lambda batches: batches, rows.schema).collect()


def test_the_hash_is_the_one_spark_uses(spark: Any) -> None:
    values = [0, 1, -1, 7, 2**31 - 1, -(2**31), *random.Random(3).sample(range(2**31), 50)]
    rows = spark.createDataFrame([(v,) for v in values], "v int").selectExpr("v", "hash(v) AS h")
    assert {row.v: row.h for row in rows.collect()} == {v: murmur3(v) for v in values}


def test_progress_adds_up_to_the_figures_of_the_run_in_process(spark: Any, tmp_path: Path) -> None:
    streams = Streams(tmp_path, {name: draw(seed, 2) for seed, name in enumerate("xy")})
    streams.write_all()
    local = streams.in_process().sql(JOIN)
    local.to_arrow()
    session = streams.on_spark(spark)
    run, reader = SingleRun(tmp_path / "run"), session.progress_reader(JOIN)
    run.finish(session.sql(JOIN))
    records = [reader.read(report) for report in run.reports]
    assert [record.rows_in for record in records] == [24, 48, 48]
    assert records[-1].rows_out == local.progress.rows_out
    assert records[-1].watermark == min(
        max(t["ts"].to_pylist()) for t in (tables[-1] for tables in streams.tables.values())
    )
    (figures,), (expected,) = records[-1].operators.values(), local.progress.operators.values()
    for name in ("rows_in", "rows_out", "late", "null_time"):
        assert figures[name] == expected[name], name
    assert figures["stored"] + figures["drops"] == figures["rows_in"]


def test_rows_of_an_aggregate_without_keys_are_added_up_before_its_one_bucket(
    spark: Any, tmp_path: Path
) -> None:
    # 60 tuples at 5 instants; then two late ones, which are one row by then but are counted as two.
    first = [(tick % 5 + 10, "a", tick) for tick in range(60)]
    streams = Streams(
        tmp_path, {"x": [table(first), table([(3, "a", 1), (3, "a", 2), (30, "a", 3)])]}
    )
    streams.write_all()
    sql = (
        "SELECT SUM(v) AS s, COUNT(*) AS n, AVG(v / 3.0D) AS mean, MIN(v % 7) AS least,"
        " MAX(CAST(v AS STRING)) AS last FROM x [RANGE 5]"
    )
    local = streams.in_process().sql(sql)
    expected = bag(local)
    session = streams.on_spark(spark)
    run, reader = SingleRun(tmp_path / "run"), session.progress_reader(sql)
    run.finish(session.sql(sql))
    assert bag(run.rows(spark)) == Counter({r: n for r, n in expected.items() if r[-1] < 30})
    records = [reader.read(report) for report in run.reports]
    assert records[-1].late == local.progress.late == 2
    (figures,) = records[-1].operators.values()
    assert figures["rows_in"] < 20  # what a double cannot hold of a sum goes on in a second row
    whole = Streams(tmp_path / "batch", {"x": [table(first)]})
    whole.write_all()
    in_batch = whole.on_spark(spark, is_streaming=False).sql(sql)
    assert bag(in_batch.toArrow()) == bag(whole.in_process().sql(sql))
