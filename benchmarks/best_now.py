"""The best pairs of each instant, of ever more pairs that are there: batches stay what they are.

    python -m benchmarks.best_now [--kept 20000] [--batch 1000]
    python -m benchmarks.best_now --push 4000

A left outer bestmatch join in two dimensions over windows, as its search sees it: each micro-batch
brings pairs of random left tuples, as many as leave. Pairs stay for so many micro-batches that about
so many are kept, and for ten times as many, with ten times as many left tuples. Seconds are of the
processor; the two take turns. Bytes are those of chunks that the state before did not have, as Spark
writes them.

With --push, two tables of so many rows, each one push: their candidate pairs are about 1,000 times as
many, and the figure is how much more memory the process took at its peak than before the query.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import numpy as np
import pyarrow as pa

import windrow
from windrow.operators.bestmatch.sliding_skyline import SlidingSkylineOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.base import Snapshot
from windrow.physical.nodes.bestmatch import SlidingSkyline
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.stateless import RangeRows
from windrow.plan.nodes.bestmatch_join import MINDIST, Dimension
from windrow.schema import Field, Schema

BATCHES = 60
PAIRS_PER_TUPLE = 8
COLUMNS = ("a.id", "a.x", "a.y", "b.x", "b.y")


def node() -> SlidingSkyline:
    """SELECT * FROM a [RANGE w] LEFT OUTER BESTMATCH JOIN b [RANGE w], by distance in x and y."""
    schema = Schema(tuple(Field(name, "bigint") for name in COLUMNS))
    pairs = RangeRows(ScanStream("p", "p", COLUMNS, schema, "ts", "bigint", 0), 1)
    dimensions = tuple(Dimension(f"a.{x}", f"b.{x}", MINDIST, None) for x in "xy")
    return SlidingSkyline(pairs, "left outer", dimensions, (("a.id",),), ("a.id",), schema)


class Steady:
    """A search that holds as many pairs as it will."""

    def __init__(self, kept: int, batch: int) -> None:
        self.kept, self.batch = kept, batch
        self.random = np.random.default_rng([7, kept])
        self.operator = SlidingSkylineOp(node())
        self.time, self.changes, self.seconds = 0, 0, 0.0
        self.written = 0
        self.names: set[str] = set()
        self.comparisons = 0
        for _ in range(2 * kept // batch + 10):
            self.push()
        self.changes, self.seconds, self.written = 0, 0.0, 0
        self.comparisons = self.operator.counters.comparisons

    def push(self) -> None:
        """One micro-batch, and the watermark beyond it."""
        tuples = max(1, self.kept // PAIRS_PER_TUPLE)
        ids = self.random.integers(0, tuples, self.batch)
        near = self.random.integers(0, 1000, self.batch)
        # What is nearer in x is farther in y: few pairs dominate others.
        columns = {"a.id": ids, "a.x": ids * 0, "a.y": ids * 0, "b.x": near, "b.y": 1000 - near}
        times = np.full(self.batch, self.time)
        ends = times + self.random.integers(1, 2 * self.kept // self.batch, self.batch)
        rows = ChangeBatch(pa.RecordBatch.from_pydict(columns), times, ends)
        self.time += 1
        began = time.process_time()
        list(self.operator.push([rows]))
        self.changes += sum(map(len, self.operator.advance(self.time)))
        snapshot = self.operator.snapshot()
        self.operator = SlidingSkylineOp(node())
        self.operator.restore(snapshot)
        self.seconds += time.process_time() - began
        self._write(snapshot)

    def _write(self, snapshot: Snapshot) -> None:
        chunks = {s.chunk.id: s.chunk for part in snapshot.buffers.values() for s in part}
        self.written += sum(len(chunks[name].blob) for name in chunks.keys() - self.names)
        self.names = set(chunks)

    def figures(self) -> dict[str, float]:
        return {
            "kept": self.operator.counters.stored,
            "changes_per_batch": self.changes // BATCHES,
            "kilobytes_written_per_batch": round(self.written / BATCHES / 1e3, 1),
            "ms_per_batch": round(self.seconds / BATCHES * 1e3, 2),
        }


def measure(kept: int, batch: int) -> dict[str, object]:
    """The figures of both, and how many times as long a batch takes where more is kept."""
    searches = [Steady(kept * factor, batch) for factor in (1, 10)]
    for _ in range(BATCHES):
        for search in searches:
            search.push()
    small, large = searches
    return {
        "small": small.figures(),
        "large": large.figures(),
        "ratio": round(large.seconds / small.seconds, 2),
    }


WINDOWS = """
    SELECT l.ts, r.ts AS near FROM l [RANGE 500] LEFT OUTER BESTMATCH JOIN r [RANGE 500]
    ON l.x MINDIST r.x, l.y MINDIST r.y
"""


def measure_push(rows: int) -> dict[str, object]:
    """Peak memory and time of a query whose inputs come in one push each."""
    random, session = np.random.default_rng(1), windrow.Session()
    for name in "lr":
        columns = {"ts": np.sort(random.integers(0, rows, rows)), "x": random.random(rows)}
        columns["y"] = random.random(rows)
        session.stream(name, pa.table(columns), time="ts")
    list(session.sql(WINDOWS.replace("500", "1")))  # compiled, and libraries loaded
    before, began = _peak_mb(), time.process_time()
    answer = sum(batch.num_rows for batch in session.sql(WINDOWS))
    return {
        "rows": rows,
        "answer": answer,
        "megabytes": round(_peak_mb() - before),
        "seconds": round(time.process_time() - began, 1),
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The best pairs of each instant, more and more.")
    parser.add_argument("--kept", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=1_000)
    parser.add_argument("--push", type=int)
    given = parser.parse_args()
    asked = measure_push(given.push) if given.push else measure(given.kept, given.batch)
    print(json.dumps(asked))
