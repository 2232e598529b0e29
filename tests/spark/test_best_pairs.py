"""Bestmatch joins that say what is best now, on Spark: the changelog of one process."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from cases.match_runs import FUNCTIONS
from spark_runs import SingleRun, Streams

CASES, IN_A_BATCH = 12, 4
"""Apart by more than any window: what is best in one has nothing to do with the others."""

SHOWN = "SELECT x.ts, x.v, y.v AS w FROM x [RANGE 4]"
ON = "ON x.v MINDIST y.v, x.ts MINDIST y.ts"
SETS = "array(x.v % 2, x.v % 5) SUBSET array(y.v % 2, y.v % 3)"
QUERIES = {
    "left": f"{SHOWN} LEFT OUTER BESTMATCH JOIN y [RANGE 3] {ON}",
    "left, a partial order": f"{SHOWN} LEFT OUTER BESTMATCH JOIN y [RANGE 3] ON x.v both y.v,"
    " x.v + 1 MINDIST y.v + 1 WITHIN 3 KEEP UNMATCHED",
    "right, sets": f"{SHOWN} RIGHT OUTER BESTMATCH JOIN y [RANGE 3] ON {SETS}, x.ts MINDIST y.ts"
    " WHERE x.k = y.k AND x.v < 9 KEEP UNMATCHED",
    "full": f"{SHOWN} FULL OUTER BESTMATCH JOIN y [RANGE 3] {ON}"
    " AND x.v <> 3 AND y.v <> 5 WHERE x.k = y.k AND abs(x.v - y.v) <= 2 AND y.v IS NOT NULL"
    " KEEP UNMATCHED",
    "full, no key": f"{SHOWN} FULL OUTER BESTMATCH JOIN y [RANGE 3] {ON} WITHIN 1 KEEP UNMATCHED",
    "plain, alive": f"{SHOWN} BESTMATCH JOIN y [RANGE 3] ON x.v both y.v, {SETS}",
    "plain, so far": f"SELECT x.ts, x.v, y.v AS w FROM x BESTMATCH JOIN y {ON}"
    " WHERE abs(x.ts - y.ts) <= 3 AND abs(x.v - y.v) <= 6",
}
GROUPED = (
    "SELECT m.v AS a, COUNT(*) AS b, MAX(m.w) AS c"
    f" FROM ({QUERIES['left, a partial order']}) m GROUP BY m.v"
)
JOINED = f"SELECT m.v, m.w, y.ts FROM ({QUERIES['plain, so far']}) m JOIN y [RANGE 2] ON m.w = y.v"
DISTINCT = f"SELECT DISTINCT m.v, m.w, 0 AS c FROM ({QUERIES['left']}) m"
STREAMED = {
    "right": QUERIES["right, sets"],
    "full": QUERIES["full"],
    "grouped and joined": f"{GROUPED} UNION ALL {JOINED}",
}
QUERIES["nested"] = f"{GROUPED} UNION ALL {JOINED} UNION ALL {DISTINCT}"


def drawn(seed: int) -> list[pa.Table]:
    """The rows of all cases, some cases to a batch."""
    draw = random.Random(seed)
    schema = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64())])
    batches = []
    for first in range(0, CASES, IN_A_BATCH):
        rows = sorted(
            (100 * case + draw.randrange(9), draw.choice("ab"), draw.randrange(12))
            for case in range(first, first + IN_A_BATCH)
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


def asked(session: Any) -> Any:
    """The session with the functions that queries call."""
    session.function("both", FUNCTIONS["both"].body, returns="tinyint", partial_order=True)
    return session


def below_the_end(changes: Any) -> Any:
    """Without what only the end of the streams makes final."""
    return {change: copies for change, copies in bag(changes).items() if change[-1] < 10_000}


@pytest.mark.partitions(2)
@pytest.mark.parametrize("name", QUERIES)
def test_a_batch_run_gives_the_changes_of_one_process(
    spark: Any, streams: Streams, name: str
) -> None:
    here = below_the_end(asked(streams.in_process()).sql(QUERIES[name]).to_arrow())
    assert len(here) > (4 if name == "plain, so far" else 80)
    there = asked(streams.on_spark(spark, is_streaming=False)).sql(QUERIES[name], buckets=3)
    assert below_the_end(there.toArrow()) == here


@pytest.mark.parametrize("name", STREAMED)
def test_a_streaming_run_gives_them_too(
    spark: Any, streams: Streams, tmp_path: Path, name: str
) -> None:
    run = SingleRun(tmp_path / "run")
    run.finish(asked(streams.on_spark(spark)).sql(STREAMED[name], buckets=3))
    here = asked(streams.in_process()).sql(STREAMED[name]).to_arrow()
    assert below_the_end(run.rows(spark)) == below_the_end(here)
