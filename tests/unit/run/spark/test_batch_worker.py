"""The stage in a batch worker, driven without Spark: blobs in the order of their first ticks."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from bags import bag
from plans import planned
from sessions import session

from windrow.operators.columns.arrow_types import arrow_schema
from windrow.run.spark import batch_worker, packing
from windrow.run.spark.batch_worker import batch_runner
from windrow.run.spark.packing import packer, unpacker
from windrow.run.spark.stages import BESIDE, Spread, plan_stage, stateful_nodes

pytestmark = pytest.mark.law

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.int64())])
JOIN = "SELECT a.ts, b.ts AS bts FROM a, b WHERE a.k = b.k WINDOW = 20"


def drawn(seed: int, rows: int) -> pa.Table:
    random = Random(seed)
    times = [random.randrange(2000) for _ in range(rows)]
    return pa.table({"ts": times, "k": [random.randrange(9) for _ in times]}, schema=SCHEMA)


@pytest.mark.parametrize("slice_rows", [1, 7, 1000])
def test_blobs_of_any_size_give_the_answer_of_the_run_in_process(monkeypatch, slice_rows) -> None:
    monkeypatch.setattr(packing, "SLICE_ROWS", slice_rows)
    monkeypatch.setattr(batch_worker, "STEP_BYTES", 5_000)
    tables = [drawn(seed, 400) for seed in (1, 2)]
    w = session(dict(zip("ab", tables, strict=True)), time="ts")
    query = planned(w, JOIN)
    node = stateful_nodes(query.root)[0]
    plan = plan_stage(query, (node,), 0, Spread(3, 2))
    packed = []
    for port, table in enumerate(tables):
        schema = arrow_schema(plan.packed_schema(port))
        values = {"__time": table["ts"], "ts": table["ts"], "k": table["k"]}
        rows = pa.table([values[f.name.split(".")[-1]] for f in schema], schema=schema)
        for part in rows.to_batches(max_chunksize=150):  # as if of several tasks
            packed += list(packer(plan, port, is_streaming=False)(iter([part])))
    ordered = pa.Table.from_batches(packed).sort_by(
        [("bucket", "ascending"), ("first_tick", "ascending")]
    )
    produced = list(batch_runner(plan)(iter(ordered.to_batches(max_chunksize=5))))
    found = Counter(
        tuple(row.values())[:2]
        for part in unpacker(node)(iter(produced))
        for row in part.to_pylist()
    )
    expected = w.sql(JOIN).to_arrow().to_pylist()
    assert found == bag(expected)
    figures = {
        name: sum(p.column("figures")[0].as_py()[BESIDE.index(name)] for p in produced)
        for name in ("rows_in", "rows_read", "stored")
    }
    assert figures == {"rows_in": 800, "rows_read": 800, "stored": 0}
