"""Joins that shed on Spark: the bound is the query's, what waits included, and stops lose nothing."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from spark_runs import Run, SingleRun, Streams, closed, draw, table

from windrow.operators.columns.chunks import decode

JOIN = "SELECT x.ts, y.ts AS yts, x.v FROM x, y WHERE x.k = y.k WINDOW = 16"
TUPLES = 12
LIMIT = {"memory": f"{TUPLES} tuples", "on_memory": "shed", "buckets": 2,
         "service_rate": 2, "on_service_rate": "shed"}  # fmt: skip

STRUCTURES = ({"structure": "hash/ttree"}, {"algorithm": "bew"}, {"structure": "btree/buffer"})
"""What a query is started with again: the state belongs to none of them."""


@pytest.mark.law
def test_a_query_that_is_stopped_after_every_batch_keeps_to_its_memory(
    spark: Any, tmp_path: Path
) -> None:
    tables = {
        name: closed([*draw(seed, 2, rows=40, ticks=16), table([])])
        for seed, name in enumerate("xy")
    }
    streams, run = Streams(tmp_path, tables), Run(tmp_path / "run")
    exact = decided(streams.in_process().sql(JOIN).to_arrow())
    held = 0
    for batch in range(streams.batches):
        streams.write(batch)
        run.finish(streams.on_spark(spark).sql(JOIN, **LIMIT, **STRUCTURES[batch % 3]))
        if batch == 0:
            run.forget_last_commit()  # the next run replays the first batch
        if batch == 1:
            held = held_by(spark, run)
    session = streams.on_spark(spark, is_streaming=False)
    whole = session.sql(JOIN, **LIMIT, algorithm="bew")
    found = decided(whole.toArrow())
    assert decided(session.sql(JOIN, **LIMIT, structure="btree/ttree").toArrow()) == found
    streamed = decided(run.rows(spark))
    assert Counter() < found < exact
    assert Counter() < streamed < exact
    assert TUPLES // 2 < held <= TUPLES
    reader = streams.on_spark(spark).progress_reader(JOIN, **LIMIT)
    told = [reader.read(report).recall for report in run.reports][-1]
    in_all = session.progress(whole).recall
    for recall, rows in ((told, streamed), (in_all, found)):
        true = rows.total() / exact.total()
        assert abs(recall.estimated - true) < 0.25
        assert abs(recall.expected - true) < 0.25


def test_a_frequent_key_gets_the_room_and_the_probes_that_others_leave(
    spark: Any, tmp_path: Path
) -> None:
    chance = random.Random(5)
    tables = {
        name: closed([table([(16 * batch + chance.randrange(16), chance.choice("aaaaaaaabcde"), n)
                             for n in range(40)]) for batch in range(3)] + [table([])])
        for name in "xy"
    }  # fmt: skip
    streams, run = Streams(tmp_path, tables), SingleRun(tmp_path / "run")
    exact = decided(streams.in_process().sql(JOIN).to_arrow())
    for batch in range(streams.batches):
        streams.write(batch)
    # Windows of 16 ticks and the panes at hand hold about 90 tuples, most of them in one bucket.
    # Of 5 arrivals per tick, and as many probes or little more, most are those of one bucket too.
    limit = {"memory": "110 tuples", "on_memory": "shed", "buckets": 4,
             "service_rate": 5.5, "on_service_rate": "shed"}  # fmt: skip
    run.finish(streams.on_spark(spark).sql(JOIN, **limit))
    reader = streams.on_spark(spark).progress_reader(JOIN, **limit)
    told = [reader.read(report) for report in run.reports]
    assert decided(run.rows(spark)) == exact
    assert 110 / 4 < max(progress.stored for progress in told) <= 110
    session = streams.on_spark(spark, is_streaming=False)
    # In a batch run each bucket has its part for good: by the most that it will hold.
    assert decided(session.sql(JOIN, **limit | {"memory": "130 tuples"}).toArrow()) == exact


def decided(rows: pa.Table) -> Counter:
    """The rows of panes that the last watermark has passed while streaming."""
    return Counter({row: many for row, many in bag(rows).items() if row[0] < 1000})


def held_by(spark: Any, run: Run) -> int:
    """Tuples that all buckets together hold, those of undecided panes included."""

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
        for entries in json.loads(row["value"]["json"])["buffers"].values()
        for entry in entries
    )
