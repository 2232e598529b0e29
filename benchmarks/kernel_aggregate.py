"""The sliding aggregate alone: rows per second through the operator, and DuckDB beside it.

    python -m benchmarks.kernel_aggregate --rows 3000000

SUM(x) and COUNT(*) of 1,000 groups over a window of 100,000 rows, one row per tick, in batches of
100,000. Every row comes and goes, and each time its group's old answer is deleted and the new one
inserted: four rows out per row in.

DuckDB is asked for the same versions in one batch: events with signs, netted per group and
instant, then running sums. It keeps no state, deletes nothing, and its running sums of doubles
round at every step; ours are exact. Both use one thread. The last answers of all groups, and the
number of versions, must agree.
"""

from __future__ import annotations

import argparse
import json
import time

import duckdb
import numpy as np
import pyarrow as pa

from windrow.operators.aggregates.sliding_aggregate import SlidingAggregateOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.plan.exprs import column
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.schema import Field, Schema

GROUPS, WINDOW, BATCH = 1_000, 100_000, 100_000

PEER = f"""
    CREATE OR REPLACE TEMP TABLE versions AS
    WITH events AS (
        SELECT k, t, x, 1 AS n FROM sales
        UNION ALL SELECT k, t + {WINDOW + 1}, -x, -1 FROM sales
    ), net AS (SELECT k, t, sum(x) AS x, sum(n) AS n FROM events GROUP BY k, t)
    SELECT k, t, sum(x) OVER so_far AS x, sum(n) OVER so_far AS n FROM net
    WHERE t <= $1 WINDOW so_far AS (PARTITION BY k ORDER BY t)
"""
LAST = "SELECT k, arg_max(x, t), arg_max(n, t)::BIGINT FROM versions GROUP BY k ORDER BY k"


def sales(rows: int) -> pa.RecordBatch:
    """One row per tick; seed 1."""
    random = np.random.default_rng(1)
    return pa.RecordBatch.from_pydict(
        {
            "k": random.integers(0, GROUPS, rows),
            "x": random.uniform(0, 1_000, rows),
            "t": np.arange(rows),
        }
    )


def operator() -> SlidingAggregateOp:
    schema = Schema((Field("k", "bigint"), Field("x", "double")))
    aggregates = (
        Aggregate("sum", column("x", "double"), "total", "double"),
        Aggregate("count", None, "n", "bigint"),
    )
    shown = Schema((schema.fields[0], Field("total", "double"), Field("n", "bigint")))
    scan = ScanStream("sales", "sales", schema.names, schema, "t", "bigint", 0)
    return SlidingAggregateOp(SlidingAggregate(scan, ("k",), aggregates, shown))


def windrow(rows: pa.RecordBatch) -> tuple[int, int, dict[int, tuple[float, int]]]:
    """Rows out, versions, and the last answer of each group."""
    op = operator()
    last: dict[int, tuple[float, int]] = {}
    versions = 0
    for start in range(0, rows.num_rows, BATCH):
        part = rows.slice(start, BATCH)
        times = part["t"].to_numpy()
        list(op.push([ChangeBatch(part.select(["k", "x"]), times, times + WINDOW + 1)]))
        for changes in op.advance(int(times[-1]) + 1):
            assert changes.signs is not None  # an aggregate gives a changelog
            inserts = changes.signs > 0
            versions += int(np.count_nonzero(inserts))
            newest = changes.take(np.flatnonzero(inserts)[-20 * GROUPS :]).columns
            keys, totals, counts = (each.to_pylist() for each in newest.columns)
            last |= dict(zip(keys, zip(totals, counts, strict=True), strict=True))
    return op.counters.rows_out, versions, last


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    count = parser.parse_args().rows
    rows = sales(count)
    started = time.perf_counter()
    windrow(rows.slice(0, 2 * BATCH))
    compiled = time.perf_counter() - started

    started, cpu = time.perf_counter(), time.process_time()
    rows_out, versions, last = windrow(rows)
    ours, our_cpu = time.perf_counter() - started, time.process_time() - cpu

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("sales", pa.Table.from_batches([rows]))
        started, cpu = time.perf_counter(), time.process_time()
        connection.execute(PEER, [count - 1])
        theirs, their_cpu = time.perf_counter() - started, time.process_time() - cpu
        peers = connection.execute("SELECT count(*) FROM versions").fetchone()
        answers = {k: (x, n) for k, x, n in connection.execute(LAST).fetchall()}

    same = answers.keys() == last.keys() and all(
        n == last[k][1] and abs(x - last[k][0]) <= 1e-6 * abs(x) for k, (x, n) in answers.items()
    )
    if not same or peers != (versions,):
        raise SystemExit("the answers of windrow and duckdb differ")
    print(
        f"windrow  {count / ours / 1e6:6.2f} million rows/s ({count / our_cpu / 1e6:.2f} per "
        f"CPU second)   {rows_out:,} rows out   first call {compiled:.1f} s"
    )
    print(
        f"duckdb   {count / theirs / 1e6:6.2f} million rows/s ({count / their_cpu / 1e6:.2f} per "
        f"CPU second)   {versions:,} versions, no deletes, sums not exact"
    )
    print(json.dumps({"rows": count, "rows_out": rows_out, "windrow_s": ours, "duckdb_s": theirs}))


if __name__ == "__main__":
    main()
