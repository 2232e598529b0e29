"""A bestmatch join in three dimensions, beside the paper's SQL on DuckDB and on Spark.

    python -m benchmarks.bestmatch [--rows 200000] [--rounds 3] [--with-spark]

Two streams of so many tuples, 100 per second each, at random places in a square; within 10 seconds,
100 and 62.5 there are about 50 candidates per left tuple. For each left tuple those of its pairs
that no other of them dominates in time, x and y:

    windrow              LEFT OUTER BESTMATCH JOIN
    duckdb-not-exists    the paper's SQL: pairs, less those for which a better one exists
    duckdb-anti-join     the same after the candidates, made once: an anti-join on dominance
    duckdb-grid          the same with candidates found by cells in time, x and y: its fairest form
    windrow-in-memory    as windrow, a second of either stream at a time
    windrow-pages        the same, in memory of a tenth of its windows, the rest in pages on disk
    windrow-chunks       the same, the rest in chunks that are mapped
    windrow-spark        as windrow, batch on Spark
    spark-not-exists     the paper's SQL on Spark

Each way runs in a process of its own, once small to compile, then timed; the best of its rounds
counts, by the clock and by seconds of processor, for DuckDB works on all cores. A peer is stopped at 20
times our time. The answers are compared by a checksum over the
numbers of both tuples of each pair. Counted as well: comparisons per left tuple as the streams
grow.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

PER_SECOND = 100
SIDE = 1_000.0
NEAR_US, NEAR_X, NEAR_Y = 10_000_000, 100.0, 62.5
STOPPED_AT, STARTS_WITHIN_S = 20, 60

SHORT = "30 kB"
"""Memory for windows of about 1,000 left and 2,000 right tuples, of 100 bytes with their indexes."""

WINDROW = f"""
    SELECT l.id AS a, r.id AS b FROM l LEFT OUTER BESTMATCH JOIN r
    ON l.ts MINDIST r.ts, l.x MINDIST r.x, l.y MINDIST r.y
    WHERE abs(l.ts - r.ts) <= {NEAR_US} AND abs(l.x - r.x) <= {NEAR_X}
      AND abs(l.y - r.y) <= {NEAR_Y}
"""


def candidate(right: str) -> str:
    """That the left tuple and one of the right stream are near each other."""
    return (
        f"{right}.ts BETWEEN l.ts - {NEAR_US} AND l.ts + {NEAR_US}"
        f" AND abs(l.x - {right}.x) <= {NEAR_X} AND abs(l.y - {right}.y) <= {NEAR_Y}"
    )


def better(one: list[str], other: list[str]) -> str:
    """That distances are nowhere greater and somewhere less than others."""
    nowhere = " AND ".join(f"{a} <= {b}" for a, b in zip(one, other, strict=True))
    somewhere = " OR ".join(f"{a} < {b}" for a, b in zip(one, other, strict=True))
    return f"{nowhere} AND ({somewhere})"


def distances(right: str) -> list[str]:
    """Those of a left tuple and one of the right stream."""
    return [f"abs(l.{name} - {right}.{name})" for name in ("ts", "x", "y")]


NOT_EXISTS = f"""
    SELECT l.id AS a, r.id AS b FROM l JOIN r ON {candidate("r")}
    WHERE NOT EXISTS (SELECT 1 FROM r AS o
                      WHERE {candidate("o")} AND {better(distances("o"), distances("r"))})
"""


def anti_join(left: str, right: str, near: str) -> str:
    """The candidates once, less those that another of the same left tuple dominates."""
    measured = ", ".join(f"{d} AS d{i}" for i, d in enumerate(distances("r")))
    return f"""
    WITH c AS MATERIALIZED (
        SELECT l.id AS a, r.id AS b, {measured} FROM {left} AS l JOIN {right} AS r ON {near})
    SELECT c.a, c.b FROM c ANTI JOIN c AS o ON c.a = o.a
    AND {better([f"o.d{i}" for i in range(3)], [f"c.d{i}" for i in range(3)])}
