"""One streaming query on Spark, run to the end of its input, its micro-batches timed.

Called as a process of its own (`python -m benchmarks.streaming WAY FOLDER ...`), so that each way
has a fresh JVM. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peak_memory import PeakMemory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
IN_MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
JOIN = """
    SELECT a.ts AS a_ts, a.k AS k, a.v AS a_v, b.ts AS b_ts, b.v AS b_v, c.ts AS c_ts, c.v AS c_v
    FROM a, b, c
    WHERE a.k = b.k AND b.k = c.k
    WINDOW = INTERVAL '{window}' SECONDS
"""


THETA = """
    SELECT a.ts AS a_ts, a.v AS a_v, b.ts AS b_ts, b.v AS b_v
    FROM a, b
    WHERE a.v < b.v AND a.k <> b.k
    WINDOW = INTERVAL '{window}' MILLISECONDS
"""


def windrow_join(spark: SparkSession, streams: dict[str, DataFrame], window: int) -> DataFrame:
    """The 3-way window join as Windrow runs it."""
    import windrow

    session = windrow.Session(spark)
    for name, frame in streams.items():
        session.stream(name, frame, time="ts", lateness="1 second")
    return session.sql(JOIN.format(window=window))


def windrow_theta(spark: SparkSession, streams: dict[str, DataFrame], window: int) -> DataFrame:
    """A join without an equality, which Spark refuses; the window is in milliseconds."""
    import windrow

    session = windrow.Session(spark)
    for name in "ab":
        session.stream(name, streams[name], time="ts", lateness="1 second")
    return session.sql(THETA.format(window=window))


def files_to_files(
    spark: SparkSession, sql: str, streams: str, folder: Path, target: Path, checkpoint: Path
) -> StreamingQuery:
    """A query from files to files by sources and sinks of ours, a file per micro-batch: Spark moves blobs."""
    import windrow

    session = windrow.Session(spark)
    for name in streams:
        place = windrow.files(str(folder / name), batch_rows=_rows_of_a_file(folder / name))
        session.stream(name, place, time="ts", lateness="1 second")
    session.run(
        sql,
        to=windrow.files(str(target)),
        checkpoint=str(checkpoint),
        until_done=True,
    )
    (query,) = spark.streams.active
    return query


def _rows_of_a_file(folder: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(min(folder.glob("*.parquet"))).num_rows)


def spark_chain(spark: SparkSession, streams: dict[str, DataFrame], window: int) -> DataFrame:
    """The same answer from Spark's own stream-stream joins, as Spark 4.3 allows it.

    A joined row may carry one event-time column only, so b's time goes on as a plain number.
    """
    from pyspark.sql import functions as F  # noqa: N812

    del spark
    a, b, c = (
        streams[name]
        .select(*(F.col(column).alias(f"{name}_{column}") for column in ("ts", "k", "v")))
        .withWatermark(f"{name}_ts", "1 second")
        for name in "abc"
    )
    reach = F.expr(f"INTERVAL {window} SECONDS")
    ab = a.join(
        b,
        (F.col("a_k") == F.col("b_k"))
        & (F.col("b_ts") >= F.col("a_ts") - reach)
        & (F.col("b_ts") <= F.col("a_ts") + reach),
    ).select("a_ts", "a_k", "a_v", F.unix_micros("b_ts").alias("b_us"), "b_v")
    abc = ab.join(
        c,
        (F.col("a_k") == F.col("c_k"))
        & (F.col("c_ts") >= F.col("a_ts") - reach)
        & (F.col("c_ts") <= F.col("a_ts") + reach)
        & (F.abs(F.unix_micros("c_ts") - F.col("b_us")) <= window * 1_000_000),
    )
    return abc.select(
        "a_ts", F.col("a_k").alias("k"), "a_v", F.timestamp_micros("b_us").alias("b_ts"), "b_v",
        "c_ts", "c_v",
    )  # fmt: skip


def spark_pair(spark: SparkSession, streams: dict[str, DataFrame], window: int) -> DataFrame:
    """Spark's own join of two of the streams: the least that a join of streams costs there."""
    from pyspark.sql import functions as F  # noqa: N812

    del spark
    a, b = (
        streams[name]
        .select(*(F.col(column).alias(f"{name}_{column}") for column in ("ts", "k", "v")))
        .withWatermark(f"{name}_ts", "1 second")
        for name in "ab"
    )
    reach = F.expr(f"INTERVAL {window} SECONDS")
    is_near = F.col("b_ts").between(F.col("a_ts") - reach, F.col("a_ts") + reach)
    return a.join(b, (F.col("a_k") == F.col("b_k")) & is_near)


