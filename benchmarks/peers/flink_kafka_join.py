"""Flink's join of three topics into a fourth: `python flink_kafka_join.py SERVERS A B C OUT WARM PARALLELISM`.

Equal keys, at most 5 seconds apart pair by pair: two interval joins, one after the other, as Flink's SQL has
them. Exactly once: a transaction per checkpoint, one each second. Topics are read to their ends, once to warm
the JVM up and once timed. Run by Flink's own Python, with its connector for Kafka; knows nothing of Windrow.
Prints one JSON line: the seconds of the second job.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]

CONNECTOR = Path(sys.prefix) / "flink-sql-connector-kafka.jar"

SETTINGS = {
    "pipeline.jars": f"file://{CONNECTOR}",
    "execution.checkpointing.interval": "1 s",
    "pipeline.object-reuse": "true",  # what its manual says for throughput
    "table.local-time-zone": "UTC",
}

STREAM = """
    CREATE TABLE {name} (
        ts TIMESTAMP_LTZ(3), k BIGINT, v DOUBLE,
        WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
    ) WITH (
        'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}',
        'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
        'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601'
    )
"""
ANSWER = """
    CREATE TABLE {name} (
        a_ts TIMESTAMP_LTZ(3), k BIGINT, a_v DOUBLE, b_ts TIMESTAMP_LTZ(3), b_v DOUBLE,
        c_ts TIMESTAMP_LTZ(3), c_v DOUBLE
    ) WITH (
        'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}',
        'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601',
        'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'flink-{topic}',
        'properties.transaction.timeout.ms' = '600000', 'properties.compression.type' = 'lz4'
    )
"""
JOIN = """
    INSERT INTO {answer}
    SELECT a.ts, a.k, a.v, b.ts, b.v, c.ts, c.v FROM a, b, c
    WHERE a.k = b.k AND b.k = c.k
      AND b.ts BETWEEN a.ts - INTERVAL '5' SECOND AND a.ts + INTERVAL '5' SECOND
      AND c.ts BETWEEN b.ts - INTERVAL '5' SECOND AND b.ts + INTERVAL '5' SECOND
      AND c.ts BETWEEN a.ts - INTERVAL '5' SECOND AND a.ts + INTERVAL '5' SECOND
"""


def main() -> None:
    """Runs the job twice, and prints how long the second one took."""
    servers, *topics, out, warm, parallelism = sys.argv[1:]
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, setting in {**SETTINGS, "parallelism.default": parallelism}.items():
        tables.get_config().set(name, setting)
    for name, topic in zip("abc", topics, strict=True):
        tables.execute_sql(STREAM.format(name=name, topic=topic, servers=servers))
    for name, topic in (("warm", warm), ("answer", out)):
        tables.execute_sql(ANSWER.format(name=name, topic=topic, servers=servers))
        started = time.perf_counter()
        tables.execute_sql(JOIN.format(answer=name)).wait()
        seconds = time.perf_counter() - started
    print(json.dumps({"seconds": round(seconds, 2)}))


if __name__ == "__main__":
    main()