"""


def by_cells() -> str:
    """The anti-join whose candidates meet in cells as wide as what is near, a left tuple in all 27 of its own.

    DuckDB then joins by equality, not by a range. Cells in fewer dimensions were slower.
    """
    widths = {"ts": NEAR_US, "x": NEAR_X, "y": NEAR_Y}
    cells = {name: f"CAST(floor({name} / {width}) AS INTEGER)" for name, width in widths.items()}
    steps = ", ".join(f"(VALUES (-1), (0), (1)) AS step_{name}(by_{name})" for name in cells)
    left = ", ".join(f"{cell} + by_{name} AS cell_{name}" for name, cell in cells.items())
    right = ", ".join(f"{cell} AS cell_{name}" for name, cell in cells.items())
    same = " AND ".join(f"l.cell_{name} = r.cell_{name}" for name in cells)
    return anti_join(
        f"(SELECT *, {left} FROM l, {steps})",
        f"(SELECT *, {right} FROM r)",
        f"{same} AND {candidate('r')}",
    )


TOTALS = "SELECT COUNT(*), SUM(CAST(a AS DECIMAL(38, 0)) * (b + 2)) FROM ({}) AS pairs"


def side(rows: int, name: str) -> pa.Table:
    """Tuples in the order of their times, numbered."""
    random = np.random.default_rng([29, ord(name)])
    times = np.sort(random.integers(0, rows * 1_000_000 // PER_SECOND, rows))
    places = {axis: random.uniform(0, SIDE, rows) for axis in ("x", "y")}
    return pa.table({"id": np.arange(rows), "ts": times, **places})


def counted_work(rows: int) -> dict[int, float]:
    """Comparisons per left tuple, of streams of several lengths."""
    import windrow

    found = {}
    for size in (rows // 10, rows // 3, rows):
        session = windrow.Session()
        for stream, name in (("l", "a"), ("r", "b")):
            session.stream(stream, side(size, name), time="ts")
        answer = session.sql(WINDROW)
        answer.to_arrow()
        counted = sum(figures["comparisons"] for figures in answer.progress.operators.values())
        found[size] = round(counted / size, 1)
    return found


def by_windrow(left: pa.Table, right: pa.Table) -> tuple[int, int]:
    """In process."""
    import windrow

    session = windrow.Session()
    session.stream("l", left, time="ts")
    session.stream("r", right, time="ts")
    return totals(session.sql(WINDROW).to_arrow())


def step_by_step(**options: Any) -> Callable[[pa.Table, pa.Table], tuple[int, int]]:
    """In process, a second of either stream at a time."""

    def run(left: pa.Table, right: pa.Table) -> tuple[int, int]:
        import windrow

        session = windrow.Session()
        for name, table in (("l", left), ("r", right)):
            session.stream(name, table.to_batches(max_chunksize=PER_SECOND), time="ts")
        return totals(session.sql(WINDROW, **options).to_arrow())

    return run


def by_duckdb(sql: str) -> Callable[[pa.Table, pa.Table], tuple[int, int]]:
    """On all cores, from Arrow tables."""

    def run(left: pa.Table, right: pa.Table) -> tuple[int, int]:
        import duckdb

        with duckdb.connect() as connection:
            connection.register("l", left)
            connection.register("r", right)
            found = connection.sql(TOTALS.format(sql)).fetchall()
        return int(found[0][0]), int(found[0][1])

    return run


def on_spark(sql: str, *, is_ours: bool) -> Callable[[pa.Table, pa.Table], tuple[int, int]]:
    """On Spark in local mode, batch."""

    def run(left: pa.Table, right: pa.Table) -> tuple[int, int]:
        import windrow

        spark = _spark()
        frames = {"l": spark.createDataFrame(left), "r": spark.createDataFrame(right)}
        if not is_ours:
            for name, frame in frames.items():
                frame.createOrReplaceTempView(name)
            found = spark.sql(TOTALS.format(sql)).collect()[0]
            return int(found[0]), int(found[1])
        session = windrow.Session(spark)
        for name, frame in frames.items():
            session.stream(name, frame, time="ts")
        session.sql(sql).createOrReplaceTempView("answer")
        found = spark.sql(TOTALS.format("SELECT a, b FROM answer")).collect()[0]
        return int(found[0]), int(found[1])

    return run


def _spark() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", 4)
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


WAYS = {
    "windrow": by_windrow,
    "windrow-in-memory": step_by_step(),
    "windrow-pages": step_by_step(memory=SHORT, on_memory="spill"),
    "windrow-chunks": step_by_step(memory=SHORT, on_memory="spill", algorithm="matwin"),
    "duckdb-not-exists": by_duckdb(NOT_EXISTS),
    "duckdb-anti-join": by_duckdb(anti_join("l", "r", candidate("r"))),
    "duckdb-grid": by_duckdb(by_cells()),
    "windrow-spark": on_spark(WINDROW, is_ours=True),
    "spark-not-exists": on_spark(NOT_EXISTS, is_ours=False),
}


def totals(answer: pa.Table) -> tuple[int, int]:
    """Pairs, and a sum over the numbers of their tuples."""
    left, right = (answer[name].to_numpy().astype(np.int64) for name in ("a", "b"))
    return answer.num_rows, int((left * (right + 2)).sum())


def measure(way: str, rows: int) -> dict[str, Any]:
    """One way, once small to compile, then timed."""
    WAYS[way](side(2_000, "a"), side(2_000, "b"))
    left, right = side(rows, "a"), side(rows, "b")
    began, used = time.perf_counter(), time.process_time()
    found = WAYS[way](left, right)
    # Of Spark the JVM's is not among them.
    used = time.process_time() - used
    return {"seconds": time.perf_counter() - began, "processor_s": used, "totals": found}


def best_of(way: str, rows: int, rounds: int, limit: float | None) -> dict[str, Any]:
    """The best round of a way; one that takes longer than the limit is stopped."""
    command = [sys.executable, "-m", "benchmarks.bestmatch", "--rows", str(rows), "--way", way]
    found: list[dict[str, Any]] = []
    for _ in range(rounds):
        # To start, load and warm up is not its time.
        timeout = None if limit is None else limit + STARTS_WITHIN_S
        try:
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=timeout)
        except subprocess.TimeoutExpired:
            return {"stopped_after": round(limit or 0, 1)}
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return min(found, key=lambda one: float(one["seconds"]))


def all_ways(rows: int, rounds: int, *, with_spark: bool) -> dict[str, Any]:
    """Every way beside ours, equal answers checked."""
    families = [("windrow", ["duckdb-grid", "duckdb-anti-join", "duckdb-not-exists"])]
    if with_spark:
        families.append(("windrow-spark", ["spark-not-exists"]))
    found: dict[str, Any] = {}
    for ours, peers in families:
        found[ours] = best_of(ours, rows, rounds, None)
        limit = STOPPED_AT * found[ours]["seconds"]
        for peer in peers:
            found[peer] = best_of(peer, rows, 1 if "not-exists" in peer else rounds, limit)
            seconds = found[peer].get("seconds", found[peer].get("stopped_after"))
            found[peer]["ratio"] = round(seconds / found[ours]["seconds"], 1)
            if "processor_s" in found[peer] and peer.startswith("duckdb"):
                per_core = found[peer]["processor_s"] / found[ours]["processor_s"]
                found[peer]["ratio_per_core"] = round(per_core, 1)
    sums = {tuple(one["totals"]) for one in found.values() if "totals" in one}
    if len(sums) > 1:
        raise SystemExit(f"the answers differ: {sums}")
    work = counted_work(rows)
    return {"rows": rows, "pairs": next(iter(sums))[0], "comparisons": work, "ways": found}


def main() -> None:
    """Measures one way, or all of them; prints JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--with-spark", action="store_true")
    asked = parser.parse_args()
    if asked.way:
        print(json.dumps(measure(asked.way, asked.rows)))
    else:
        print(json.dumps(all_ways(asked.rows, asked.rounds, with_spark=asked.with_spark)))


if __name__ == "__main__":
    main()
