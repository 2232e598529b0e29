"""COUNT_IF, BOOL_AND, BOOL_OR, MAX_BY, MIN_BY and ANY_VALUE at sampled instants, as DuckDB answers them.

DuckDB leaves open which of several rows MAX_BY takes: it is asked by keys that leave nothing open.
"""

from __future__ import annotations

import functools
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from oracle import asked_of_duckdb
from sessions import session

pytestmark = pytest.mark.law

ROWS, LAST, WINDOW = 3_000, 2_000, 40

CALLS = {
    "COUNT_IF(i > 2)": "count_if(i > 2)",
    "BOOL_AND(i > 2)": "bool_and(i > 2)",
    "BOOL_OR(i > 7) FILTER (WHERE i % 2 = 0)": "bool_or(i > 7) FILTER (WHERE i % 2 = 0)",
    "ANY_VALUE(s)": "min(s)",
    "ANY_VALUE(x) IGNORE NULLS": "min(x)",
} | {
    f"{name.upper()}({x}, {y})": f"{found}({x}, ({y}, {nulls}, {x})) FILTER (WHERE {y} IS NOT NULL)"
    for name, found, side in [
        ("max_by", "arg_max_null", "IS NOT NULL"),
        ("min_by", "arg_min_null", "IS NULL"),
    ]
    for x, y in [("s", "i"), ("x", "s"), ("d", "x"), ("i", "d"), ("ts", "s"), ("s", "ts")]
    for nulls in [f"{x} {side}"]
}


def drawn(seed: int) -> pa.Table:
    """Rows in an order that keeps the lateness, with many ties."""
    random = np.random.default_rng(seed)
    times = random.integers(0, LAST, ROWS)
    times = times[np.argsort(times + random.uniform(0, 9, ROWS))]

    def some(values: Any, kind: pa.DataType | None = None) -> pa.Array:
        chosen = [values[n] for n in random.integers(0, len(values), ROWS)]
        is_null = random.random(ROWS) < 0.2
        drawn = [None if gone else v for v, gone in zip(chosen, is_null, strict=True)]
        return pa.array(drawn, kind)

    start = datetime(2026, 1, 1, tzinfo=UTC)
    return pa.table(
        {
            "t": pa.array(times),
            "k": some(["north", "south", ""]),
            "s": some(["", "a", "b", "a longer text", "a longer one", "é"]),
            "i": some(list(range(10)), pa.int32()),
            "x": some([-1.5, 0.0, 2.5, float("inf")]),
            "d": some([Decimal("0.10"), Decimal("-7.25"), Decimal("3.00")], pa.decimal128(25, 2)),
            "ts": some([start + timedelta(hours=n) for n in range(4)], pa.timestamp("us", "UTC")),
        }
    )


@functools.cache
def changes_of(seed: int) -> tuple[pa.Table, list[dict[str, Any]]]:
    table = drawn(seed)
    listed = ", ".join(f"{call} AS v{i}" for i, call in enumerate(CALLS))
    parts = [table.slice(at, 170) for at in range(0, ROWS, 170)]
    w = session({"s": parts}, time="t", lateness=10)
    sql = f"SELECT k, {listed} FROM s [RANGE {WINDOW}] GROUP BY k"
    return table, w.sql(sql).to_arrow().to_pylist()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_answer_at_sampled_instants_is_that_of_duckdb(seed, call):
    table, changes = changes_of(seed)
    column = f"v{list(CALLS).index(call)}"
    for instant in np.random.default_rng(seed).integers(0, LAST + WINDOW, 12).tolist():
        standing: Counter[Any] = Counter()
        for row in changes:
            if row["_event_time"] <= instant:
                standing[row["k"], row[column]] += 1 if row["_change_type"] == "insert" else -1
        expected = asked_of_duckdb(
            {"s": table},
            f"SELECT k, {CALLS[call]} FROM s WHERE t <= {instant} AND {instant} <= t + {WINDOW}"
            " GROUP BY k",
        )
        assert {row: n for row, n in standing.items() if n} == Counter(expected), instant
