"""The left outer bestmatch join on one core: how it scales, what the grid saves, what a peer takes.

    python benchmarks/kernel_bestmatch.py

Sensor readings at uniform times and places: 200,000 on either side over 200,000 s, three dimensions
(time, x, y), at most 600 s apart, and within eps of each other in x and y. Pushed 20,000 per side
at a time. Seconds are of processor time on one core, compilation excluded.

The peer is DuckDB with one thread, asked by a join and NOT EXISTS over all pairs in reach; it gets
a smaller input, and its answer must be ours.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from windrow.operators.bestmatch import match_index
from windrow.operators.bestmatch.bestmatch import MatwinBestmatchOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.nodes.bestmatch import MatwinBestmatch
from windrow.physical.nodes.scans import ScanStream
from windrow.plan.nodes.bestmatch_join import Dimension
from windrow.schema import MAX_TICK, Field, Schema

SECOND = 1_000_000
TUPLES, PEER_TUPLES, PUSH_ROWS = 200_000, 20_000, 20_000
WINDOW_S, SIDE_M = 600, 10_000.0
FIELDS = (("ts", "timestamp"), ("id", "bigint"), ("x", "double"), ("y", "double"))

PEER = """
    WITH pairs AS MATERIALIZED (
        SELECT l.id AS l_id, r.id AS r_id, abs(l.t - r.t) AS dt, abs(l.x - r.x) AS dx,
               abs(l.y - r.y) AS dy
        FROM l JOIN r ON r.t BETWEEN l.t - {window} AND l.t + {window}
        WHERE dx <= {eps} AND dy <= {eps}
    )
    SELECT l_id, r_id FROM pairs AS p
    WHERE NOT EXISTS (
        FROM pairs AS q
        WHERE q.l_id = p.l_id AND q.dt <= p.dt AND q.dx <= p.dx AND q.dy <= p.dy
          AND (q.dt < p.dt OR q.dx < p.dx OR q.dy < p.dy)
    )
"""


@dataclass(frozen=True)
class Figures:
    """What one run took and found."""

    seconds: float
    pairs: set[tuple[int, int]]
    comparisons: int


def join(eps: float) -> MatwinBestmatch:
    """FROM l LEFT OUTER BESTMATCH JOIN r ON ts, x, y MINDIST, within 600 s and eps."""
    scans = []
    for alias in ("l", "r"):
        schema = Schema(tuple(Field(f"{alias}.{name}", kind) for name, kind in FIELDS))
        names = tuple(name for name, _ in FIELDS)
        scans.append(ScanStream(alias, alias, names, schema, f"{alias}.ts", "timestamp", 0))
    window = WINDOW_S * SECOND
    return MatwinBestmatch(
        left=scans[0],
        right=scans[1],
        dimensions=(
            Dimension("l.ts", "r.ts", "mindist", window, is_time=True),
            Dimension("l.x", "r.x", "mindist", eps),
            Dimension("l.y", "r.y", "mindist", eps),
        ),
        classes=(),
        lo=window,
        hi=window,
        keep=(("l.id",), ("r.id",)),
        keep_unmatched=False,
        schema=Schema((Field("l.id", "bigint"), Field("r.id", "bigint"))),
    )


def readings(alias: str, count: int) -> ChangeBatch:
    """One reading a second on average, anywhere in a square, in time order."""
    random = np.random.default_rng([20_240_101, ord(alias), count])
    times = np.sort(random.integers(0, count * SECOND, count))
    columns = {
        f"{alias}.ts": pa.array(times, pa.timestamp("us", "UTC")),
        f"{alias}.id": np.arange(count),
        f"{alias}.x": random.random(count) * SIDE_M,
        f"{alias}.y": random.random(count) * SIDE_M,
    }
    return ChangeBatch(pa.record_batch(columns), times)


def run(eps: float, count: int) -> Figures:
    """All tuples through the operator, the watermark following them."""
    left, right = readings("l", count), readings("r", count)
    operator = MatwinBestmatchOp(join(eps))
    answer: list[ChangeBatch] = []
    started = time.process_time()
    for start in range(0, count, PUSH_ROWS):
        cut = [batch.slice(start, min(start + PUSH_ROWS, count)) for batch in (left, right)]
        answer += operator.push(cut)
        answer += operator.advance(min(int(batch.times[-1]) for batch in cut))
    answer += operator.advance(MAX_TICK)
    seconds = time.process_time() - started
    pairs: set[tuple[int, int]] = set()
    for batch in answer:
        ids = (batch.columns.column(name).to_pylist() for name in ("l.id", "r.id"))
        pairs.update(zip(*ids, strict=True))
    return Figures(seconds, pairs, operator.counters.comparisons)


def peer(eps: float, count: int) -> Figures:
    """The same pairs by DuckDB."""
    with duckdb.connect(config={"threads": 1}) as connection:
        for alias in ("l", "r"):
            batch = readings(alias, count)
            x, y = (batch.columns.column(f"{alias}.{name}") for name in "xy")
            table = pa.table({"t": batch.times, "id": np.arange(count), "x": x, "y": y})
            connection.register(alias, table)
        started = time.process_time()
        query = PEER.format(window=WINDOW_S * SECOND, eps=eps)
        rows = connection.sql(query).fetchall()
        seconds = time.process_time() - started
    return Figures(seconds, set(rows), 0)


def main() -> None:
    """Prints the figures."""
    run(100.0, 2_000)  # compiles
    fewest = match_index.FEWEST_CELLS
    for eps in (100.0, 1_000.0):
        for kind, cells in (("by grid", fewest), ("by time", 2**62)):
            match_index.FEWEST_CELLS = cells
            figures = run(eps, TUPLES)
            rate = 2 * TUPLES / figures.seconds / 1e6
            print(
                f"{TUPLES:,} x {TUPLES:,}, eps {eps:,.0f} of {SIDE_M:,.0f}, {kind}: "
                f"{len(figures.pairs):,} pairs in {figures.seconds:.2f} s, "
                f"{rate:.2f} M tuples/s, {figures.comparisons:,} comparisons"
            )
        match_index.FEWEST_CELLS = fewest
    for eps in (100.0, 1_000.0):
        mine, theirs = run(eps, PEER_TUPLES), peer(eps, PEER_TUPLES)
        if mine.pairs != theirs.pairs:
            raise SystemExit("DuckDB's answer is another")
        print(
            f"{PEER_TUPLES:,} x {PEER_TUPLES:,}, eps {eps:,.0f}: {mine.seconds:.3f} s, "
            f"DuckDB {theirs.seconds:.2f} s ({theirs.seconds / mine.seconds:.0f} times), same pairs"
        )


if __name__ == "__main__":
    main()
