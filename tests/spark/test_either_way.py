"""A path that is passed either way, on Spark: dense times, many ties, keys and none."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from spark_runs import SCHEMA, SingleRun, Streams

pytestmark = pytest.mark.spark

PATH = "DWINDOW (a, b) = 3 AND DWINDOW (b, c) = 2 EITHER WAY"
QUERY = f"SELECT a.v AS a, b.v AS b, c.v AS c FROM a, b, c WHERE a.k = b.k AND b.k = c.k {PATH}"


def dense(seed: int, batches: int = 3, rows: int = 30) -> list[pa.Table]:
    """Batches of five ticks each, so that most combinations lie within the windows."""
    chance = Random(seed)
    return [
        pa.table(
            {
                "ts": [number * 5 + chance.randrange(5) for _ in range(rows)],
                "k": [chance.choice("xy") for _ in range(rows)],
                "v": list(range(number * rows, (number + 1) * rows)),
            },
            schema=SCHEMA,
        )
        for number in range(batches)
    ]


def streams_of(folder: Path) -> Streams:
    return Streams(folder, {name: dense(seed) for seed, name in enumerate("abc")})


def brute_force(streams: Streams) -> Any:
    a, b, c = (pa.concat_tables(streams.tables[name]).to_pylist() for name in "abc")
    return {
        (x["v"], y["v"], z["v"])
        for x in a
        for y in b
        if x["k"] == y["k"]
        for z in c
        if y["k"] == z["k"]
        and (
            (0 <= y["ts"] - x["ts"] <= 3 and 0 <= z["ts"] - y["ts"] <= 2)
            or (0 <= x["ts"] - y["ts"] <= 3 and 0 <= y["ts"] - z["ts"] <= 2)
        )
    }


def test_batch_and_streaming_give_each_combination_once(spark, tmp_path) -> None:
    streams = streams_of(tmp_path)
    streams.write_all()
    wanted = brute_force(streams)
    assert len(wanted) > 10_000
    whole = streams.on_spark(spark, is_streaming=False).sql(QUERY, buckets=3)
    found = bag(whole.toArrow())
    assert found == dict.fromkeys(wanted, 1)
    run = SingleRun(tmp_path / "run")
    run.finish(streams.on_spark(spark).sql(QUERY, buckets=3))
    assert bag(run.rows(spark)) == found
