"""How long the first query takes: after an installation, and later; in process and on Spark.

    .venv/bin/python -m benchmarks.cold_start             in process
    .venv/bin/python -m benchmarks.cold_start --spark     and the first micro-batch on Spark

Each figure comes from a process of its own, over a few rows, so that nothing but the start is measured.

    empty     nothing is compiled, and all that is needed is compiled on the way
    package   nothing is in this user's cache; kernels that came with the package are read
    warm      all that is needed has been compiled by an earlier run

Seconds are of the clock and of the processor, the best of some rounds. Of Spark's first micro-batch the
session is there already; processor time is that of the query's Python processes. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 40
JOIN = (
    "SELECT a.ts, a.k, b.v AS w, c.v AS u FROM a, b, c "
    "WHERE a.k = b.k AND b.k = c.k WINDOW = INTERVAL '5' SECONDS"
)
AGGREGATE = "SELECT k, SUM(v) AS total FROM a [RANGE INTERVAL '5' SECONDS] GROUP BY k"
STATES = ("empty", "package", "warm")


class Stopwatch:
    """Seconds since it was last asked, of the clock and of this process's processor."""

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def lap(self) -> dict[str, float]:
        """The seconds, and begins anew."""
        wall, processor = self._wall, self._processor
        self._wall, self._processor = time.perf_counter(), time.process_time()
        return {
            "s": round(self._wall - wall, 2),
            "processor_s": round(self._processor - processor, 2),
        }


def rows_of(keys: int) -> pa.Table:
    """Some rows of a stream."""
    import pyarrow as pa

    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [start + timedelta(seconds=row) for row in range(ROWS)]
    columns = {"ts": times, "k": [row % keys for row in range(ROWS)]}
    return pa.table({**columns, "v": [row / 2 for row in range(ROWS)]})


def in_process() -> dict[str, Any]:
    """The first join and the first aggregate of this very process."""
    watch = Stopwatch()
    import windrow
    from windrow.kernels.compiling import COMPILING

    session = windrow.Session()
    for name, keys in (("a", 3), ("b", 4), ("c", 5)):
        session.stream(name, rows_of(keys), time="ts", lateness="1 second")
    imported = watch.lap()
    assert session.sql(JOIN).to_arrow().num_rows
    join, joined = watch.lap(), COMPILING.kernels
    assert session.sql(AGGREGATE).to_arrow().num_rows
    return {
        "import": imported,
        "first_join": join | {"compiled": joined},
        "first_aggregate": watch.lap() | {"compiled": COMPILING.kernels - joined},
    }


DAEMON = "windrow.run.spark.worker_daemon"


def on_preloaded_spark() -> dict[str, Any]:
    """The same, its workers forked from a process that has their modules."""
    return on_spark(is_preloaded=True)


def on_spark(*, is_preloaded: bool = False) -> dict[str, Any]:
    """The first micro-batch of a streaming 3-way join on a session that is there."""
    import pyarrow.parquet as pq

    from benchmarks.streaming import JOIN as SPARK_JOIN
    from benchmarks.streaming import ROCKSDB, session

    if is_preloaded:
        os.environ["PYSPARK_SUBMIT_ARGS"] = (
            f"--conf spark.python.daemon.module={DAEMON} pyspark-shell"
        )
    spark = session(ROCKSDB, 2)
    spark.range(1).count()
    import windrow

    with tempfile.TemporaryDirectory() as scratch:
        own = windrow.Session(spark)
        for name, keys in (("a", 3), ("b", 4), ("c", 5)):
            folder = Path(scratch) / name
            folder.mkdir()
            pq.write_table(rows_of(keys), folder / "1.parquet")
            stream = spark.readStream.schema("ts timestamp, k bigint, v double")
            own.stream(name, stream.parquet(str(folder)), time="ts", lateness="1 second")
        before = _of_children()
        started = time.perf_counter()
        answer = own.sql(SPARK_JOIN.format(window=5))
        planned = time.perf_counter()
        query = (
            answer.writeStream.format("parquet")
            .option("path", f"{scratch}/out")
            .option("checkpointLocation", f"{scratch}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        ended = time.perf_counter()
        first = next(batch for batch in query.recentProgress if batch.numInputRows)
        python = _of_children() - before
        spark.stop()
    return {
        "plan_s": round(planned - started, 2),
        "first_batch_s": first.durationMs["triggerExecution"] / 1000,
        "python_processor_s": round(python, 2),
        "query_s": round(ended - planned, 2),
    }


def _of_children() -> float:
    """Processor seconds of the Python processes that descend from this one, while they live."""
    ticks = os.sysconf("SC_CLK_TCK")
    found = 0
    below = {os.getpid()}
    processes = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "stat").read_text()
                command = (folder / "comm").read_text()
            except OSError:
                continue
            fields = text.rsplit(")", 1)[1].split()
            processes[int(folder.name)] = (
                int(fields[1]),
                command.startswith("python"),
                fields[11:15],
            )
    grown = True
    while grown:
        new = {name for name, (parent, *_) in processes.items() if parent in below} - below
        below |= new
        grown = bool(new)
    for name in below - {os.getpid()}:
        if processes[name][1]:
            found += sum(map(int, processes[name][2]))
    return found / ticks


WHERE: dict[str, Callable[[], dict[str, Any]]] = {
    "in_process": in_process,
    "spark": on_spark,
    "spark_preloaded": on_preloaded_spark,
}


def measured(where: str, state: str, rounds: int) -> dict[str, Any]:
    """The best of some processes that begin in that state."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "kernels"
        if state == "warm":
            _process(where, state, folder)
        tries = []
        for _ in range(rounds):
            if state != "warm":
                shutil.rmtree(folder, ignore_errors=True)
            tries.append(_process(where, state, folder))
    return min(tries, key=_first_seconds)


def _first_seconds(found: dict[str, Any]) -> float:
    if "first_batch_s" in found:
        return float(found["first_batch_s"])
    return sum(part["processor_s"] for part in found.values())


def _process(where: str, state: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.cold_start", "--child", where]
    environment = {**os.environ, "WINDROW_KERNEL_CACHE": str(folder)}
    if state != "package":
        environment["WINDROW_KERNEL_SHIPPED"] = "off"
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Parses the command line and prints the measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--child", choices=WHERE)
    given = parser.parse_args()
    if given.child is not None:
        print(json.dumps(WHERE[given.child]()))
        return
    places = ["in_process", *(["spark", "spark_preloaded"] if given.spark else [])]
    found = {
        where: {state: measured(where, state, given.rounds) for state in STATES} for where in places
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
