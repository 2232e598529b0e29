"""The stage in a streaming worker, driven without Spark: packed, stepped, unpacked."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bags import bag
from cases.driving import step
from unit.run.spark.fake_worker import Worker, planned, shifted_millis

from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.engine.driver import OperatorDriver
from windrow.physical.partitioning.shared_stages import stages
from windrow.registry import load
from windrow.run.spark import bucket_worker
from windrow.run.spark.chunk_cache import ChunkCache
from windrow.run.spark.packing import to_changes
from windrow.run.spark.stages import Spread, plan_stage, stateful_nodes
from windrow.schema import MIN_TICK

JOIN = "SELECT a.ts, b.ts AS bts FROM a, b WHERE a.k = b.k WINDOW = 5"
SUM = "SELECT k, SUM(v) AS s FROM a [RANGE 5] GROUP BY k"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch) -> None:
    # A worker that fails asks Spark to leave the traceback out, and ends; this process goes on.
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")


def worker(sql: str, buckets: int = 3, **options: str) -> Worker:
    query = planned(sql, **options)
    types = dict.fromkeys("ab", "struct<ts:bigint,k:bigint,v:bigint>") if options else {}
    node = stateful_nodes(query.root)[0]
    return Worker(plan_stage(query, (node,), 0, Spread(buckets, buckets), types))


def sharing_worker(sql: str, buckets: int) -> Worker:
    query = planned(sql)
    (stage,) = stages(query.root, buckets)
    return Worker(plan_stage(query, stage.nodes, 0, Spread(buckets, buckets)))


def test_combinations_come_in_the_batch_of_their_last_row() -> None:
    stage = worker(JOIN)
    assert stage.batch(MIN_TICK, [(1, 7, 0), (2, 8, 0)], [(3, 7, 0)]) == [(1, 3, 3)]
    assert stage.batch(MIN_TICK, [], [(7, 8, 0), (8, 8, 0)]) == [(2, 7, 7)]


def test_a_bucket_forgets_by_what_its_own_rows_promise() -> None:
    stage = worker(JOIN, buckets=1)
    stage.batch(MIN_TICK, [(t, 1, 0) for t in range(100)], [(t, 2, 0) for t in range(100)])
    # Newest 99 less lateness 2: nothing below 97 follows, and 5 ticks back are in reach.
    assert stage.figures["stored"] == 2 * 8


def test_what_waits_for_the_watermark_comes_without_rows_too() -> None:
    stage = worker(SUM)
    assert stage.batch(MIN_TICK, [(1, 7, 5), (2, 8, 1)]) == []
    assert stage.batch(3, []) == [(7, 5, 1, 1), (8, 1, 2, 1)]
    assert stage.batch(8, []) == [(7, 5, 7, -1)]
    assert stage.batch(20, []) == [(8, 1, 8, -1)]
    assert stage.figures["stored"] == 0


@pytest.mark.parametrize("sql", [JOIN, SUM], ids=["join", "aggregate"])
def test_one_bucket_does_the_work_of_the_operator_and_no_other(sql: str) -> None:
    stage = worker(sql, buckets=1)
    alone = OperatorDriver(stage.plan.node)
    total = Counter[str]()
    watermark = MIN_TICK
    for rows in ([(1, 7, 5), (4, 7, 1), (3, 8, 2)], [(5, 7, 1), (8, 8, 4)], [(20, 7, 1)], []):
        ports = [rows] * stage.plan.ports
        stage.batch(watermark, *ports)
        total.update(stage.figures)
        batches = [
            to_changes([stage.rows(port, rows)], arrow_schema(stage.plan.packed_schema(port)))
            for port in range(stage.plan.ports)
        ]
        after = max((t for t, _, _ in rows), default=22) - 2
        # Inner joins go on to what their own rows promise.
        step(alone, batches, watermark, after if sql is JOIN else watermark)
        watermark = after
    work = ("rows_in", "rows_out", "probes", "comparisons", "drops", "late")
    expected = alone.counters.as_dict()
    assert {name: total[name] for name in work} == {name: expected[name] for name in work}
    assert expected["probes"] > 0


def test_a_bucket_is_advanced_once_per_batch() -> None:
    stage = worker(SUM, buckets=1)
    stage.batch(MIN_TICK, [(1, 7, 5)])
    assert stage.batch(3, [(4, 7, 1)]) == [(7, 5, 1, 1)]
    assert stage.handle.timers == {(0, shifted_millis(3, "bigint") + 1)}


def test_operators_that_share_a_stage_are_restored_woken_and_counted_each() -> None:
    nested = (
        "SELECT DISTINCT i.k, i.n FROM (SELECT j.k, COUNT(*) AS n FROM "
        "(SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 5) j [RANGE 3] GROUP BY j.k) i"
    )
    stage = sharing_worker(nested, buckets=3)
    assert len(stage.plan.above) == 2
    assert stage.plan.identity.about == (
        "window join, then sliding aggregate, then set operation (distinct) of a, b"
    )

    def counted(name: str) -> list[int]:
        return [int(figures[name]) for figures in stage.by_operator]

    # Two pairs at 3 and one at 4, which wait for the watermark.
    assert stage.batch(MIN_TICK, [(1, 7, 0), (2, 7, 0), (4, 8, 0)], [(3, 7, 0), (1, 8, 0)]) == []
    assert counted("rows_in") == [5, 3, 0]
    assert counted("rows_out") == [3, 0, 0]
    assert counted("stored") == counted("stored_change") == [5, 3, 0]
    # The aggregate counts 2 of k = 7 at 3; the DISTINCT gives it in the same batch.
    assert stage.batch(4, []) == [(7, 2, 3, 1)]
    assert counted("rows_in") == [0, 0, 1]
    assert stage.batch(5, []) == [(8, 1, 4, 1)]
    held = counted("stored")
    assert stage.batch(6, []) == []  # none has anything due: what they hold is told all the same
    assert (counted("stored"), counted("stored_change")) == (held, [0, 0, 0])
    assert stage.batch(30, []) == [(7, 2, 7, -1), (8, 1, 8, -1)]
    assert counted("stored") == [0, 0, 0]
    assert counted("late") == [0, 0, 0]


@pytest.mark.parametrize("condition", ["a.k = b.k", "a.k <=> b.k", "a.k = b.k AND b.v <=> a.v"])
def test_operators_share_a_stage_in_any_number_of_buckets(condition: str) -> None:
    pairs = f"SELECT b.k, a.v FROM a, b WHERE {condition} WINDOW = 9"
    nested = f"SELECT j.k, j.v, COUNT(*) AS n FROM ({pairs}) j [RANGE 4] GROUP BY j.k, j.v"
    random, several, one = Random(5), sharing_worker(nested, 5), sharing_worker(nested, 1)
    given = []
    for watermark in (MIN_TICK, 10, 20, 30, 60):
        first = max(watermark, 0)
        rows = [
            [(first + t, random.choice([1, 2, None]), random.randrange(2)) for t in range(1, 9)]
            for _ in "ab"
        ]
        expected = one.batch(watermark, *rows)
        assert several.batch(watermark, *rows) == expected
        given += expected
    assert given
    assert any(k is None for k, *_ in given) == ("k <=>" in condition)


def test_late_rows_are_counted_once_even_where_rows_are_copied() -> None:
    cube = "SELECT a.ts FROM a, b, a AS c WHERE a.k = b.k AND b.v = c.v WINDOW = 5"
    stage = worker(cube, buckets=4)
    assert max(stage.plan.partitioning.copies) > 1
    rows = [(30, 1, 1), (None, 1, 1), (9, 1, 1)]
    stage.batch(10, rows, rows, rows)
    assert stage.figures["late"] == 3
    assert stage.figures["null_time"] == 3
    assert stage.figures["rows_in"] == 3


def test_late_rows_are_kept_aside_exactly_once(tmp_path: Path) -> None:
    stage = worker(JOIN, on_late="keep", dead_letters=str(tmp_path))
    for _ in range(2):  # a replayed batch writes the same file again
        stage.batch(10, [(9, 1, 1), (12, 1, 2), (None, 2, 3)], [])
    found = [row for path in sorted(tmp_path.glob("a/*.parquet")) for row in _letters(path)]
    assert bag(row.items() for row in found) == Counter(
        [
            (("ts", 9), ("k", 1), ("v", 1), ("_stream", "a"), ("_event_time", 9)),
            (("ts", None), ("k", 2), ("v", 3), ("_stream", "a"), ("_event_time", None)),
        ]
    )


def test_a_late_row_can_be_fatal() -> None:
    stage = worker(JOIN, on_late="fail")
    with pytest.raises(RuntimeError) as fatal:
        stage.batch(10, [(9, 1, 1)], [])
    assert type(fatal.value).__name__ == "DataError[late-row]"
    assert str(fatal.value).startswith("a row of a at 9 is late\n")


def test_the_state_of_another_query_is_refused_before_a_row_is_touched() -> None:
    first = worker(JOIN)
    first.batch(MIN_TICK, [(1, 7, 0)], [])
    other = worker(JOIN.replace("= 5", "= 6"))
    other.handle.values = first.handle.values
    with pytest.raises(RuntimeError) as refused:
        other.batch(MIN_TICK, [(1, 99, 0)], [])
    assert type(refused.value).__name__ == "PlanError[checkpoint-of-another-query]"


def test_a_worker_keeps_no_more_than_the_memory_of_the_query(monkeypatch) -> None:
    caches = [ChunkCache(None, 1 << 30, 0) for _ in range(2)]
    stages = []
    for cache, options in zip(caches, [{"memory": "9 kB", "on_memory": "spill"}, {}], strict=True):
        monkeypatch.setattr(bucket_worker, "worker_cache", lambda cache=cache: cache)
        stages.append(worker(JOIN.replace("= 5", "= 500"), **options))
        _ = stages[-1].processor.worker  # finds its cache now
    kept = []
    for start in range(0, 300, 30):
        rows = [(t, t % 11, 0) for t in range(start, start + 30)]
        bounded, free = (stage.batch(MIN_TICK, rows, rows) for stage in stages)
        assert bounded == free
        kept.append([cache.nbytes for cache in caches])
    most, most_without = map(max, zip(*kept, strict=True))
    assert 0 < most <= 9_000 < most_without


def test_the_plan_of_a_stage_can_be_pickled() -> None:
    plan = worker(JOIN).plan
    assert pickle.loads(pickle.dumps(plan)) == replace(plan)


def _letters(path: Path) -> list[dict]:
    return pq.read_table(path).to_pylist()


MATCH = (
    "SELECT a.ts, a.v, b.ts AS bts, b.v AS bv FROM a FULL OUTER BESTMATCH JOIN b"
    " ON a.ts MINDIST b.ts WITHIN 20, a.v MINDIST b.v WITHIN 3"
)


def matching_worker(**options: str) -> Worker:
    query = planned(MATCH, **options)
    (node,) = stateful_nodes(query.root)
    return Worker(plan_stage(query, (node,), 0, Spread(1, 1)))


@pytest.mark.parametrize("is_forgetful", [False, True], ids=["same worker", "another worker"])
def test_pages_stay_in_the_worker_and_are_made_anew_elsewhere(monkeypatch, is_forgetful) -> None:
    monkeypatch.setattr(bucket_worker, "worker_cache", lambda: ChunkCache(None, 1 << 30, 0))
    paged = matching_worker(memory="30 kB", on_memory="spill")
    plain = matching_worker()
    random, written, watermark = Random(3), [], MIN_TICK
    for first in range(0, 400, 40):
        rows = [
            [(first + random.randrange(40), 0, random.randrange(50)) for _ in range(100)]
            for _ in "ab"
        ]
        if is_forgetful:
            paged.processor.worker.cache = ChunkCache(None, 1 << 30, 0)
        assert paged.batch(watermark, *rows) == plain.batch(watermark, *rows)
        written.append(paged.figures["page_writes"])
        assert paged.processor.worker.cache.nbytes <= 30_000
        watermark = first + 38
    # A window has about 250 rows of each stream; a batch brings 100.
    assert min(written[1:]) > 0
    assert (min(written[4:]) > 20) == is_forgetful


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n FROM a [RANGE 5]",
        "SELECT a.v, b.v AS w FROM a [RANGE 5] BESTMATCH JOIN b [RANGE 5] ON a.v MINDIST b.v",
    ],
)
def test_tasks_make_rows_fewer_where_a_node_says_how(sql: str) -> None:
    nodes = [own.in_bucket(1) for own in stateful_nodes(planned(sql).root)]
    (node,) = (own for own in nodes if own.combiner)
    schema = arrow_schema(node.inputs[0].schema)
    columns = pa.RecordBatch.from_arrays([pa.array([7] * 3, f.type) for f in schema], schema=schema)
    rows = ChangeBatch(columns, np.full(3, 2), np.full(3, 8))
    left = load(node.combiner)(node, rows, [])
    assert 0 < len(left) <= 3
    assert left.times.tolist() == [2] * len(left)
