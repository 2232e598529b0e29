"""Count windows on Spark streaming: what is held after each batch, and by how many tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bags import bag
from spark_runs import SingleRun, Streams, draw, table

pytestmark = pytest.mark.law

ROWS = 2
BATCH, TICKS = 60, 10
QUERIES = {
    "whole": f"SELECT x.v, y.v AS w FROM x [ROWS {ROWS}], y [ROWS {ROWS}] WHERE x.k = y.k",
    "by key": (
        f"SELECT x.v, y.v AS w FROM x [PARTITION BY k ROWS {ROWS}], y [PARTITION BY k ROWS {ROWS}] "
        "WHERE x.k = y.k"
    ),
}
KEYS = len("abcd")


@pytest.mark.partitions(2)
@pytest.mark.parametrize("window", QUERIES)
def test_no_more_is_held_than_the_newest_and_what_the_watermark_has_not_passed(
    spark: Any, tmp_path: Path, window: str
) -> None:
    tables = {name: draw(seed, 2, BATCH, TICKS) for seed, name in enumerate("xy")}
    # Both streams end at one time: what is below it is final, and just these rows wait.
    for own in tables.values():
        own.append(table([(2 * TICKS, "a", 1)]))
    streams, run = Streams(tmp_path, tables), SingleRun(tmp_path / "run")
    streams.write_all()
    run.finish(streams.on_spark(spark).sql(QUERIES[window]))
    held = run.tuples_per_task(spark)
    newest = ROWS * (KEYS if window == "by key" else 1)
    assert sum(held) == 2 * (newest + 1)
    assert (len(held) > 1) == (window == "by key")
    answer = bag(streams.in_process().sql(QUERIES[window]))
    found = bag(run.rows(spark))
    assert found <= answer
    assert sum(answer.values()) - sum(found.values()) <= 2 * ROWS + 1  # by the rows that wait
    assert sum(found.values()) > 50
