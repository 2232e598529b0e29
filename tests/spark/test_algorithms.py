"""The algorithms of window joins on Spark: their answers, and the figure of what pipelines keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bags import bag
from spark_runs import SingleRun, Streams, draw, table

JOIN = (
    "SELECT x.v AS xv, y.v AS yv, z.v AS zv FROM x, y, z WHERE x.k = y.k AND y.k = z.k "
    "WINDOW (x, y) = 3 AND WINDOW (y, z) = 4"
)


@pytest.mark.parametrize("algorithm", ["few", "hw", "closure"])
def test_a_streaming_run_gives_the_answer_of_the_default_in_process(
    spark: Any, tmp_path: Path, algorithm: str
) -> None:
    # The last rows join nothing, and move the watermark beyond all others.
    tables = {
        name: [*draw(seed, 2), table([(1000, f"end of {name}", 0)])]
        for seed, name in enumerate("xyz")
    }
    streams = Streams(tmp_path, tables)
    streams.write_all()
    wanted = bag(streams.in_process().sql(JOIN))
    session, run = streams.on_spark(spark), SingleRun(tmp_path / "run")
    run.finish(session.sql(JOIN, algorithm=algorithm, buckets=3))
    assert wanted
    assert bag(run.rows(spark)) == wanted

    reader = session.progress_reader(JOIN, algorithm=algorithm)
    kept = [
        reader.read(report).operators["WJoin x, y, z"]["intermediate"] for report in run.reports
    ]
    assert (max(kept) > 0) == (algorithm == "hw")
    assert kept[-1] == 0  # dropped with their tuples
