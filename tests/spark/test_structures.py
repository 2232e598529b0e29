"""Window structures on Spark: streaming, stopped with some structures, gone on with others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bags import bag
from spark_runs import Run, SingleRun, Streams, draw, table

BAND = "SELECT x.ts, y.ts AS yts, x.v, y.v AS yv FROM x, y WHERE abs(x.v - y.v) < 2 WINDOW = 4"
EQUAL = "SELECT x.ts, y.ts AS yts, x.v, y.v AS yv FROM x, y WHERE x.k = y.k WINDOW = 4"


def streams_of(folder: Path) -> Streams:
    # The last rows join nothing, and move the watermark beyond all others.
    tables = {
        name: [*draw(seed, 3), table([(1000 + 100 * seed, f"end of {name}", 99)])]
        for seed, name in enumerate("xy")
    }
    return Streams(folder, tables)


def test_a_band_by_trees_gives_the_answer_of_the_default_in_process(
    spark: Any, tmp_path: Path
) -> None:
    streams = streams_of(tmp_path)
    streams.write_all()
    wanted = bag(streams.in_process().sql(BAND))
    run = SingleRun(tmp_path / "run")
    run.finish(streams.on_spark(spark).sql(BAND, structure="ttree/btree", buckets=2))
    assert wanted
    assert bag(run.rows(spark)) == wanted


@pytest.mark.law
def test_a_checkpoint_is_continued_with_other_structures(spark: Any, tmp_path: Path) -> None:
    streams = streams_of(tmp_path)
    run = Run(tmp_path / "run")
    streams.write(0)
    streams.write(1)
    run.finish(streams.on_spark(spark).sql(EQUAL, structure="hash/ttree", buckets=2))
    streams.write(2)
    streams.write(3)
    run.finish(streams.on_spark(spark).sql(EQUAL, structure="buffer/btree", buckets=2))
    assert bag(run.rows(spark)) == bag(streams.in_process().sql(EQUAL))
