"""Changelogs on Spark: updates among them, and what is true at an instant."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from pyspark.errors import PySparkException
from spark_runs import FAR, SingleRun, Streams, closed, draw

import windrow
from windrow.errors import BindError, UnsupportedError

SUMS = "SELECT k, SUM(v) AS s FROM x [RANGE 15] WHERE v > 2 GROUP BY k HAVING SUM(v) > 7"


def streams_of(folder: Path) -> Streams:
    return Streams(folder, {"x": closed(draw(3, 2))})


def test_updates_are_told_in_batch_and_streaming_as_in_process(spark: Any, tmp_path: Path) -> None:
    streams = streams_of(tmp_path)
    streams.write_all()
    expected = bag(streams.in_process().sql(SUMS, updates=True))
    kinds = Counter(row[0] for row in expected.elements())
    assert min(kinds[kind] for kind in ("insert", "delete", "update_preimage")) > 2
    assert kinds["update_preimage"] == kinds["update_postimage"]
    batch = streams.on_spark(spark, is_streaming=False).sql(SUMS, updates=True)
    assert bag(batch.toArrow()) == expected
    run = SingleRun(tmp_path / "run")
    run.finish(streams.on_spark(spark).sql(SUMS, updates=True))
    final = Counter({row: n for row, n in expected.items() if not {FAR, "end"} & set(row)})
    assert bag(run.rows(spark)) == final


JOINS = {
    "emit changes": (
        "SELECT x.k, y.v FROM x [RANGE 9], y [RANGE 15] WHERE x.k = y.k AND x.v < y.v "
        "WINDOW (x, y) = 6 EMIT CHANGES"
    ),
    "joined aggregates": (
        "SELECT p.n, q.n AS m FROM (SELECT k, COUNT(*) AS n FROM x [RANGE 9] GROUP BY k) p "
        "JOIN (SELECT k, SUM(v) AS n FROM y [RANGE 15] GROUP BY k) q ON p.k = q.k"
    ),
    "without an equality": (
        "SELECT DISTINCT p.n, y.v FROM (SELECT k, COUNT(*) AS n FROM x [RANGE 9] GROUP BY k) p, "
        "y [RANGE 4] WHERE p.n < y.v"
    ),
}


@pytest.mark.parametrize("family", JOINS)
def test_joins_of_what_comes_and_goes_in_a_batch_run(
    spark: Any, tmp_path: Path, family: str
) -> None:
    streams = Streams(tmp_path, {name: draw(seed, 2) for seed, name in enumerate("xy")})
    streams.write_all()
    expected = bag(streams.in_process().sql(JOINS[family]))
    assert len(expected) > 20
    found = streams.on_spark(spark, is_streaming=False).sql(JOINS[family], buckets=3)
    assert bag(found.toArrow()) == expected


def test_the_state_at_an_instant_is_that_in_process(spark: Any, tmp_path: Path) -> None:
    streams = streams_of(tmp_path)
    streams.write_all()
    ask = "SELECT k, v, COUNT(*) AS n FROM x [RANGE 15] GROUP BY k, v"
    here, there = streams.in_process(), streams.on_spark(spark, is_streaming=False)
    changes = here.sql(ask, updates=True).to_arrow()
    on_spark = there.sql(ask, updates=True)
    for instant in (-1, 9, 21):
        expected = here.state_at(changes, instant)
        found = there.state_at(on_spark, instant).toArrow()
        assert found.column_names == ["k", "v", "n"]
        assert bag(found) == bag(expected), instant


def test_copies_and_nested_rows_are_counted(spark: Any) -> None:
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    row = {"tags": ["p", None], "at": {"x": 1}, "notes": {"a": 1.0}}
    rows = [
        {**row, "_change_type": kind, "_event_time": noon}
        for kind in ("insert", "insert", "update_preimage", "update_postimage")
    ]
    ddl = "tags array<string>, at struct<x:int>, notes map<string,double>"
    frame = spark.createDataFrame(rows, f"{ddl}, _change_type string, _event_time timestamp")
    w = windrow.Session(spark)
    found = w.state_at(frame, noon).toArrow().to_pylist()
    assert found == [{"tags": ["p", None], "at": {"x": 1}, "notes": [("a", 1.0)]}] * 2
    with pytest.raises(BindError, match="is not a TIMESTAMP, which _event_time is"):
        w.state_at(frame, noon.date())


BAD = {
    "delete-without-insert": "more copies of a row have gone than came",
    "unknown-change": "_change_type is 'upsert'",
}


@pytest.mark.parametrize(("kind", "condition"), [("delete", 0), ("upsert", 1)])
def test_bad_data_is_told_in_the_same_words(spark: Any, kind: str, condition: int) -> None:
    name, sentence = list(BAD.items())[condition]
    frame = spark.createDataFrame([(1, kind, 5)], "k int, _change_type string, _event_time bigint")
    with pytest.raises(PySparkException) as failed:
        windrow.Session(spark).state_at(frame, 5).collect()
    assert f"DataError[{name}]: {sentence}\n" in str(failed.value)


def test_a_streaming_changelog_has_no_state(spark: Any, tmp_path: Path) -> None:
    streams = streams_of(tmp_path)
    session = streams.on_spark(spark)
    with pytest.raises(UnsupportedError) as refused:
        session.state_at(session.sql(SUMS), 5)
    assert str(refused.value) == (
        "UnsupportedError[streaming-changelog]: the changelog is a streaming DataFrame, which has"
        " no last change\n"
        "  hint: write it to a table, and give that: state_at(spark.read.parquet(..), T)"
    )


def test_what_is_no_dataframe_is_refused(spark: Any) -> None:
    with pytest.raises(BindError, match="takes Spark DataFrames, not Table"):
        windrow.Session(spark).state_at(pa.table({"k": [1]}), 5)
