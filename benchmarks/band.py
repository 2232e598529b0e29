"""A band join without an equality, in process, against DuckDB's range join on the same data.

    python -m benchmarks.band [--tuples 1000000] [--structure ttree/ttree]

Two streams of (ts, n, x) at 1,000 tuples per second each, a window of 5 s, x uniform on
[0, 10000) in steps of a millionth or so, exact in binary, and `abs(a.x - b.x) < 1`: by time alone
every tuple has 10,001 candidates. DuckDB is given the band as two bounds on x, which its range
join takes; with `abs` it would go through all candidates. Each side starts from tables in memory;
kernels are compiled before the clock starts. Seconds are given on the clock and of the processor,
all threads: a busy machine blurs the first.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import windrow

GAP_US = 1_000
WINDOW_US = 5_000_000
STEPS = 1 << 20
BATCH = 20_000
QUERY = f"SELECT a.n AS i, b.n AS j FROM a, b WHERE abs(a.x - b.x) < 1 WINDOW = {WINDOW_US}"
THEIRS = f"""
    SELECT count(*), sum(a.n)::BIGINT, sum(b.n)::BIGINT, sum(a.n * b.n % 1000003)::BIGINT
    FROM a JOIN b ON a.x > b.x - 1 AND a.x < b.x + 1
    AND a.ts >= b.ts - {WINDOW_US} AND a.ts <= b.ts + {WINDOW_US}
"""


def stream(tuples: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": np.arange(tuples) * GAP_US,
            "n": np.arange(tuples),
            "x": random.integers(0, 10_000 * STEPS, tuples) / STEPS,
        }
    )


def by_windrow(tables: dict[str, pa.Table], structure: str) -> tuple[list[int], dict[str, int]]:
    """Count and sums of the answer, and the work that the join counted."""
    session = windrow.Session()
    for name, table in tables.items():
        batches = [table.slice(start, BATCH) for start in range(0, table.num_rows, BATCH)]
        session.stream(name, batches, time="ts")
    result = session.sql(QUERY, structure=structure)
    sums = np.zeros(4, np.int64)
    for batch in result:
        i, j = (batch.column(name).to_numpy() for name in ("i", "j"))
        sums += [len(i), i.sum(), j.sum(), (i * j % 1_000_003).sum()]
    (counted,) = result.progress.operators.values()
    return sums.tolist(), dict(counted)


def by_duckdb(tables: dict[str, pa.Table]) -> list[int]:
    with duckdb.connect() as database:
        for name, table in tables.items():
            database.register(f"{name}_arrow", table)
            database.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_arrow")
        return [int(value) for value in database.execute(THEIRS).fetchall()[0]]


def timed(run: Callable[..., Any], *arguments: object) -> tuple[Any, dict[str, float]]:
    clock, processor = time.perf_counter(), time.process_time()
    found = run(*arguments)
    figures = {
        "seconds": round(time.perf_counter() - clock, 2),
        "processor_s": round(time.process_time() - processor, 2),
    }
    return found, figures


def measure(tuples: int, structure: str) -> dict[str, object]:
    """The figures of both, the answers having been found equal."""
    small = {name: stream(5_000, seed) for seed, name in enumerate("ab")}
    by_windrow(small, structure)
    tables = {name: stream(tuples, seed) for seed, name in enumerate("ab", 1)}
    (ours, counted), our_figures = timed(by_windrow, tables, structure)
    theirs, their_figures = timed(by_duckdb, tables)
    if ours != theirs:
        raise SystemExit(f"the answers differ: {ours} and {theirs}")
    return {
        "tuples": tuples,
        "structure": structure,
        "rows": ours[0],
        "touched": counted["comparisons"],
        "windrow": our_figures,
        "duckdb": their_figures,
        "ratio": round(their_figures["seconds"] / our_figures["seconds"], 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A band join against DuckDB's range join.")
    parser.add_argument("--tuples", type=int, default=1_000_000)
    parser.add_argument("--structure", default="ttree/ttree")
    given = parser.parse_args()
    print(json.dumps(measure(given.tuples, given.structure)))
