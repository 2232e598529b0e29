"""The operator of WINDOW JOIN against the twin: any rows, any batches, restarts at any time."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.pair_arrivals import draw_batches, restarted
from cases.tape import TAPES
from hypothesis import given, note, settings
from twins.asof import Row
from twins.range_aggregate import Range, answers

from windrow.operators.aggregates.range_aggregate import RangeAggregateOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.range_aggregate import RangeAggregate
from windrow.physical.nodes.scans import ScanStream
from windrow.plan.exprs import column
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

pytestmark = pytest.mark.law

VALUES = [None, 1.0, 0.1, 1e16, -1e16, 3.5]
"""Sums of these go wrong unless they are exact."""

FUNCTIONS = ["sum", "avg", "min", "max", "median", "count"]


def scan(alias: str, names: list[str]) -> ScanStream:
    types = {"v": "double", "id": "bigint", "k": "string"}
    fields = tuple(Field(f"{alias}.{name}", types[name]) for name in names)
    return ScanStream(alias, alias, tuple(names), Schema(fields), "t", "bigint", 0)


def spec_of(own: Range) -> RangeAggregate:
    kinds = {"count": "bigint"}
    argument = column("r.v", "double")
    aggregates = [Aggregate("count", None, "rows", "bigint")]
    aggregates += [Aggregate(f, argument, f, kinds.get(f, "double")) for f in FUNCTIONS]
    shown = [Field("l.id", "bigint"), *(Field(a.name, a.type) for a in aggregates)]
    return RangeAggregate(
        left=scan("l", ["id", "k"]),
        right=scan("r", ["v", "k"]),
        aliases=("l", "r"),
        classes=tuple(KeyClass(("l.k", "r.k"), "string", safe) for safe in own.null_safe),
        lo=own.lo,
        hi=own.hi,
        aggregates=tuple(aggregates),
        keep=("l.id",),
        schema=Schema(tuple(shown)),
    )


def draw_rows(random: Random) -> list[Row]:
    return [
        {
            "t": random.randrange(20),
            "k": (random.choice(["a", "b", None]),),
            "v": random.choice(VALUES),
            "id": place,
        }
        for place in range(random.randrange(1, 16))
    ]


def batch_of(alias: str, rows: list[Row]) -> ChangeBatch | None:
    if not rows:
        return None
    columns = {
        f"{alias}.id": pa.array([row["id"] for row in rows], pa.int64()),
        f"{alias}.v": pa.array([row["v"] for row in rows], pa.float64()),
        f"{alias}.k": pa.array([row["k"][0] for row in rows], pa.string()),
    }
    times = np.array([row["t"] for row in rows], np.int64)
    return ChangeBatch(pa.RecordBatch.from_pydict(columns), times)


def held(operator: RangeAggregateOp, name: str) -> list[int]:
    return [int(t) for part in operator.snapshot().buffers[name] for t in part.rows().times]


def shown(row: dict[str, Any]) -> tuple[Any, ...]:
    """A row of the answer; a sum is a double, rounded once."""
    return tuple(float(v) if isinstance(v, Fraction) else v for v in row.values())


@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(random=TAPES)
def test_every_row_comes_once_its_range_is_complete_and_nothing_is_held_longer(
    random: Random,
) -> None:
    lo, hi = random.choice([(2, 3), (0, 0), (5, 0), (0, 4), (6, -2), (-1, 3)])
    own = Range(lo, hi, (random.random() < 0.5,))
    note(f"{own}")
    left, right = draw_rows(random), draw_rows(random)
    node = spec_of(own)
    operator = RangeAggregateOp(node)
    names = ["id", "rows", *FUNCTIONS]
    expected = {}
    for row in left:
        found = {"id": row["id"]} | answers(row, right, own)
        expected[row["id"]] = shown({name: found[name] for name in names})
    produced: Counter[Any] = Counter()
    arrived: list[Row] = []
    for new_left, new_right, watermark, restarts in draw_batches(
        random, left, right, delays=5, last=60
    ):
        arrived += new_left
        assert list(operator.push([batch_of("l", new_left), batch_of("r", new_right)])) == []
        for batch in operator.advance(watermark):
            rows = batch.columns.to_pylist()
            produced.update(map(shown, rows))
            assert [left[row["l.id"]]["t"] for row in rows] == batch.times.tolist()
        ahead = max(hi, 0)
        final = [row["id"] for row in arrived if row["t"] + ahead < watermark]
        assert produced == Counter(expected[number] for number in final)
        # What stays: left rows with an open range, right rows that a left one may still count.
        clock = watermark if watermark in (MIN_TICK, MAX_TICK) else watermark - ahead
        assert all(t >= clock for t in held(operator, "left"))
        kept = [*held(operator, "arriving"), *held(operator, "alive")]
        assert all(t + hi + lo + 1 >= clock for t in kept)
        assert operator.due() > watermark or watermark == MAX_TICK
        assert operator.counters.stored == len(kept) + len(held(operator, "left"))
        if restarts:
            operator = restarted(operator, RangeAggregateOp(node), "alive")
    assert operator.counters.stored == 0


def test_a_batch_costs_what_comes_goes_and_asks_however_long_the_range() -> None:
    """Ten times the range holds ten times the rows, at the same work per batch."""
    work = {}
    for lo in (100, 1_000):
        operator = RangeAggregateOp(spec_of(Range(lo, 0, (False,))))
        for start in range(0, 3_000, 50):
            rows = [
                {"t": t, "k": ("ab"[t % 2],), "v": float(t % 7), "id": t}
                for t in range(start, start + 50)
            ]
            before = operator.counters.comparisons + operator.counters.probes
            list(operator.push([batch_of("l", rows), batch_of("r", rows)]))
            list(operator.advance(start + 50))
        work[lo] = operator.counters.comparisons + operator.counters.probes - before
        assert operator.counters.stored > lo
    assert work[1_000] < 1.5 * work[100]
