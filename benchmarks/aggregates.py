"""Sliding aggregates and set operations as windows grow: counted work and time per change, one core.

    python -m benchmarks.aggregates [--most 1000000] [--changes 1000000] [--rows 2000000]

One group over a window of 1,000 to 1,000,000 tuples, one tuple per tick: each tick a tuple comes and
one goes, two changes. Work is what the operator counts: events applied, values compared, cells
probed. "max out of order" has rows that live from half the window to all of it, drawn at random, so
that they do not leave as they came. DISTINCT and EXCEPT ALL have as many different rows as there are
tuples alive, so that what is kept by row grows with the window; the tuples of EXCEPT ALL come to its
two inputs in turn.

Then GROUP BY with SUM over 10,000 groups: input tuples per second, changelog included.
Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.operators.aggregates.set_operation import SetOperationOp
from windrow.operators.aggregates.sliding import SlidingOp
from windrow.operators.aggregates.sliding_aggregate import SlidingAggregateOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.plan.exprs import column
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.schema import Field, Schema

BATCH = 20_000
GROUPS, GROUPS_WINDOW, GROUPS_BATCH = 10_000, 100_000, 100_000

FUNCTIONS = {
    "sum": ("sum", False),
    "count": ("count", False),
    "avg": ("avg", False),
    "count distinct": ("count", True),
    "min": ("min", False),
    "max": ("max", False),
    "max out of order": ("max", False),
    "median": ("median", False),
    "variance": ("var_samp", False),
    "stddev": ("stddev_samp", False),
}
SET_OPERATIONS = {"distinct": 1, "except all": 2}
"""Set operations with the number of their inputs."""


def scan_of(*fields: Field) -> ScanStream:
    schema = Schema(fields)
    return ScanStream("s", "s", schema.names, schema, "t", "bigint", 0)


def operator(keys: tuple[str, ...], function: str, *, is_distinct: bool) -> SlidingAggregateOp:
    """One aggregate of x, by keys or of all."""
    scan = scan_of(Field("k", "bigint"), Field("x", "double"))
    schema = scan.schema
    aggregate = Aggregate(function, column("x", "double"), "value", "double", is_distinct)
    shown = Schema((*schema.fields[: len(keys)], Field("value", "double")))
    return SlidingAggregateOp(SlidingAggregate(scan, keys, (aggregate,), shown))


class Stream:
    """Rows one tick apart, given to an operator batch by batch."""

    def __init__(
        self, op: SlidingOp, window: int, groups: int, *, mixed: bool = False, inputs: int = 0
    ) -> None:
        self.op, self.window, self.groups, self.mixed = op, window, groups, mixed
        self.inputs = inputs
        self.random = np.random.default_rng([3, window])
        self.time = 0

    def push(self, rows: int) -> None:
        times = np.arange(self.time, self.time + rows)
        lives = np.full(rows, self.window)
        if self.mixed:
            lives = self.random.integers(self.window // 2, self.window + 1, rows)
        drawn: dict[str, Any] = {"k": self.random.integers(0, self.groups, rows)}
        if not self.inputs:  # a set operation is over one column
            drawn["x"] = self.random.integers(0, 1 << 40, rows) / 64
        whole = ChangeBatch(pa.RecordBatch.from_pydict(drawn), times, times + lives)
        ports = max(self.inputs, 1)
        turns = [whole.take(np.arange(port, rows, ports)) for port in range(ports)]
        list(self.op.push([whole] if ports == 1 else turns))
        self.time += rows
        for _ in self.op.advance(self.time):
            pass


def per_change(name: str, sizes: Sequence[int], changes: int) -> dict[int, dict[str, float]]:
    """Work and nanoseconds of one change, by how many tuples are alive.

    The sizes take turns, batch by batch: what else the machine does then falls on all of them.
    """
    streams = [_stream(name, alive) for alive in sizes]
    for stream in streams:
        for start in range(0, stream.window + BATCH, BATCH):
            stream.push(min(BATCH, stream.window + BATCH - start))
    before = [stream.op.counters.comparisons for stream in streams]
    seconds = [0.0] * len(streams)
    turns = -(-changes // 2 // BATCH)
    for _ in range(turns):
        for i, stream in enumerate(streams):
            started = time.process_time()
            stream.push(BATCH)
            seconds[i] += time.process_time() - started
    made = 2 * BATCH * turns
    work = [
        stream.op.counters.comparisons - own for stream, own in zip(streams, before, strict=True)
    ]
    return {
        alive: {"work": round(work[i] / made, 2), "ns": round(1e9 * seconds[i] / made)}
        for i, alive in enumerate(sizes)
    }


def _stream(name: str, alive: int) -> Stream:
    if name in SET_OPERATIONS:
        inputs = SET_OPERATIONS[name]
        node = SetOp((scan_of(Field("k", "bigint")),) * inputs, name)
        return Stream(SetOperationOp(node), alive, alive, inputs=inputs)
    function, is_distinct = FUNCTIONS[name]
    op = operator((), function, is_distinct=is_distinct)
    return Stream(op, alive, 1, mixed=name.endswith("out of order"))


def grouped(rows: int) -> float:
    """Input tuples per second of GROUP BY with SUM."""
    op = operator(("k",), "sum", is_distinct=False)
    stream = Stream(op, GROUPS_WINDOW, GROUPS)
    for _ in range(2):
        stream.push(GROUPS_BATCH)
    started = time.process_time()
    for _ in range(0, rows, GROUPS_BATCH):
        stream.push(GROUPS_BATCH)
    return round(rows / (time.process_time() - started))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=2_000_000)
    names = [*FUNCTIONS, *SET_OPERATIONS]
    parser.add_argument("--only", choices=names)
    given = parser.parse_args()
    sizes = [n for n in (1_000, 10_000, 100_000, 1_000_000) if n <= given.most]
    found: dict[str, Any] = {"changes": {}}
    for name in [given.only] if given.only else names:
        per_change(name, [100], 2 * BATCH)  # compiles
        found["changes"][name] = per_change(name, sizes, given.changes)
    if not given.only:
        found["grouped"] = {"groups": GROUPS, "rows_per_s": grouped(given.rows)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
