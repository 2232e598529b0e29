"""Estimates over a join that sheds on Spark: those that one process gives, stopped or not."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from spark_runs import Run, Streams, closed, draw, table

pytestmark = pytest.mark.law

TOTALS = (
    "SELECT x.k, COUNT(*) AS n, AVG(y.v) AS m FROM x [RANGE 16], y [RANGE 16]"
    " WHERE x.k = y.k GROUP BY x.k"
)
SHORT = {"service_rate": 3, "on_service_rate": "shed", "shed_least_rate": "40%", "buckets": 1}


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


BUCKETS = 4
SPREAD = {"service_rate": 10, "on_service_rate": "shed", "shed_least_rate": "40%"}


def test_estimates_of_several_buckets_hold_what_there_is(spark: Any, tmp_path: Path) -> None:
    dice = random.Random(3)
    # One key is that of a third of all rows; its bucket has its part of the probes.
    rows = {
        name: [(dice.randrange(48), dice.choice("aaaaaabcdefghijkl"), dice.randrange(9))
               for _ in range(480)]
        for name in "xy"
    }  # fmt: skip
    streams = Streams(tmp_path, {name: [table(own)] for name, own in rows.items()})
    streams.write(0)
    session = streams.on_spark(spark, is_streaming=False)
    made = session.sql(TOTALS, **SPREAD, buckets=BUCKETS).toArrow()
    exact = streams.in_process().sql(TOTALS).to_arrow()
    holds = []
    for instant in (24, 34, 44):
        found = standing(made, instant)
        truth = {key: n for key, n, *_ in standing(exact, instant)}
        assert len(found) == len(truth) == 12
        assert sum(map(is_uncertain, found)) > 6
        shares = [n / truth[key] for key, n, *_ in found if key == "a"]
        assert 0.75 < shares[0] < 1.25
        assert abs(sum(row[1] for row in found) / sum(truth.values()) - 1) < 0.2
        holds += [low <= truth[key] <= (high or truth[key]) for key, _, low, high, *_ in found]
    assert 0.85 < sum(holds) / len(holds) <= 1


def is_uncertain(row: tuple[Any, ...]) -> bool:
    """Whether a row's COUNT is no sure one."""
    _, n, low, *_ = row
    return bool(low < n)


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