def copy(spark: SparkSession, streams: dict[str, DataFrame], window: int) -> DataFrame:
    """No operator at all: the same rows from Parquet to Parquet, the floor."""
    del spark, window
    return streams["a"].union(streams["b"]).union(streams["c"])


FROM_FILES = "windrow-files"
"""The way that reads and writes files by itself."""

WAYS = {
    "windrow": (windrow_join, ROCKSDB),
    "windrow-theta": (windrow_theta, ROCKSDB),
    "spark-memory": (spark_chain, IN_MEMORY),
    "spark-rocksdb": (spark_chain, ROCKSDB),
    "spark-pair": (spark_pair, IN_MEMORY),
    "copy": (copy, IN_MEMORY),
}


def session(provider: str, partitions: int) -> SparkSession:
    """A local session on two cores, the same for every way but for the state provider.

    State and checkpoints are written as is best for each way, on a disk of this machine: what Spark does by
    itself costs every way, and those most that keep state in RocksDB.
    """
    from pyspark.sql import SparkSession

    from windrow.run.spark.launch import FOR_LOCAL_CHECKPOINT, FOR_STATE

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "6g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.streaming.stateStore.providerClass": provider,
        **FOR_STATE,
        **FOR_LOCAL_CHECKPOINT,
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def checksum(spark: SparkSession, folder: Path) -> dict[str, int]:
    """Rows and an order-free checksum over all columns of what was written."""
    from pyspark.sql import functions as F  # noqa: N812

    rows = spark.read.parquet(str(folder))
    columns = sorted(rows.columns)
    whole = rows.select(F.xxhash64(*columns).cast("decimal(38,0)").alias("h"))
    (found,) = whole.agg(F.count("*"), F.sum("h")).collect()
    count, total = found
    return {"rows": count, "checksum": int(total or 0)}


def run(spark: SparkSession, way: str, folder: Path, window: int) -> dict[str, object]:
    """One query from its first micro-batch to its last: timings, rows and checksum."""
    streams = (
        {}
        if way == FROM_FILES
        else {
            name: spark.readStream.schema("ts timestamp, k bigint, v double")
            .option("maxFilesPerTrigger", 1)
            .parquet(str(folder / name))
            for name in "abc"
        }
    )
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "out"
        checkpoint = Path(scratch) / "checkpoint"
        memory = PeakMemory()
        started = time.perf_counter()
        if way == FROM_FILES:
            sql = JOIN.format(window=window)
            query = files_to_files(spark, sql, "abc", folder, target, checkpoint)
        else:
            answer = WAYS[way][0](spark, streams, window)
            started = time.perf_counter()
            query = (
                answer.writeStream.format("parquet")
                .option("path", str(target))
                .option("checkpointLocation", str(checkpoint))
                .trigger(availableNow=True)
                .start()
            )
        query.awaitTermination()
        total = time.perf_counter() - started
        peak = memory.stop()
        batches = [progress for progress in query.recentProgress if progress.numInputRows > 0]
        millis = [progress.batchDuration for progress in batches]
        found = checksum(spark, target)
    return {
        "total_s": round(total, 2),
        "batch_ms": millis,
        # The first batch fills the empty windows; the rest are steady.
        "steady_ms": statistics.median(millis[1:]),
        "phases_ms": {
            phase: statistics.median(progress.durationMs.get(phase, 0) for progress in batches[1:])
            for phase in batches[-1].durationMs
        },
        "worker_mib": peak,
        **found,
    }


def measure(
    way: str, folder: Path, window: int, partitions: int, warm_up: Path | None
) -> dict[str, object]:
    """Runs one way over the folder, after a smaller run that warms up the JVM and the workers."""
    provider = ROCKSDB if way == FROM_FILES else WAYS[way][1]
    spark = session(provider, partitions)
    if warm_up is not None:
        run(spark, way, warm_up, window)
    found = run(spark, way, folder, window)
    spark.stop()
    setting = {"provider": provider.rsplit(".", 1)[1], "partitions": partitions}
    return {"way": way, **setting, **found}


def main() -> None:
    """Parses the command line and prints the measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=[*WAYS, FROM_FILES])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--window", type=int, default=5)
    # One per core, for every way alike.
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--warm-up", type=Path)
    given = parser.parse_args()
    found = measure(given.way, given.folder, given.window, given.partitions, given.warm_up)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
