"""A query's memory on Spark: old tuples on disk change nothing; too little without it is said."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from bags import bag
from pyspark.errors import PySparkException
from spark_runs import SingleRun, Streams, draw

pytestmark = pytest.mark.partitions(2)

JOIN = "SELECT x.ts, y.ts AS yts FROM x, y WHERE x.k = y.k WINDOW = 12"


@pytest.mark.law
def test_a_join_that_keeps_its_tuples_on_disk_gives_the_same_answer(
    spark: Any, tmp_path: Path
) -> None:
    streams = Streams(tmp_path, {name: draw(seed, 3) for seed, name in enumerate("xy")})
    streams.write_all()
    expected = bag(streams.in_process().sql(JOIN))
    options = {"memory": 4, "on_memory": "spill"}
    run = SingleRun(tmp_path / "run")
    run.finish(streams.on_spark(spark).sql(JOIN, **options))
    assert bag(run.rows(spark)) == expected
    batch = streams.on_spark(spark, is_streaming=False).sql(JOIN, **options)
    assert bag(batch.toArrow()) == expected


def test_a_join_that_may_hold_too_little_says_so(spark: Any, tmp_path: Path) -> None:
    streams = Streams(tmp_path, {name: draw(seed, 2) for seed, name in enumerate("xy")})
    streams.write_all()
    with pytest.raises(PySparkException, match="memory-exceeded") as error:
        SingleRun(tmp_path / "run").finish(streams.on_spark(spark).sql(JOIN, memory="400 B"))
    text = str(error.value)
    assert re.search(r"bucket \d of WJoin x, y holds [\d.]+ k?B of state, more than its part", text)
    assert "part of the memory, 200 B" in text
    assert "the query's 400 B are divided among its 2 buckets" in text
    assert "on_memory" in text
