"""Joins that shed on Spark: the bound is the query's, and neither stops nor cuts change the answer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from spark_runs import Run, Streams, bag, closed, draw

from windrow.operators.chunks import decode

JOIN = "SELECT x.ts, y.ts AS yts, x.v FROM x, y WHERE x.k = y.k WINDOW = 16"
TUPLES = 12
LIMIT = {"memory": f"{TUPLES} tuples", "on_memory": "shed", "buckets": 2,
         "service_rate": 2, "on_service_rate": "shed"}  # fmt: skip


def test_a_query_that_is_stopped_after_every_batch_gives_what_a_batch_run_gives(
    spark: Any, tmp_path: Path
) -> None:
    tables = {name: closed(draw(seed, 2, rows=40, ticks=16)) for seed, name in enumerate("xy")}
    streams, run = Streams(tmp_path, tables), Run(tmp_path / "run")
    exact = decided(streams.in_process().sql(JOIN).to_arrow())
    held = 0
    for batch in range(streams.batches):
        streams.write(batch)
        run.finish(streams.on_spark(spark).sql(JOIN, **LIMIT))
        if batch == 0:
            run.forget_last_commit()  # the next run replays the first batch
        if batch == 1:
            held = held_by_windows(spark, run)
    session = streams.on_spark(spark, is_streaming=False)
    whole = session.sql(JOIN, **LIMIT)
    found = decided(whole.toArrow())
    assert found < exact
    assert decided(run.rows(spark)) == found
    assert TUPLES // 2 < held <= TUPLES
    reader = streams.on_spark(spark).progress_reader(JOIN, **LIMIT)
    told = [reader.read(report).recall for report in run.reports][-1]
    in_all = session.progress(whole).recall
    true = found.total() / exact.total()
    for recall in (told, in_all):
        assert abs(recall.estimated - true) < 0.25
        assert abs(recall.expected - true) < 0.25


def decided(table: pa.Table) -> Counter:
    """The rows of panes that the last watermark has passed while streaming."""
    return Counter({row: many for row, many in bag(table).items() if row[0] < 1000})


def held_by_windows(spark: Any, run: Run) -> int:
    """Tuples that all buckets together have kept, those of undecided panes aside."""

    def state(variable: str) -> list[Any]:
        reader = spark.read.format("statestore").option("stateVarName", variable)
        return reader.load(str(run.folder / "checkpoint")).collect()

    sizes = {
        row["user_map_key"]["name"]: len(decode(row["user_map_value"]["blob"]))
        for row in state("chunks")
    }
    return sum(
        sizes[entry["name"]] - entry["skip"]
        for row in state("manifest")
        for name, entries in json.loads(row["value"]["json"])["buffers"].items()
        if name.isdigit()
        for entry in entries
    )
