"""An as-of join of two tables in memory, beside Polars' `join_asof` and pandas' `merge_asof`.

    python -m benchmarks.asof [--rows 10000000] [--keys 10000] [--rounds 3]

Both sides have so many rows, at random microseconds, and random keys. For each left row the last
right row of its key at or before it; all three give every left row. Each way runs in a process of
its own, the ways taking turns, and its best round counts; what it has compiled, it has before.
Right rows are numbered in their order, so that of several at one time all ways take the same one.
The answers are compared by a checksum over both numbers of each pair.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TICKS_PER_ROW = 10
QUERY = """
    SELECT l.ts, l.k, l.a, r.b FROM l LEFT ASOF JOIN r MATCH_CONDITION (l.ts >= r.ts)
    ON l.k = r.k
"""


def side(rows: int, keys: int, name: str) -> pa.Table:
    """Rows in the order of their times, numbered in the column `name`."""
    random = np.random.default_rng([17, ord(name)])
    times = np.sort(random.integers(0, rows * TICKS_PER_ROW, rows))
    columns = {"ts": times.view("datetime64[us]"), "k": random.integers(0, keys, rows)}
    return pa.table(columns | {name: np.arange(rows)})


def by_windrow(left: pa.Table, right: pa.Table) -> Callable[[], pa.Table]:
    """The query, in process."""
    import windrow

    def run() -> pa.Table:
        session = windrow.Session()
        session.stream("l", left, time="ts")
        session.stream("r", right, time="ts")
        answer: pa.Table = session.sql(QUERY).to_arrow()
        return answer

    return run


def by_polars(left: pa.Table, right: pa.Table) -> Callable[[], Any]:
    """`join_asof` by the key, on all cores."""
    import polars as pl

    frames = [pl.DataFrame(pl.from_arrow(table)) for table in (left, right)]
    # Both are sorted; with keys Polars cannot check it, and would say so.
    return lambda: frames[0].join_asof(frames[1], on="ts", by="k", check_sortedness=False)


def by_pandas(left: pa.Table, right: pa.Table) -> Callable[[], Any]:
    """`merge_asof` by the key."""
    import pandas as pd

    frames = [table.to_pandas() for table in (left, right)]
    return lambda: pd.merge_asof(*frames, on="ts", by="k")


WAYS = {"windrow": by_windrow, "polars": by_polars, "pandas": by_pandas}


def checksum(answer: Any) -> list[int]:
    """Rows, rows without a match, and a sum over the numbers of all pairs."""
    if not isinstance(answer, pa.Table):
        is_polars = hasattr(answer, "to_arrow")
        answer = answer.to_arrow() if is_polars else pa.Table.from_pandas(answer)
    left, right = answer["a"].combine_chunks(), answer["b"].combine_chunks()
    numbers = pc.fill_null(right.cast(pa.int64(), safe=False), -1).to_numpy() + 2
    pairs = int((left.to_numpy().astype(np.uint64) * numbers.astype(np.uint64)).sum())
    return [answer.num_rows, right.null_count, pairs]


def measure(way: str, rows: int, keys: int) -> dict[str, Any]:
    """One way, once small to compile, then timed: seconds by the clock and of the processors."""
    small = [side(10_000, 100, name) for name in "ab"]
    WAYS[way](*small)()
    run = WAYS[way](side(rows, keys, "a"), side(rows, keys, "b"))
    began, worked = time.perf_counter(), time.process_time()
    answer = run()
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    return {"seconds": seconds, "processor_s": worked, "checksum": checksum(answer)}


def all_ways(rows: int, keys: int, rounds: int) -> dict[str, Any]:
    """The best round of each way, all answers equal."""
    command = [sys.executable, "-m", "benchmarks.asof", "--rows", str(rows), "--keys", str(keys)]
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, own in found.items():
            done = subprocess.run([*command, "--way", way], check=True, stdout=subprocess.PIPE)
            own.append(json.loads(done.stdout))
    sums = {tuple(one["checksum"]) for own in found.values() for one in own}
    if len(sums) > 1:
        raise SystemExit(f"the answers differ: {sums}")
    return {
        "rows": rows,
        "keys": keys,
        "unmatched": next(iter(sums))[1],
        "seconds": best(found, "seconds"),
        "processor_s": best(found, "processor_s"),
    }


def best(found: dict[str, list[dict[str, Any]]], figure: str) -> dict[str, float]:
    """The least of a figure, by way."""
    return {way: round(min(one[figure] for one in own), 2) for way, own in found.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An as-of join in memory.")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", choices=WAYS)
    given = parser.parse_args()
    if given.way:
        print(json.dumps(measure(given.way, given.rows, given.keys)))
    else:
        print(json.dumps(all_ways(given.rows, given.keys, given.rounds)))
