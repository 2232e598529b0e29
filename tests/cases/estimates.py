"""Aggregates over a join that sheds: operators, and the rows that they read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.operators.aggregates.sliding_aggregate import SlidingAggregateOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.load_shedding.estimating_aggregate import EstimatingAggregateOp
from windrow.physical.load_shedding.limits import chance_column, draw_column
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.sliding_aggregate import EstimatingAggregate, SlidingAggregate
from windrow.plan.exprs import column
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.schema import Field, Schema

ASKED = (("count", None), ("count", "y"), ("sum", "y"), ("avg", "y"))


def aggregate(asked=ASKED, *, inputs=2, is_keyed=True):
    """Of column y by column k; over a join of so many inputs, or exact for none."""
    aggregates = tuple(
        Aggregate(function, column(name, "double") if name else None, f"a{i}", "double")
        for i, (function, name) in enumerate(asked)
    )
    keys = ("k",) if is_keyed else ()
    ends = ("", "_low", "_high") if inputs else ("",)
    names = (*keys, *(each.name + end for each in aggregates for end in ends))
    scan = ScanStream("s", "s", (), Schema(()), "t", "bigint", 0)
    asked_of = (scan, keys, aggregates, Schema(tuple(Field(name, "double") for name in names)))
    if inputs:
        return EstimatingAggregateOp(EstimatingAggregate(*asked_of, estimated_from=inputs))
    return SlidingAggregateOp(SlidingAggregate(*asked_of))


def combinations(keys, values, draws, chances, times, ends):
    """Rows of a join that sheds; `values` may hold None."""
    columns = {"k": pa.array(keys), "y": pa.array(values, pa.float64())}
    for at, (own, chance) in enumerate(zip(draws, chances, strict=True)):
        columns[draw_column(at)] = pa.array(own, pa.int64())
        columns[chance_column(at)] = pa.array(chance, pa.float64())
    return ChangeBatch(
        pa.RecordBatch.from_pydict(columns),
        np.asarray(times, np.int64),
        np.asarray(ends, np.int64),
    )


def marks(spans, inputs=2):
    """Rows that say from when until when combinations may be missing."""
    columns = {"k": pa.nulls(len(spans), pa.int64()), "y": pa.nulls(len(spans), pa.float64())}
    firsts, untils = np.array(spans, np.int64).reshape(-1, 2).T
    for at in range(inputs):
        columns[draw_column(at)] = pa.array(untils)
        columns[chance_column(at)] = pa.array(np.zeros(len(spans)))
    return ChangeBatch(pa.RecordBatch.from_pydict(columns), firsts, untils)


def shown(batches):
    """(instant, sign, row) of every row that came out, in order."""
    changes = []
    for batch in batches:
        rows = zip(*(each.to_pylist() for each in batch.columns.columns), strict=True)
        changes += zip(batch.times.tolist(), batch.signs.tolist(), rows, strict=True)
    return changes
