"""A window join without an equality, in process: candidates per second by kind of predicate.

    python benchmarks/predicates.py [--tuples 1000000]

Two streams at 1,000 tuples per second each and a window of 1 s: without an equality every tuple
has 2,001 candidates.
Comparisons run over all tuples; what costs more per candidate over fewer, said in the table. Times
are CPU seconds of all threads, so that a busy machine does not blur them; kernels are compiled
before the clock starts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import windrow

GAP_US = 1_000
BATCH = 100_000
QUESTIONS: dict[str, tuple[str, int]] = {
    "one comparison: `a.x < b.x`": ("a.x < b.x", 1),
    "two: `a.x < b.x AND a.y <> b.y`": ("a.x < b.x AND a.y <> b.y", 1),
    "a band: `a.z BETWEEN b.z - 1 AND b.z + 1`": ("a.z BETWEEN b.z - 1 AND b.z + 1", 1),
    "half of all pass: `a.y < b.y`": ("a.y < b.y", 20),
    "any expression: `a.x * 2 < b.x + a.x`": ("a.x * 2 < b.x + a.x", 50),
    "texts: `a.s > b.s`": ("a.s > b.s", 50),
    "a function of arrays: `above(b.x, a.x)`": ("above(b.x, a.x)", 50),
    "a function of values: `above_one(b.x, a.x)`": ("above_one(b.x, a.x)", 500),
    "an equality and a comparison: `a.y = b.y AND a.x < b.x`": ("a.y = b.y AND a.x < b.x", 1),
}


def stream(tuples: int, seed: int, lift: float) -> list[pa.Table]:
    random = np.random.default_rng(seed)
    letters = np.array(["a", "b", "c"])
    table = pa.table(
        {
            "ts": np.arange(tuples) * GAP_US,
            "x": random.random(tuples) + lift,
            "y": random.integers(0, 1_000, tuples),
            "z": random.integers(0, 100_000, tuples),
            "s": letters[random.integers(0, 1 if lift else 2, tuples)],
        }
    )
    return [table.slice(start, BATCH) for start in range(0, tuples, BATCH)]


def session(tuples: int) -> windrow.Session:
    found = windrow.Session()
    # Nearly every x of a is above every x of b, so that results cost next to nothing.
    found.stream("a", stream(tuples, 1, lift=0.999), time="ts")
    found.stream("b", stream(tuples, 2, lift=0), time="ts")
    found.function("above", pc.greater)
    found.function("above_one", lambda left, right: left > right, vectorized=False)
    return found


def measure(tuples: int, condition: str) -> tuple[float, int, int]:
    """CPU seconds, candidates and results of one run; candidates as the join counts them."""
    query = f"SELECT a.ts AS one, b.ts AS other FROM a, b WHERE {condition} WINDOW = 1000000"
    asked = session(tuples)
    started = time.process_time()
    result = asked.sql(query)
    rows = sum(batch.num_rows for batch in result)
    seconds = time.process_time() - started
    (counted,) = result.progress.operators.values()
    return seconds, counted["comparisons"], rows


def main(tuples: int, show: Callable[[str], None] = print) -> None:
    show("| predicate | tuples per stream | candidates | results | CPU s | candidates per CPU s |")
    show("|---|---|---|---|---|---|")
    for name, (condition, part) in QUESTIONS.items():
        own = tuples // part
        measure(min(own, 4_000), condition)
        seconds, candidates, results = measure(own, condition)
        rate = candidates / seconds / 1e6
        show(
            f"| {name} | {own:,} | {candidates:,} | {results:,} | {seconds:.2f}"
            f" | {rate:,.0f} million |"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Candidates per second by kind of predicate.")
    parser.add_argument("--tuples", type=int, default=1_000_000)
    main(parser.parse_args().tuples)
