"""Bestmatch joins that say what is best now, on Spark: the changelog of one process."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark_runs import SingleRun, Streams, bag

CASES = 12
"""Apart by more than any window: what is best in one has nothing to do with the others."""

ON = "ON x.v MINDIST y.v, x.ts MINDIST y.ts"
QUERIES = {
    "left": f"SELECT x.ts, x.v, y.v AS w FROM x [RANGE 4] LEFT OUTER BESTMATCH JOIN y [RANGE 3] {ON}",
    "right": "SELECT x.ts, x.v, y.v AS w FROM x [RANGE 4] RIGHT OUTER BESTMATCH JOIN y [RANGE 3]"
    f" {ON} WHERE x.k = y.k",
    "full": f"SELECT x.ts, x.v, y.v AS w FROM x [RANGE 4] FULL OUTER BESTMATCH JOIN y [RANGE 3] {ON}"
    " WHERE x.k = y.k",
    "plain, alive": f"SELECT x.ts, x.v, y.v AS w FROM x [RANGE 4] BESTMATCH JOIN y [RANGE 3] {ON}",
    "plain, so far": f"SELECT x.ts, x.v, y.v AS w FROM x BESTMATCH JOIN y {ON}"
    " WHERE abs(x.ts - y.ts) <= 3 AND abs(x.v - y.v) <= 6",
}
STREAMED = {
    "left and right": f"{QUERIES['left']} UNION ALL {QUERIES['right']}",
    "full": QUERIES["full"],
    "plain, so far": QUERIES["plain, so far"],
}


def drawn(seed: int) -> list[pa.Table]:
    """The rows of all cases, each case in a batch of its own with the one before or after it."""
    draw = random.Random(seed)
    schema = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64())])
    batches = []
    for pair in range(CASES // 2):
        rows = sorted(
            (100 * case + draw.randrange(9), draw.choice("ab"), draw.randrange(12))
            for case in (2 * pair, 2 * pair + 1)
            for _ in range(8)
        )
        columns = zip(*rows, strict=True)
        batches.append(pa.table(dict(zip(schema.names, map(list, columns), strict=True)), schema))
    end = pa.table({"ts": [10_000], "k": ["end"], "v": [1000]}, schema)
    return [*batches[:-1], pa.concat_tables([batches[-1], end])]


@pytest.fixture
def streams(tmp_path: Path) -> Streams:
    found = Streams(tmp_path, {"x": drawn(1), "y": drawn(2)})
    found.write_all()
    return found


def below_the_end(changes: Any) -> Any:
    """Without what only the end of the streams makes final."""
    return {change: copies for change, copies in bag(changes).items() if change[-1] < 10_000}


@pytest.mark.partitions(2)
@pytest.mark.parametrize("name", QUERIES)
def test_a_batch_run_gives_the_changes_of_one_process(
    spark: Any, streams: Streams, name: str
) -> None:
    here = below_the_end(streams.in_process().sql(QUERIES[name]).to_arrow())
    assert len(here) > (4 if name == "plain, so far" else 100)
    there = streams.on_spark(spark, is_streaming=False).sql(QUERIES[name], buckets=3)
    assert below_the_end(there.toArrow()) == here


@pytest.mark.parametrize("name", STREAMED)
def test_a_streaming_run_gives_them_too(
    spark: Any, streams: Streams, tmp_path: Path, name: str
) -> None:
    run = SingleRun(tmp_path / "run")
    run.finish(streams.on_spark(spark).sql(STREAMED[name], buckets=3))
    here = streams.in_process().sql(STREAMED[name]).to_arrow()
    assert below_the_end(run.rows(spark)) == below_the_end(here)
