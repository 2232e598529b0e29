"""The bestmatch operator against DuckDB: a join, then NOT EXISTS a pair that dominates."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from same_rows import same_rows
from sessions import session

from windrow.operators.bestmatch.bestmatch import MatwinBestmatchOp
from windrow.operators.columns.arrow_types import arrow_type
from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.bestmatch import MatwinBestmatch
from windrow.physical.nodes.scans import ScanStream
from windrow.plan.nodes.bestmatch_join import Dimension
from windrow.schema import MAX_TICK, Field, Schema

FIELDS = (
    ("t", "bigint"),
    ("id", "bigint"),
    ("x", "double"),
    ("y", "decimal(10,2)"),
    ("z", "int"),
    ("k", "string"),
)

JOIN = """
    WITH pairs AS (
        SELECT l.id AS l_id, r.id AS r_id, greatest(l.t, r.t) AS t,
               abs(l.t - r.t) AS d0, abs(l.x - r.x) AS d1, abs(l.y - r.y) AS d2,
               abs(l.z - r.z) AS d3
        FROM l JOIN r ON {condition}
        WHERE r.t BETWEEN l.t - {lo} AND l.t + {hi}
          AND d1 <= {eps_x} AND d2 <= {eps_y} AND d3 IS NOT NULL
          AND NOT isnan(l.x) AND NOT isnan(r.x)
    )
    SELECT l_id, r_id, t FROM pairs AS p
    WHERE NOT EXISTS (
        FROM pairs AS q
        WHERE q.l_id = p.l_id
          AND q.d0 <= p.d0 AND q.d1 <= p.d1 AND q.d2 <= p.d2 AND q.d3 <= p.d3
          AND (q.d0 < p.d0 OR q.d1 < p.d1 OR q.d2 < p.d2 OR q.d3 < p.d3)
    )
"""
UNMATCHED = """
    UNION ALL SELECT id, NULL, t FROM l WHERE id NOT IN (SELECT l_id FROM pairs)
"""


def rows_of(random, alias, count):
    """Rows with ties, NULLs and NaNs, in an order that is not that of time."""

    def some_null(cells):
        return [None if random.random() < 0.03 else cell for cell in cells]

    cells = {
        "t": random.integers(0, 2000, count).tolist(),
        "id": list(range(count)),
        "x": some_null(np.where(random.random(count) < 0.02, np.nan, random.normal(0, 9, count))),
        "y": some_null(random.integers(-30, 30, count).tolist()),
        "z": some_null(random.integers(0, 4, count).tolist()),
        "k": some_null(random.choice(["a", "b", "ab", ""], count).tolist()),
    }
    arrays = [pa.array(cells[name], arrow_type(kind)) for name, kind in FIELDS]
    return pa.RecordBatch.from_arrays(arrays, names=[f"{alias}.{name}" for name, _ in FIELDS])


def scan(alias):
    schema = Schema(tuple(Field(f"{alias}.{name}", kind) for name, kind in FIELDS))
    names = tuple(name for name, _ in FIELDS)
    return ScanStream(alias, alias, names, schema, f"{alias}.t", "bigint", 0)


def ours(left, right, *, lo, hi, eps_x, eps_y, keyed, keep_unmatched):
    operator = MatwinBestmatchOp(
        MatwinBestmatch(
            left=scan("l"),
            right=scan("r"),
            dimensions=(
                Dimension("l.t", "r.t", "mindist", None, is_time=True),
                Dimension("l.x", "r.x", "mindist", eps_x),
                Dimension("l.y", "r.y", "mindist", eps_y),
                Dimension("l.z", "r.z", "mindist", None),
            ),
            classes=(KeyClass(("l.k", "r.k"), "string"),) if keyed else (),
            lo=lo,
            hi=hi,
            keep=(("l.id",), ("r.id",)),
            keep_unmatched=keep_unmatched,
            schema=Schema((Field("l.id", "bigint"), Field("r.id", "bigint"))),
        )
    )
    answer = []
    for start in range(0, 2000, 150):
        watermark = start + 150 if start < 1850 else MAX_TICK
        pushed = [within(batch, start, watermark) for batch in (left, right)]
        answer += operator.push(pushed)
        answer += operator.advance(watermark)
    return [
        {"l_id": row["l.id"], "r_id": row["r.id"], "t": int(time)}
        for batch in answer
        for row, time in zip(batch.columns.to_pylist(), batch.times, strict=True)
    ]


def within(batch, start, stop):
    """The rows with start <= t < stop."""
    times = batch.column(0).to_numpy()
    places = np.flatnonzero((start <= times) & (times < stop))
    return ChangeBatch(batch.take(pa.array(places)), times[places])


@pytest.mark.law
@pytest.mark.parametrize("seed", range(12))
def test_the_answer_is_that_of_a_join_and_not_exists(seed):
    random = np.random.default_rng(seed)
    left, right = rows_of(random, "l", 500), rows_of(random, "r", 600)
    lo, hi = (int(n) for n in random.integers(0, 400, 2))
    eps_x, eps_y = float(random.choice([1.5, 6.0])), float(random.choice([3.25, 12]))
    keyed, keep_unmatched = bool(seed % 2), bool(seed % 3)

    query = JOIN.format(
        condition="l.k = r.k" if keyed else "true", lo=lo, hi=hi, eps_x=eps_x, eps_y=eps_y
    )
    plain = [batch.rename_columns([name for name, _ in FIELDS]) for batch in (left, right)]
    with duckdb.connect() as connection:
        connection.register("l", pa.table(plain[0]))
        connection.register("r", pa.table(plain[1]))
        expected = connection.sql(query + (UNMATCHED if keep_unmatched else "")).to_arrow_table()

    actual = ours(
        left,
        right,
        lo=lo,
        hi=hi,
        eps_x=eps_x,
        eps_y=eps_y,
        keyed=keyed,
        keep_unmatched=keep_unmatched,
    )
    assert expected.num_rows > 100, f"seed {seed} asks too little"
    assert same_rows(actual, expected), f"seed {seed}"


def test_a_kept_row_whose_own_columns_differ_has_no_candidate_and_stays() -> None:
    left = pa.table({"ts": [1, 2, 3], "x": [1, 1, None], "y": [1, 2, 1]})
    w = session({"l": left, "r": {"ts": [1, 2, 3], "k": [1, 1, 1]}}, time="ts")
    answer = w.sql(
        "SELECT l.ts, r.ts AS r FROM l LEFT OUTER BESTMATCH JOIN r ON l.ts MINDIST r.ts"
        " WHERE abs(l.ts - r.ts) <= 5 AND l.x = r.k AND l.y = r.k KEEP UNMATCHED"
    )
    rows = answer.to_arrow().to_pydict()
    assert sorted(zip(rows["ts"], rows["r"], strict=True)) == [(1, 1), (2, None), (3, None)]
