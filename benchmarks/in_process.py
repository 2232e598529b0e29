"""The 3-way join in process, read batch by batch: tuples per second and peak memory.

Called as a process of its own, so that the peak is this query's alone. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import pyarrow as pa

import windrow
from benchmarks.streaming import JOIN
from benchmarks.workloads import SCHEMA, ThreeStreams


def measure(tuples: int, batch: int, window: int) -> dict[str, object]:
    """Joins three streams of `tuples` each without ever holding them whole."""
    workload = ThreeStreams(tuples=tuples, batch=batch)
    session = windrow.Session()
    for stream, name in enumerate("abc"):
        reader = pa.RecordBatchReader.from_batches(SCHEMA, workload.batches(stream))
        session.stream(name, reader, time="ts", lateness="1 second")
    started = time.perf_counter()
    rows = sum(found.num_rows for found in session.sql(JOIN.format(window=window)))
    seconds = time.perf_counter() - started
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "tuples": 3 * tuples,
        "rows": rows,
        "seconds": round(seconds, 2),
        "tuples_per_s": round(3 * tuples / seconds),
        "peak_gib": round(peak_kib / 2**20, 2),
    }


def main() -> None:
    """Parses the command line and prints the measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tuples", type=int, default=10_000_000)
    parser.add_argument("--batch", type=int, default=100_000)
    parser.add_argument("--window", type=int, default=5)
    given = parser.parse_args()
    print(json.dumps(measure(given.tuples, given.batch, given.window)))


if __name__ == "__main__":
    main()
