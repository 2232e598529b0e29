"""Plans that Spark's workers choose: they change between micro-batches, and no answer does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from sessions import session
from spark_runs import DDL, Run, SingleRun, Streams, table
from twins.join import Bound, Row, window_join

import windrow

BAND = "SELECT x.ts, y.ts AS yts, x.v, y.v AS yv FROM x, y WHERE abs(x.v - y.v) < 2 WINDOW = 300"
NAME = "WJoin x, y"


def drawn(seed: int, start: int, rows: int) -> pa.Table:
    chance = Random(seed)
    return table([(start + chance.randrange(300), "k", chance.randrange(900)) for _ in range(rows)])


def streams_of(folder: Path, *rows: int) -> Streams:
    """Micro-batches of so many rows each, 300 ticks apart."""
    return Streams(
        folder,
        {
            name: [drawn(10 * at + port, 300 * at, count) for at, count in enumerate(rows)]
            for port, name in enumerate("xy")
        },
    )


def file_streams(spark: Any, streams: Streams, *, is_streaming: bool = True) -> windrow.Session:
    """The streams with doubles to compare: distances of whole numbers hardly cost a loop anything."""
    return session(
        {
            name: files.read(spark, DDL, is_streaming=is_streaming).selectExpr(
                "ts", "CAST(v AS DOUBLE) AS v"
            )
            for name, files in streams.files.items()
        },
        time="ts",
        spark=spark,
    )


def twin(streams: Streams) -> Counter[tuple[Any, ...]]:
    """The answer, by trying every pair."""
    inputs = [
        [Row(row, row["ts"]) for part in parts for row in part.to_pylist()]
        for parts in streams.tables.values()
    ]
    pairs = (pair.rows for pair in window_join(inputs, [], [Bound(0, 1, 300, 300)]))
    return Counter(
        (a.time, b.time, a.values["v"], b.values["v"])
        for a, b in pairs
        if abs(a.values["v"] - b.values["v"]) < 2
    )


@pytest.mark.law
def test_a_plan_changes_between_micro_batches_and_the_answer_is_the_twin_s(
    spark: Any, tmp_path: Path
) -> None:
    streams, run = streams_of(tmp_path, 5, 600), SingleRun(tmp_path / "run")
    streams.write_all()
    session = file_streams(spark, streams)
    run.finish(session.sql(BAND, buckets=1))
    reader = session.progress_reader(BAND, buckets=1)
    plans = {}
    for report in run.reports:
        progress = reader.read(report)
        plans[progress.batch] = progress.plans[NAME]
    assert plans[0] == "bew-nested-loop"
    assert "tree" in plans[1]
    assert progress.plan_steps[NAME] == {plans[0]: 1, plans[1]: 1}
    assert bag(run.rows(spark)) == twin(streams)
    assert "chosen      in the worker" in session.explain(BAND)


@pytest.mark.law
def test_a_query_stopped_under_a_forced_plan_goes_on_by_the_workers_choice(
    spark: Any, tmp_path: Path
) -> None:
    streams, run = streams_of(tmp_path, 60, 500), Run(tmp_path / "run")
    streams.write(0)
    # A sweep answers later than other plans, and leaves rows that are still to be joined.
    run.finish(file_streams(spark, streams).sql(BAND, buckets=1, algorithm="few"))
    streams.write(1)
    session = file_streams(spark, streams)
    run.finish(session.sql(BAND, buckets=1))
    reader = session.progress_reader(BAND, buckets=1)
    plans = [reader.read(report).plans[NAME] for report in run.reports]
    assert "tree" in plans[-1]
    assert bag(run.rows(spark)) == twin(streams)


def test_a_batch_run_is_planned_by_its_first_rows(spark: Any, tmp_path: Path) -> None:
    streams = streams_of(tmp_path, 600)
    streams.write_all()
    session = file_streams(spark, streams, is_streaming=False)
    answer = session.sql(BAND, buckets=2)
    assert bag(answer.toArrow()) == twin(streams)
    progress = session.progress(answer)
    assert "tree" in progress.plans[NAME]
    assert sum(progress.plan_steps[NAME].values()) == 2
    assert "by its first rows" in session.explain(BAND)
