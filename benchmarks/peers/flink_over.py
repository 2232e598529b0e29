"""Flink's OVER aggregate over a file of tuples: `python flink_over.py TUPLES WINDOW_S ANSWERS`.

One row per tuple: SUM and COUNT of its key over the tuples of the last WINDOW_S seconds, those of its
own instant included. Several tuples have one instant: the watermark stays a millisecond behind, or
the second of them would now and then be late. Streaming mode, one task; the answers are committed by
checkpoints, the last one when the tuples end, at most a second later. Run by Flink's own Python;
knows nothing of Windrow.
Prints one JSON line: the seconds of the job, after a job over the first tuples that warms the JVM up.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

SETTINGS = {
    "parallelism.default": "1",
    "execution.checkpointing.interval": "1 s",
    "table.local-time-zone": "UTC",
}

TUPLES = """
    CREATE TABLE {name} (
        `row` BIGINT, k BIGINT, ts BIGINT, x BIGINT,
        event_time AS TO_TIMESTAMP_LTZ(ts, 3),
        WATERMARK FOR event_time AS event_time - INTERVAL '0.001' SECOND
    ) WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'csv')
"""
ANSWERS = """
    CREATE TABLE {name} (`row` BIGINT, total BIGINT, n BIGINT)
    WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'csv')
"""
OVER = """
    INSERT INTO {answers} SELECT `row`, SUM(x) OVER w, COUNT(*) OVER w FROM {tuples} WINDOW w AS (
        PARTITION BY k ORDER BY event_time
        RANGE BETWEEN INTERVAL '{seconds}' SECOND PRECEDING AND CURRENT ROW
    )
"""


def job(tables: TableEnvironment, name: str, tuples: Path, seconds: int, answers: Path) -> float:
    """Runs the query over one file; how long it took."""
    tables.execute_sql(TUPLES.format(name=f"{name}_in", path=tuples))
    tables.execute_sql(ANSWERS.format(name=f"{name}_out", path=answers))
    started = time.perf_counter()
    over = OVER.format(answers=f"{name}_out", tuples=f"{name}_in", seconds=seconds)
    tables.execute_sql(over).wait()
    return time.perf_counter() - started


def main() -> None:
    tuples, seconds, answers = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, setting in SETTINGS.items():
        tables.get_config().set(name, setting)
    job(tables, "warm_up", tuples.with_suffix(".first"), seconds, answers.with_suffix(".first"))
    print(json.dumps({"seconds": round(job(tables, "whole", tuples, seconds, answers), 2)}))


if __name__ == "__main__":
    main()
