"""Negative tuples on Spark: the plan gives what the usual one gives, batch and streaming."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bags import bag
from spark_runs import FAR, SingleRun, Streams, closed, draw

pytestmark = pytest.mark.law

QUERY = (
    "SELECT x.k, SUM(x.v) AS s FROM x [RANGE 9], (SELECT DISTINCT k FROM y [RANGE 4] WHERE v > 2) d"
    " WHERE x.k = d.k GROUP BY x.k"
)


@pytest.mark.parametrize("is_streaming", [False, True])
def test_rows_that_expire_as_negatives_give_the_same_changes(
    spark: Any, tmp_path: Path, is_streaming: bool
) -> None:
    tables = {name: closed(draw(seed, 2)) for seed, name in enumerate("xy")}
    streams = Streams(tmp_path, tables)
    streams.write_all()
    expected = bag(streams.in_process().sql(QUERY))
    session = streams.on_spark(spark, is_streaming=is_streaming)
    answer = session.sql(QUERY, buckets=2, scheduling="nta")
    if is_streaming:
        run = SingleRun(tmp_path / "run")
        run.finish(answer)
        found = bag(run.rows(spark))
        expected = Counter({row: n for row, n in expected.items() if row[-1] < FAR})
    else:
        found = bag(answer.toArrow())
    assert expected
    assert found == expected
