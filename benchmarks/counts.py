"""A join of count windows by key whose windows grow: batches and results stay what they are.

    python -m benchmarks.counts [--keys 20000] [--batch 2000]

Two streams with [PARTITION BY k ROWS 2], joined on k, over so many keys and over ten times as many.
Each micro-batch brings tuples of random keys to both windows, which are full: as many leave as
enter, from anywhere in the window. Seconds are of the processor; the two take turns.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import pyarrow as pa

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.joins.count_join import CountJoinOp
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.count_join import CountJoin
from windrow.physical.nodes.scans import ScanStream
from windrow.plan.windows import CountWindows, OwnWindow, WindowGraph
from windrow.schema import Field, Schema

ROWS, BATCHES = 2, 60
NAMES = ("a", "b")


def node() -> CountJoin:
    """SELECT both ids FROM a [PARTITION BY k ROWS 2], b [PARTITION BY k ROWS 2] on equal k."""
    schemas = [Schema((Field(f"{n}.k", "bigint"), Field(f"{n}.v", "bigint"))) for n in NAMES]
    scans = tuple(
        ScanStream(n, n, schema.names, schema, "ts", "bigint", 0)
        for n, schema in zip(NAMES, schemas, strict=True)
    )
    own = tuple(OwnWindow(ROWS, (f"{n}.k",)) for n in NAMES)
    key = KeyClass(tuple(f"{n}.k" for n in NAMES), "bigint")
    keep = tuple((f"{n}.v",) for n in NAMES)
    out = Schema(tuple(Field(f"{n}.v", "bigint") for n in NAMES))
    graph = WindowGraph(NAMES, ())
    return CountJoin(scans, NAMES, (key,), graph, keep, "hash", out, counts=CountWindows(own))


class Full:
    """A join whose windows hold all rows that they can."""

    def __init__(self, keys: int, batch: int) -> None:
        self.keys, self.batch = keys, batch
        self.random = np.random.default_rng([11, keys])
        self.operator = CountJoinOp(node())
        self.time, self.results, self.seconds = 0, 0, 0.0
        for _ in range(ROWS):
            for start in range(0, keys, batch):
                self.push(np.arange(start, min(start + batch, keys)))
        for _ in range(10):
            self.push(self.random.integers(0, keys, batch))
        self.results, self.seconds = 0, 0.0

    def push(self, keys: np.ndarray) -> None:
        """One micro-batch to both windows, and the watermark beyond it."""
        columns = [{f"{n}.k": keys, f"{n}.v": np.arange(len(keys))} for n in NAMES]
        times = np.full(len(keys), self.time)
        batches = [ChangeBatch(pa.record_batch(own), times) for own in columns]
        self.time += 1
        began = time.process_time()
        list(self.operator.push(batches))
        self.results += sum(map(len, self.operator.advance(self.time)))
        self.seconds += time.process_time() - began

    def figures(self) -> dict[str, float]:
        counters = self.operator.counters
        return {
            "stored": counters.stored,
            "results_per_batch": self.results // BATCHES,
            "ms_per_batch": round(self.seconds / BATCHES * 1e3, 2),
        }


def measure(keys: int, batch: int) -> dict[str, object]:
    """The figures of both windows, and how many times as long a batch takes in the larger one."""
    joins = [Full(keys * factor, batch) for factor in (1, 10)]
    for _ in range(BATCHES):
        for join in joins:
            join.push(join.random.integers(0, join.keys, batch))
    small, large = joins
    return {
        "small": small.figures(),
        "large": large.figures(),
        "ratio": round(large.seconds / small.seconds, 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Count windows by key that grow.")
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=2_000)
    given = parser.parse_args()
    print(json.dumps(measure(given.keys, given.batch)))
