"""Stopped, killed, replayed, or given another query's checkpoint."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bags import bag
from pyspark.errors import StreamingQueryException
from spark_runs import FAR, Run, Streams, closed, draw

from windrow.errors import PlanError
from windrow.run.progress import renderer
from windrow.run.spark import bucket_worker
from windrow.run.spark.bucket_worker import BucketWorker
from windrow.run.spark.chunk_cache import ChunkCache
from windrow.run.spark.progress import await_query

pytestmark = pytest.mark.partitions(2)

JOIN = "SELECT x.ts, y.ts AS yts, x.v FROM x, y WHERE x.k = y.k WINDOW = 15"
QUERIES = {
    "join": JOIN,
    "aggregate": (
        "SELECT k, SUM(v) AS s, COUNT(*) AS n, MIN(v) AS least, MAX(CAST(v AS STRING)) AS last,"
        " MEDIAN(v) AS mid, COUNT(DISTINCT v) AS d, COUNT(DISTINCT v, ts) AS pairs,"
        " SUM(DISTINCT v) AS ds, STDDEV(v) AS dev, VAR_POP(v) AS var, MAX_BY(ts, v) AS by_v,"
        " MIN_BY(CAST(v AS STRING), ts) AS by_ts FROM x [RANGE 15] GROUP BY k"
    ),
    "bestmatch": (
        "SELECT x.ts, y.ts AS yts FROM x LEFT OUTER BESTMATCH JOIN y "
        "ON x.ts MINDIST y.ts, x.v MINDIST y.v WHERE abs(x.ts - y.ts) <= 4 AND abs(x.v - y.v) <= 9"
    ),
    "outer": "SELECT x.ts, y.ts AS yts FROM x FULL JOIN y ON x.k = y.k AND x.v < y.v WINDOW = 7",
    "count": (
        "SELECT x.ts, y.ts AS yts, x.v FROM x [PARTITION BY k ROWS 2], y [PARTITION BY k ROWS 1] "
        "WHERE x.k = y.k AND x.v <> y.v"
    ),
    "emit changes": (
        "SELECT x.k, y.v FROM x [RANGE 9], y [RANGE 15] WHERE x.k = y.k AND x.v < y.v "
        "WINDOW (x, y) = 6 EMIT CHANGES"
    ),
    "sets and a snapshot join": (
        "SELECT p.k, p.n, y.v FROM (SELECT e.k, COUNT(*) AS n FROM ("
        "SELECT k, v FROM x [RANGE 9] EXCEPT ALL "
        "(SELECT k, v FROM y [RANGE 7] UNION ALL SELECT DISTINCT k, v FROM x [RANGE 3])"
        ") e GROUP BY e.k) p JOIN y [RANGE 4] ON p.k = y.k AND p.n < y.v"
    ),
    "nested": (
        "SELECT j.k, COUNT(*) AS n FROM "
        "(SELECT x.k FROM x, y WHERE x.k = y.k WINDOW = 3) j [RANGE 6] GROUP BY j.k"
    ),
}


TWO_STAGES = QUERIES["nested"].replace("GROUP BY j.k", "GROUP BY j.k + 1").replace("j.k, ", "")


def growing(folder: Path) -> Streams:
    return Streams(folder, {name: closed(draw(seed, 2)) for seed, name in enumerate("xy")})


def uninterrupted(streams: Streams, family: str) -> Counter:
    """What the watermark lets a query give that never stops, as one process has it."""
    whole = bag(streams.in_process().sql(QUERIES[family]))
    if family == "join":
        return whole
    # What the far rows change, then or later, waits for a watermark that never comes.
    return Counter({row: n for row, n in whole.items() if not any(map(_is_far, row))})


def _is_far(value: Any) -> bool:
    return value == "end" or (isinstance(value, int) and value >= FAR)


@pytest.mark.law
@pytest.mark.parametrize("family", QUERIES)
def test_neither_a_stop_after_every_batch_nor_a_crash_before_a_commit_changes_anything(
    spark: Any, tmp_path: Path, family: str
) -> None:
    streams, run = growing(tmp_path), Run(tmp_path / "run")
    for batch in range(streams.batches):
        streams.write(batch)
        run.finish(streams.on_spark(spark).sql(QUERIES[family]))
        if batch == 0:
            run.forget_last_commit()  # the next run replays the first batch
    expected = uninterrupted(streams, family)
    assert bag(run.rows(spark)) == expected
    assert expected


@pytest.mark.law
def test_the_algorithm_may_change_and_the_cache_may_be_cold(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cold(BucketWorker):
        """Finds nothing in any cache: all chunks come from the state store."""

        def open(self, handle: Any, declared: Any) -> None:
            super().open(handle, declared)
            self.cache = ChunkCache(None, 0, 0)

    monkeypatch.setattr(bucket_worker, "BucketWorker", Cold)
    streams, run = growing(tmp_path), Run(tmp_path / "run")
    for batch in range(streams.batches):
        streams.write(batch)
        algorithm = ("bew-hash", "bew-nested-loop")[batch % 2]
        run.finish(streams.on_spark(spark).sql(JOIN, algorithm=algorithm))
    monkeypatch.undo()
    assert bag(run.rows(spark)) == uninterrupted(streams, "join")


def failure_of(run: Run, df: Any) -> str:
    """What the user reads first of a failure in a worker."""
    with pytest.raises(StreamingQueryException) as failed:
        run.finish(df)
    text = str(failed.value)
    assert "Traceback" not in text
    return text.split("An exception was thrown from the Python worker: ")[1]


def test_the_checkpoint_of_another_query_is_refused(spark: Any, tmp_path: Path) -> None:
    streams, run = growing(tmp_path), Run(tmp_path / "run")
    streams.write(0)
    run.finish(streams.on_spark(spark).sql(JOIN))
    before = bag(run.rows(spark))
    streams.write(1)
    text = failure_of(run, streams.on_spark(spark).sql(JOIN.replace("= 15", "= 16")))
    assert text.startswith(
        "PlanError[checkpoint-of-another-query]: the checkpoint was made by a different query\n"
        "  it holds the state of: window join of x, y; this stage is: window join of x, y\n"
        "  hint: give this query a checkpointLocation of its own\n"
    )
    computed = JOIN.replace("SELECT ", "SELECT 1 AS one, ")
    text = failure_of(run, streams.on_spark(spark).sql(computed))
    assert text.startswith(
        "PlanError[checkpoint-of-another-query]: the checkpoint was made by a different query\n"
        "  this stage is the same, but not what the query makes of its rows\n"
    )
    assert bag(run.rows(spark)) == before


@pytest.mark.parametrize("sql", [TWO_STAGES, QUERIES["aggregate"]], ids=["stages", "streams"])
def test_a_checkpoint_with_other_stages_or_streams_is_refused(
    spark: Any, tmp_path: Path, sql: str
) -> None:
    streams, run = growing(tmp_path), Run(tmp_path / "run")
    streams.write(0)
    run.finish(streams.on_spark(spark).sql(JOIN))
    before = bag(run.rows(spark))
    streams.write(1)
    session = streams.on_spark(spark)
    running = run.start(session.sql(sql))
    with pytest.raises(PlanError) as refused:
        await_query(running, session.progress_reader(sql), renderer("none"))
    assert str(refused.value) == (
        "PlanError[checkpoint-of-another-query]: the checkpoint was made by a different query\n"
        "  that one has another number of streams or of stages\n"
        "  hint: give this query a checkpointLocation of its own"
    )
    assert bag(run.rows(spark)) == before


def test_the_checkpoint_of_other_buckets_is_refused(spark: Any, tmp_path: Path) -> None:
    streams, run = growing(tmp_path), Run(tmp_path / "run")
    streams.write(0)
    run.finish(streams.on_spark(spark).sql(JOIN, buckets=2))
    streams.write(1)
    text = failure_of(run, streams.on_spark(spark).sql(JOIN, buckets=3))
    assert text.startswith(
        "PlanError[checkpoint-of-other-buckets]: the checkpoint has 2 buckets over 2 shuffle "
        "partitions, the query 3 over 2\n"
    )


def test_a_checkpoint_of_an_unknown_version_is_refused(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Newer(BucketWorker):
        """Writes state that only a later Windrow could read."""

        def open(self, handle: Any, declared: Any) -> None:
            super().open(handle, declared)
            write = self._state.write_manifest
            self._state.write_manifest = lambda manifest: write(replace(manifest, version=99))

    streams, run = growing(tmp_path), Run(tmp_path / "run")
    streams.write(0)
    expected = (
        "PlanError[unknown-state-version]: the checkpoint holds state of version 99; this Windrow "
        "reads version 6\n"
    )
    with monkeypatch.context() as patched:
        patched.setattr(bucket_worker, "BucketWorker", Newer)
        # The batch without rows that follows the first already reads what was written.
        assert failure_of(run, streams.on_spark(spark).sql(JOIN)).startswith(expected)
    streams.write(1)
    assert failure_of(run, streams.on_spark(spark).sql(JOIN)).startswith(expected)
