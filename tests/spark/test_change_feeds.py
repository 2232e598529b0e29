"""Streams of changes on Spark: deletes find their rows, over a restart too."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from pyspark.errors import PySparkException
from sessions import session
from spark_runs import FileStream, Run

SCHEMA = pa.schema([("k", pa.int64()), ("x", pa.string()), ("ts", pa.int64()), ("op", pa.string())])
DDL = "k bigint, x string, ts bigint, op string"
SQL = "SELECT k, COUNT(*) AS n, MAX(x) AS most FROM feed [RANGE 9] GROUP BY k"
NEWEST = """
    SELECT k, COUNT(*) FILTER (WHERE x <> 'p') AS n, MIN(x) AS least
    FROM feed [PARTITION BY k ROWS 2] GROUP BY k
"""


def feed() -> list[pa.Table]:
    """Four batches of changes in the order of time; of each two rows one is deleted."""
    random = Random(5)
    changes = []
    for _ in range(60):
        came, k, x = random.randrange(40), random.randrange(3), random.choice("pqr")
        changes.append((came, 1, k, x))
        if random.randrange(2):
            changes.append((came + random.randrange(1, 14), 0, k, x))
    rows = [
        {"k": k, "x": x, "ts": time, "op": ["delete", "insert"][comes]}
        for time, comes, k, x in sorted(changes)
    ]
    size = -(-len(rows) // 4)
    return [
        pa.Table.from_pylist(rows[start : start + size], SCHEMA)
        for start in range(0, len(rows), size)
    ]


@pytest.mark.law
def test_batch_and_a_restarted_stream_give_what_the_process_gives(
    spark: Any, tmp_path: Path
) -> None:
    batches = feed()
    here = session({"feed": pa.concat_tables(batches)}, time="ts", changes="op")
    expected = bag(here.sql(SQL))
    files, run = FileStream(tmp_path / "feed", SCHEMA), Run(tmp_path / "run")
    for part in (batches[:2], batches[2:]):
        files.write(*part)
        there = session(
            {"feed": files.read(spark, DDL, is_streaming=True)},
            time="ts",
            changes="op",
            spark=spark,
        )
        run.finish(there.sql(SQL, buckets=3))
    whole = session(
        {"feed": files.read(spark, DDL, is_streaming=False)}, time="ts", changes="op", spark=spark
    )
    assert bag(whole.sql(SQL, buckets=3).toArrow()) == expected
    assert bag(whole.sql(NEWEST, buckets=3).toArrow()) == bag(here.sql(NEWEST))
    watermark = max(batches[-1]["ts"].to_pylist())
    final = {row: n for row, n in expected.items() if row[-1] < watermark}
    assert len(final) > 40
    assert bag(run.rows(spark)) == final


def test_a_change_of_no_known_kind_fails_the_query_in_our_words(spark: Any) -> None:
    frame = spark.createDataFrame([(1, "p", 5, "upsert")], DDL)
    w = session({"feed": frame}, time="ts", changes="op", spark=spark)
    with pytest.raises(PySparkException) as failed:
        w.sql(SQL).collect()
    assert "DataError[unknown-change]: op is 'upsert'\n" in str(failed.value)
