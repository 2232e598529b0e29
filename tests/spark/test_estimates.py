"""Estimates over a join that sheds on Spark: those that one process gives, stopped or not."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from spark_runs import DDL, Run, Streams, bag, closed, draw, table

from windrow.operators.changes import ChangeBatch
from windrow.operators.evaluate import DuckdbTypes
from windrow.operators.partition import route
from windrow.optimize.optimizer import optimize
from windrow.optimize.options import by_keyword
from windrow.physical.partitioning import partitioning_of
from windrow.physical.specs import WJoin, inputs
from windrow.plan.registering import stream_info
from windrow.schema import Field, Schema
from windrow.sql.compile import compile_query

TOTALS = (
    "SELECT x.k, COUNT(*) AS n, AVG(y.v) AS m FROM x [RANGE 16], y [RANGE 16]"
    " WHERE x.k = y.k GROUP BY x.k"
)
SHORT = {"service_rate": 2, "on_service_rate": "shed", "shed_least_rate": "40%", "buckets": 1}


def test_a_query_that_is_stopped_and_goes_on_gives_the_estimates_of_one_process(
    spark: Any, tmp_path: Path
) -> None:
    tables = {
        name: closed([*draw(seed, 2, rows=40, ticks=16), table([])])
        for seed, name in enumerate("xy")
    }
    streams, run = Streams(tmp_path, tables), Run(tmp_path / "run")
    for batches in ([0], [1, 2]):
        for batch in batches:
            streams.write(batch)
        run.finish(streams.on_spark(spark).sql(TOTALS, **SHORT))
    made = streams.in_process().sql(TOTALS, **SHORT).to_arrow()
    shown = list(zip(*ends(made), strict=True))
    assert any(high is not None and low < n < high for n, low, high in shown)
    assert any(high is None for _, _, high in shown)
    assert decided(run.rows(spark)) == decided(made)
    batch_run = streams.on_spark(spark, is_streaming=False).sql(TOTALS, **SHORT)
    assert bag(batch_run.toArrow()) == bag(made)


BUCKETS, RATE = 4, 12.0
SPREAD = {"service_rate": RATE, "on_service_rate": "shed", "shed_least_rate": "40%"}


def test_each_of_several_buckets_gives_the_estimates_of_a_process_with_its_part(
    spark: Any, tmp_path: Path
) -> None:
    dice = random.Random(3)
    rows = {
        name: [(dice.randrange(48), dice.choice("abcdefghijkl"), dice.randrange(9)) for _ in range(480)]
        for name in "xy"
    }  # fmt: skip
    streams = Streams(tmp_path, {name: [table(own)] for name, own in rows.items()})
    streams.write(0)
    session = streams.on_spark(spark, is_streaming=False)
    made = session.sql(TOTALS, **SPREAD, buckets=BUCKETS).toArrow()
    exact = streams.in_process().sql(TOTALS).to_arrow()
    bucket_of = homes({key for own in rows.values() for _, key, _ in own})
    assert set(bucket_of.values()) == set(range(BUCKETS))
    parts = []
    for bucket in range(BUCKETS):
        own = {
            name: [table([row for row in of if bucket_of[row[1]] == bucket])]
            for name, of in rows.items()
        }
        process = Streams(tmp_path / str(bucket), own).in_process()
        parts.append(process.sql(TOTALS, **SPREAD | {"service_rate": RATE / BUCKETS}).to_arrow())
    holds = []
    for instant in (20, 30, 40):
        wanted = [row for part in parts for row in standing(part, instant)]
        found = standing(made, instant)
        assert sorted((k, n, m) for k, n, _, _, m, *_ in found) == sorted(
            (k, n, m) for k, n, _, _, m, *_ in wanted
        )
        # A bucket that sheds nothing learns that others did: ends that it knew are NULL then.
        assert sorted(filter(is_uncertain, found)) == sorted(filter(is_uncertain, wanted))
        assert 6 < sum(map(is_uncertain, found)) < len(found)
        truth = {key: n for key, n, *_ in standing(exact, instant)}
        assert len(found) == len(truth) == 12
        assert abs(sum(row[1] for row in found) / sum(truth.values()) - 1) < 0.2
        holds += [low <= truth[key] <= (high or truth[key]) for key, _, low, high, *_ in found]
    assert 0.85 < sum(holds) / len(holds) <= 1


def is_uncertain(row: tuple[Any, ...]) -> bool:
    """Whether a row's COUNT is no sure one."""
    _, n, low, *_ = row
    return bool(low < n)


def homes(keys: set[str]) -> dict[str, int]:
    """The bucket of the join that each key goes to."""
    fields = tuple(Field(*column.split()) for column in DDL.split(", "))
    catalog = {name: stream_info(name, Schema(fields), "ts", 0) for name in "xy"}
    spec = optimize(compile_query(TOTALS, catalog, DuckdbTypes()), by_keyword(SPREAD)).root
    while not isinstance(spec, WJoin):
        (spec,) = inputs(spec)
    names = sorted(keys)
    batch = ChangeBatch(pa.record_batch({"x.k": names}), np.zeros(len(names), np.int64))
    _, buckets = route(spec, partitioning_of(spec, BUCKETS), 0, batch, BUCKETS)
    return dict(zip(names, buckets.tolist(), strict=True))


def standing(changes: pa.Table, instant: int) -> list[tuple[Any, ...]]:
    """The rows of the answer at an instant."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for (kind, *row, time), many in bag(changes).items():
        if time <= instant:
            rows[tuple(row)] += many if kind == "insert" else -many
    return list(rows.elements())


def ends(changes: pa.Table) -> list[list[float]]:
    return [changes[name].to_pylist() for name in ("n", "n_low", "n_high")]


def decided(changes: pa.Table) -> Counter:
    """The changes that the last watermark has passed while streaming."""
    return Counter({row: many for row, many in bag(changes).items() if row[-1] < 900})
