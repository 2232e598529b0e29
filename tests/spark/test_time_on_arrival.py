"""Transaction time on Spark: an instant per micro-batch, which a replayed batch repeats."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bags import bag
from sessions import session
from spark_runs import DDL, SCHEMA, FileStream, Run, SingleRun, table

import windrow

JOIN = (
    "SELECT a.v AS a, b.v AS b, a._arrived AS at_a, b._arrived AS at_b FROM a, b WHERE a.k = b.k "
    "WINDOW = INTERVAL '1' HOUR"
)


def file_streams(
    spark: Any, files: dict[str, FileStream], *, is_streaming: bool
) -> windrow.Session:
    return session(
        {
            name: stream.read(spark, DDL, is_streaming=is_streaming)
            for name, stream in files.items()
        },
        time=windrow.ON_ARRIVAL,
        spark=spark,
    )


def two_streams(folder: Path) -> dict[str, FileStream]:
    files = {name: FileStream(folder / name, SCHEMA) for name in "ab"}
    for stream in files.values():
        stream.write(table([(0, "x", 1)]), table([(0, "x", 2)]))
    return files


def test_a_batch_run_has_one_instant(spark, tmp_path) -> None:
    before = datetime.now(UTC)
    rows = file_streams(spark, two_streams(tmp_path), is_streaming=False).sql(JOIN).toArrow()
    assert sorted(zip(*map(pylist, (rows["a"], rows["b"])), strict=True)) == [
        (1, 1), (1, 2), (2, 1), (2, 2),
    ]  # fmt: skip
    (instant,) = {*pylist(rows["at_a"]), *pylist(rows["at_b"])}
    assert before <= instant <= datetime.now(UTC)


def pylist(column: Any) -> list[Any]:
    return column.to_pylist()


def test_a_streaming_run_joins_by_when_tuples_arrive(spark, tmp_path) -> None:
    run = SingleRun(tmp_path / "run")
    run.finish(file_streams(spark, two_streams(tmp_path), is_streaming=True).sql(JOIN))
    found = run.rows(spark)
    assert bag(found.select(["a", "b"])) == {(1, 1): 1, (1, 2): 1, (2, 1): 1, (2, 2): 1}
    # Two micro-batches: each tuple has the instant of its own.
    instants = {row["a"]: row["at_a"] for row in found.to_pylist()}
    assert instants == {row["b"]: row["at_b"] for row in found.to_pylist()}
    assert instants[1] < instants[2]


@pytest.fixture
def only_batches_with_data(spark):
    """The last micro-batch of a run is then one that has rows."""
    name = "spark.sql.streaming.noDataMicroBatches.enabled"
    spark.conf.set(name, "false")
    yield
    spark.conf.unset(name)


@pytest.mark.usefixtures("only_batches_with_data")
@pytest.mark.parametrize("query", ["SELECT v, _arrived FROM a", JOIN])
def test_a_replayed_batch_repeats_its_instants(spark, tmp_path, query: str) -> None:
    files = two_streams(tmp_path)
    seen: dict[int, list[Any]] = defaultdict(list)

    def take(rows: Any, number: int) -> None:
        seen[number].append(bag(rows.toArrow()))

    run = Run(tmp_path / "run")
    for _ in range(2):
        answer = file_streams(spark, files, is_streaming=True).sql(query)
        writer = answer.writeStream.foreachBatch(take).trigger(availableNow=True)
        writer.option(
            "checkpointLocation", str(run.folder / "checkpoint")
        ).start().awaitTermination()
        run.forget_last_commit()
    assert [len(times) for _, times in sorted(seen.items())] == [1, 2]
    first, again = seen[1]
    assert first == again
    assert first
