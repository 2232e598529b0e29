"""What a batch of one row costs in process: processor time per batch, for a join and for an aggregate.

    python -m benchmarks.one_row [--batches 20000]

Rows come from iterators, one to a batch, in turns of two streams; the first half is not timed. The answer is
taken as it comes. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import count

import pyarrow as pa

import windrow

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("v", pa.float64())])
QUERIES = {
    "join of two": "SELECT a.k, a.v, b.v AS w FROM a, b WHERE a.k = b.k WINDOW = INTERVAL '1' SECOND",
    "aggregate": "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM a [RANGE INTERVAL '1' SECOND] GROUP BY k",
    "filter": "SELECT k, v FROM a WHERE v > 0.5",
}


def rows(shift: int, batches: int) -> Iterator[pa.RecordBatch]:
    """One row a millisecond."""
    for n in range(batches):
        at = pa.array([n * 1000 + shift], pa.int64()).cast(SCHEMA.field("ts").type)
        yield pa.record_batch([at, pa.array([n % 97]), pa.array([n / batches])], schema=SCHEMA)


def measure(sql: str, batches: int) -> dict[str, float]:
    """Milliseconds of processor for each batch of the second half."""
    names = [name for name in "ab" if f"{name} " in sql.split("FROM")[1] or f"{name}," in sql]
    read = count(1)
    half: list[float] = []

    def watched(shift: int) -> Iterator[pa.RecordBatch]:
        for batch in made[shift]:
            if next(read) == len(names) * batches // 2:
                half.append(time.process_time())
            yield batch

    made = [list(rows(shift, batches)) for shift in range(len(names))]
    session = windrow.Session()
    for shift, name in enumerate(names):
        session.stream(name, watched(shift), schema=SCHEMA, time="ts")
    found = sum(batch.num_rows for batch in session.sql(sql))
    took = (time.process_time() - half[0]) / (len(names) * batches / 2)
    return {"ms": round(took * 1000, 3), "rows": found}


def main() -> None:
    """Parses the command line and prints the measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, default=20_000)
    given = parser.parse_args()
    found = {name: measure(sql, given.batches) for name, sql in QUERIES.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
