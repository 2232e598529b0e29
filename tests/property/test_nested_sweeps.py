"""Joins that sweep below other operators: what they feed has not been told more than they have.

A combination comes once the watermark has passed its newest row; the operator above must still be
where the watermark was before. The answer is that of the default algorithm over whole tables.
"""

from __future__ import annotations

import pickle
from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from cases.tape import TAPES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import windrow

pytestmark = pytest.mark.law

LATENESS = 3
PAIRS = "SELECT x.k, x.v, y.v AS yv FROM x, y WHERE x.k = y.k"
QUERIES = {
    "an aggregate over a join": (
        f"SELECT j.k, COUNT(*) AS n, SUM(j.yv) AS s FROM ({PAIRS} WINDOW = 3) j [RANGE 6] "
        "GROUP BY j.k"
    ),
    "an aggregate over a join whose windows look back": (
        f"SELECT COUNT(*) AS n FROM ({PAIRS} AND y.ts BETWEEN x.ts + 2 AND x.ts + 5) j [RANGE 4]"
    ),
    "a join over a join": (
        f"SELECT j.v, j.yv, z.v AS zv FROM ({PAIRS} WINDOW = 3) j, z "
        "WHERE j.k = z.k WINDOW (j, z) = 4"
    ),
    "a join over a bestmatch join": (
        "SELECT j.v, j.yv, z.v AS zv FROM (SELECT x.k, x.v, y.v AS yv FROM x LEFT OUTER BESTMATCH "
        "JOIN y ON x.ts MINDIST y.ts, x.v MINDIST y.v WHERE abs(x.ts - y.ts) <= 4 "
        "AND abs(x.v - y.v) <= 9) j, z WHERE j.k = z.k WINDOW (j, z) = 4"
    ),
    "an aggregate over a join over a join": (
        f"SELECT i.v, SUM(i.zv) AS s FROM (SELECT j.v, z.v AS zv FROM ({PAIRS} WINDOW = 2) j, z "
        "WHERE j.k = z.k WINDOW (j, z) = 3) i [RANGE 5] GROUP BY i.v"
    ),
}
SWEEPS = ["few", "few-nested-loop", "gca", "lca"]
EXAMPLES = settings(
    max_examples=share_of(8), deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip


def streams_of(random: Random) -> dict[str, list[tuple[int, int, int]]]:
    """Rows (k, v, ts) per stream, out of order by the lateness at most."""
    streams = {}
    for name in "xyz":
        times = sorted(random.randrange(30) for _ in range(random.randrange(25)))
        times.sort(key=lambda at: at + random.randrange(LATENESS + 1))
        streams[name] = [(random.randrange(2), random.randrange(20), at) for at in times]
    return streams


def table(rows: list[tuple[int, int, int]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    names = ("k", "v", "ts")
    return pa.table({n: pa.array(c, pa.int64()) for n, c in zip(names, columns, strict=True)})


def cut_streams(streams: dict[str, list], cut: int | None) -> windrow.Session:
    made = windrow.Session()
    for name, rows in streams.items():
        size = cut or max(1, len(rows))
        parts = [rows[at : at + size] for at in range(0, len(rows), size)] or [[]]
        data = [table(part) for part in parts]
        made.stream(name, data, time="ts", lateness=LATENESS)
    return made


@pytest.mark.parametrize("algorithm", SWEEPS)
@pytest.mark.parametrize("question", QUERIES)
@EXAMPLES
@given(random=TAPES, cut=st.integers(1, 6))
def test_nothing_is_lost_between_two_operators(question, algorithm, random, cut):
    streams, sql = streams_of(random), QUERIES[question]
    answer = cut_streams(streams, cut).sql(sql, algorithm=algorithm).to_arrow()
    assert bag(answer) == bag(cut_streams(streams, None).sql(sql))


@pytest.mark.parametrize("question", QUERIES)
@EXAMPLES
@given(random=TAPES, cut=st.integers(1, 6))
def test_nor_when_every_batch_is_another_algorithm_s(question, random, cut):
    streams, sql = streams_of(random), QUERIES[question]
    given_rows: Counter = Counter()
    checkpoint, more = None, True
    while more:
        algorithm = random.choice([*SWEEPS, "bew", "hw"])
        result = cut_streams(streams, cut).sql(sql, algorithm=algorithm, resume=checkpoint)
        batch = next(iter(result), None)
        more = batch is not None
        if more:
            given_rows += bag(batch)
            checkpoint = pickle.loads(pickle.dumps(result.checkpoint()))
    assert given_rows == bag(cut_streams(streams, None).sql(sql))
