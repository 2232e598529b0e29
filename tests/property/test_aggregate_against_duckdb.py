"""The changelog of a sliding aggregate, summed up to an instant, against DuckDB's GROUP BY there."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.aggregates.sliding_aggregate import SlidingAggregateOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.plan.exprs import column
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.schema import MAX_TICK, Field, Schema

pytestmark = pytest.mark.law

ROWS, LAST = 3_000, 2_000

AGGREGATES = (
    Aggregate("sum", column("x", "double"), "sum_x", "double"),
    Aggregate("count", None, "n", "bigint"),
    Aggregate("sum", column("i", "int"), "sum_i", "bigint"),
    Aggregate("count", column("i", "int"), "n_i", "bigint"),
    Aggregate("sum", column("d", "decimal(9,2)"), "sum_d", "decimal(19,2)"),
    Aggregate("min", column("x", "double"), "min_x", "double"),
    Aggregate("max", column("d", "decimal(9,2)"), "max_d", "decimal(9,2)"),
    Aggregate("median", column("x", "double"), "median_x", "double"),
    Aggregate("count", column("i", "int"), "distinct_i", "bigint", is_distinct=True),
    Aggregate("sum", column("x", "double"), "sum_distinct_x", "double", is_distinct=True),
)

ASK = """
    SELECT k, j, sum(x), count(*), sum(i)::BIGINT, count(i), sum(d)::DECIMAL(19, 2),
        min(x), max(d), median(x), count(DISTINCT i), sum(DISTINCT x)
    FROM sales WHERE t <= $1 AND $1 < t_end GROUP BY k, j
"""


def sales(seed):
    """Rows whose sums are exact in doubles too, so that any order of adding gives one answer."""
    random = np.random.default_rng(seed)
    times = random.integers(0, LAST, ROWS)
    cents = random.integers(-100_000, 100_000, ROWS)
    return pa.table(
        {
            "k": pa.array([[None, "north", "south", ""][n] for n in random.integers(0, 4, ROWS)]),
            "j": pa.array(random.integers(0, 5, ROWS).astype(np.int32)),
            "x": pa.array(random.integers(-4096, 4096, ROWS) / 64, mask=random.random(ROWS) < 0.1),
            "i": pa.array(cents.astype(np.int32), mask=random.random(ROWS) < 0.3),
            "d": pa.array([Decimal(int(n)).scaleb(-2) for n in cents], pa.decimal128(9, 2)),
            "t": pa.array(times),
            "t_end": pa.array(times + random.integers(1, 300, ROWS)),
        }
    )


def changes_of(table, seed):
    """The changelog, from batches in time order whose rows come in any order."""
    fields = [("k", "string"), ("j", "int"), ("x", "double"), ("i", "int"), ("d", "decimal(9,2)")]
    schema = Schema(tuple(Field(name, kind) for name, kind in fields))
    keys = schema.fields[:2]
    operator = SlidingAggregateOp(
        SlidingAggregate(
            ScanStream("sales", "s", schema.names, schema, "t", "bigint", 0),
            ("k", "j"),
            AGGREGATES,
            Schema((*keys, *(Field(each.name, each.type) for each in AGGREGATES))),
        )
    )
    random = np.random.default_rng(seed)
    times = table["t"].to_numpy()
    for start in range(0, LAST, 250):
        rows = random.permutation(np.flatnonzero((times >= start) & (times < start + 250)))
        part = table.take(pa.array(rows)).combine_chunks()
        batch = part.select(schema.names).to_batches()[0]
        ends = part["t_end"].to_numpy()
        yield from operator.push([ChangeBatch(batch, times[rows], ends)])
        yield from operator.advance(start + 250)
    yield from operator.advance(MAX_TICK)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_answer_at_sampled_instants_is_that_of_duckdb(seed):
    table = sales(seed)
    changes = []
    for batch in changes_of(table, seed):
        rows = zip(*(each.to_pylist() for each in batch.columns.columns), strict=True)
        changes += zip(batch.times.tolist(), batch.signs.tolist(), rows, strict=True)
    with duckdb.connect() as connection:
        connection.register("sales", table)
        for instant in [0, LAST, *np.random.default_rng(seed).integers(0, LAST + 300, 25).tolist()]:
            standing = Counter()
            for time, sign, row in changes:
                if time <= instant:
                    standing[row] += sign
            expected = Counter(connection.execute(ASK, [instant]).fetchall())
            assert {row: n for row, n in standing.items() if n} == expected, f"at {instant}"
