"""Joins that sweep in time order on Spark: they answer as the watermark moves, rows or not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bags import bag
from spark_runs import Run, SingleRun, Streams, closed, draw

JOIN = "SELECT x.v, y.v AS yv, z.v AS zv FROM x, y, z WHERE x.k = y.k AND y.k = z.k WINDOW = 3"
NESTED = (
    "SELECT j.k, COUNT(*) AS n FROM "
    "(SELECT x.k FROM x, y WHERE x.k = y.k WINDOW = 3) j [RANGE 6] GROUP BY j.k"
)


def streams_in(folder: Path, batches: int = 2) -> Streams:
    return Streams(folder, {name: closed(draw(seed, batches)) for seed, name in enumerate("xyz")})


def before_the_end(rows: Counter) -> Counter:
    """What does not wait for a watermark that never comes: all but what the far rows change."""
    return Counter({row: n for row, n in rows.items() if "end" not in row})


def test_a_batch_without_rows_gives_what_the_watermark_has_passed(
    spark: Any, tmp_path: Path
) -> None:
    streams, run = streams_in(tmp_path), SingleRun(tmp_path / "run")
    streams.write_all()
    run.finish(streams.on_spark(spark).sql(JOIN, algorithm="lca"))
    whole = bag(streams.in_process().sql(JOIN, algorithm="bew"))
    assert bag(run.rows(spark)) == whole - Counter({(0, 0, 0): 1})  # the far rows with each other


@pytest.mark.law
def test_an_aggregate_over_a_sweep_agrees_with_the_one_in_process(
    spark: Any, tmp_path: Path
) -> None:
    streams, run = streams_in(tmp_path), SingleRun(tmp_path / "run")
    streams.write_all()
    run.finish(streams.on_spark(spark).sql(NESTED, algorithm="few"))
    expected = bag(streams.in_process().sql(NESTED))
    assert bag(run.rows(spark)) == before_the_end(expected)


@pytest.mark.law
def test_a_sweep_goes_on_from_a_checkpoint_of_another_algorithm_and_back(
    spark: Any, tmp_path: Path
) -> None:
    streams, run = streams_in(tmp_path, batches=3), Run(tmp_path / "run")
    for batch, algorithm in enumerate(["bew", "few", "bew"]):
        streams.write(batch)
        run.finish(streams.on_spark(spark).sql(JOIN, algorithm=algorithm))
    assert bag(run.rows(spark)) == bag(streams.in_process().sql(JOIN))
