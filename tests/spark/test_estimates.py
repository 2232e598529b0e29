"""Estimates over a join that sheds on Spark: those that one process gives, stopped or not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from spark_runs import Run, Streams, bag, closed, draw

TOTALS = (
    "SELECT x.k, COUNT(*) AS n, AVG(y.v) AS m FROM x [RANGE 16], y [RANGE 16]"
    " WHERE x.k = y.k GROUP BY x.k"
)
SHORT = {"service_rate": 2, "on_service_rate": "shed", "shed_least_rate": "40%", "buckets": 1}


def test_a_query_that_is_stopped_and_goes_on_gives_the_estimates_of_one_process(
    spark: Any, tmp_path: Path
) -> None:
    tables = {name: closed(draw(seed, 2, rows=40, ticks=16)) for seed, name in enumerate("xy")}
    streams, run = Streams(tmp_path, tables), Run(tmp_path / "run")
    for batches in ([0], [1, 2]):
        for batch in batches:
            streams.write(batch)
        run.finish(streams.on_spark(spark).sql(TOTALS, **SHORT))
    made = streams.in_process().sql(TOTALS, **SHORT).to_arrow()
    shown = list(zip(*ends(made), strict=True))
    assert any(high is not None and low < n < high for n, low, high in shown)
    assert any(high is None for _, _, high in shown)
    assert decided(run.rows(spark)) == decided(made)
    batch_run = streams.on_spark(spark, is_streaming=False).sql(TOTALS, **SHORT)
    assert bag(batch_run.toArrow()) == bag(made)


def ends(table: pa.Table) -> list[list[float]]:
    return [table[name].to_pylist() for name in ("n", "n_low", "n_high")]


def decided(table: pa.Table) -> Counter:
    """The changes that the last watermark has passed while streaming."""
    return Counter({row: many for row, many in bag(table).items() if row[-1] < 900})
