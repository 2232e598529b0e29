"""A sliding GROUP BY on Spark streaming against Spark reading and writing as many rows.

    python -m benchmarks.changelog_stream windrow FOLDER
    python -m benchmarks.changelog_stream windrow-files FOLDER
    python -m benchmarks.changelog_stream copy FOLDER --rows ROWS

`windrow` writes the changelog of SUM and COUNT by key over a sliding window, and compares it at a
few instants with what Spark's own GROUP BY gives over the tuples alive. `windrow-files` does the same from
files to files by a source and a sink of ours. `copy` has no operator: it
reads the same tuples and writes as many rows as the changelog has, of the same columns. Each is a
process of its own, with a fresh JVM; prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.streaming import FROM_FILES, ROCKSDB, files_to_files, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUMS = "SELECT k, SUM(v) AS total, COUNT(*) AS n FROM a [RANGE INTERVAL '{}' SECONDS] GROUP BY k"
INSTANTS = (0.3, 0.6, 0.9)
"""Where answers are compared, as shares of the time up to the last change."""


def changelog(spark: SparkSession, stream: DataFrame, window: int) -> DataFrame:
    """The sliding GROUP BY."""
    import windrow

    windowed = windrow.Session(spark)
    windowed.stream("a", stream, time="ts", lateness="1 second")
    return windowed.sql(SUMS.format(window))


def as_many(stream: DataFrame, share: float) -> DataFrame:
    """So many rows for every tuple, with the columns of the changelog; a part of them by hash."""
    copies = f"CAST(floor({share} + pmod(xxhash64(ts, k, v), 1000000) / 1e6D) AS INT)"
    return stream.selectExpr(
        "k", "v AS total", "1L AS n", "'insert' AS _change_type", "ts AS _event_time",
        f"explode(array_repeat(0, {copies})) AS copy",
    ).drop("copy")  # fmt: skip


def check(spark: SparkSession, folder: Path, written: Path, window: int) -> int:
    """Compares the changelog with Spark's answer at a few instants; how many rows these have.

    What is shown are sums that were rounded once; Spark's are compared to twelve digits.
    """
    tuples, changes = spark.read.parquet(str(folder / "a")), spark.read.parquet(str(written))
    ((first,),) = tuples.selectExpr("min(unix_micros(ts))").collect()
    ((last,),) = changes.selectExpr("max(unix_micros(_event_time))").collect()
    compared = 0
    for share in INSTANTS:
        instant = f"timestamp_micros({int(first + share * (last - first))}L)"
        standing = (
            changes.where(f"_event_time <= {instant}")
            .selectExpr("k", "total", "n", "IF(_change_type = 'insert', 1, -1) AS sign")
            .groupBy("k", "total", "n")
            .agg({"sign": "sum"})
            .where("`sum(sign)` <> 0")
        )
        alive = tuples.where(f"ts <= {instant} AND ts + INTERVAL '{window}' SECONDS >= {instant}")
        expected = alive.groupBy("k").agg({"v": "sum", "k": "count"})
        joined = standing.join(expected, "k", "full_outer").selectExpr(
            "count(*)",
            "count_if(abs(total - `sum(v)`) <= 1e-12D * abs(total) * n"
            " AND n = `count(k)` AND `sum(sign)` = 1)",
        )
        ((rows, equal),) = joined.collect()
        if rows != equal:
            raise SystemExit(f"at {instant} {rows - equal} of {rows} groups differ")
        compared += rows
    return compared


def run(
    spark: SparkSession, way: str, folder: Path, window: int, rows: int | None, *, is_checked: bool
) -> dict[str, object]:
    """One query from its first micro-batch to its last; its answer compared where it has one."""
    tuples = spark.read.parquet(str(folder / "a")).count()
    with tempfile.TemporaryDirectory() as scratch:
        target, checkpoint = Path(scratch) / "out", Path(scratch) / "checkpoint"
        if way == FROM_FILES:
            query = files_to_files(spark, SUMS.format(window), "a", folder, target, checkpoint)
        else:
            stream = (
                spark.readStream.schema("ts timestamp, k bigint, v double")
                .option("maxFilesPerTrigger", 1)
                .parquet(str(folder / "a"))
            )
            answer = (
                changelog(spark, stream, window)
                if way == "windrow"
                else as_many(stream, (rows or tuples) / tuples)
            )
            query = (
                answer.writeStream.format("parquet")
                .option("path", str(target))
                .option("checkpointLocation", str(checkpoint))
                .trigger(availableNow=True)
                .start()
            )
        query.awaitTermination()
        millis = [p.batchDuration for p in query.recentProgress if p.numInputRows > 0]
        found: dict[str, object] = {
            "tuples": tuples,
            "rows": spark.read.parquet(str(target)).count(),
            "batch_ms": millis,
            # The first batch fills the empty window; the rest are steady.
            "steady_ms": statistics.median(millis[1:]),
        }
        if way != "copy" and is_checked:
            found["compared"] = check(spark, folder, target, window)
    return found


def main() -> None:
    """Parses the command line and prints the measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=("windrow", FROM_FILES, "copy"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--window", type=int, default=30, help="seconds")
    parser.add_argument("--rows", type=int, help="how many rows a copy writes")
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--warm-up", type=Path)
    given = parser.parse_args()
    spark = session(ROCKSDB, given.partitions)
    if given.warm_up is not None:
        run(spark, given.way, given.warm_up, given.window, None, is_checked=False)
    found = run(spark, given.way, given.folder, given.window, given.rows, is_checked=True)
    spark.stop()
    print(json.dumps({"way": given.way, **found}))


if __name__ == "__main__":
    main()
