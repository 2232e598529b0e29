"""Outer, semi and anti joins against DuckDB's own: plain, in aggregates, and nested."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bags import bag
from oracle import asked_of_duckdb
from sessions import session
from twins.changelog import state_at

pytestmark = pytest.mark.law

ROWS, LAST = 800, 1_000
KINDS = {
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "semi": "SEMI JOIN",
    "anti": "ANTI JOIN",
}
BOTH = "a.id AS ai, a.s AS as_, b.id AS bi, b.s AS bs, a.x + b.x AS total"
FIRST = "a.id AS ai, a.s AS as_, a.x"


def stream(seed: int) -> pa.Table:
    """Rows with ties in time, NULL keys, and disorder up to 15."""
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, LAST, ROWS))
    arrival = np.argsort(times + random.uniform(0, 15, ROWS))
    table = pa.table(
        {
            "id": np.arange(ROWS),
            "ts": times,
            "k": pa.array(random.integers(0, 30, ROWS), mask=random.random(ROWS) < 0.05),
            "s": pa.array([["", "north", "süd"][n] for n in random.integers(0, 3, ROWS)]),
            "x": pa.array(random.integers(0, 9, ROWS), mask=random.random(ROWS) < 0.1),
        }
    )
    return table.take(pa.array(arrival))


def in_process(tables: dict[str, pa.Table], sql: str, *, size: int = 70) -> pa.Table:
    w = session(
        {
            name: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(size))
            for name, table in tables.items()
        },
        time="ts",
        lateness=15,
    )
    return w.sql(sql).to_arrow()


def by_duckdb(tables: dict[str, pa.Table], sql: str) -> Counter[tuple[Any, ...]]:
    return bag(asked_of_duckdb(tables, sql))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("on", "where"),
    [
        ("a.k = b.k", "true"),
        ("a.k = b.k AND a.s <> b.s AND b.x > 2", "a.x IS NULL OR a.x < 7"),
        ("a.x <= b.x AND a.s = 'north'", "a.id % 2 = 0"),
        ("a.k = b.k AND a.x = b.k", "true"),
    ],
)
def test_the_bag_is_that_of_duckdb(kind: str, on: str, where: str, seed: int) -> None:
    tables = {"a": stream(seed), "b": stream(seed + 100)}
    shown = FIRST if kind in {"semi", "anti"} else BOTH
    query = f"SELECT {shown} FROM a {KINDS[kind]} b ON {on}"
    found = in_process(tables, f"{query} WHERE {where} WINDOW (a, b) BETWEEN 4 PRECEDING AND 9 FOLLOWING")  # fmt: skip
    expected = by_duckdb(tables, f"{query} AND b.ts - a.ts BETWEEN -4 AND 9 WHERE {where}")
    assert bag(zip(*(c.to_pylist() for c in found.columns), strict=True)) == expected
    assert expected


@pytest.mark.parametrize("kind", KINDS)
def test_an_aggregate_counts_the_join_of_what_is_alive_at_each_instant(kind: str) -> None:
    tables = {"a": stream(5).slice(0, 300), "b": stream(6).slice(0, 300)}
    side = "b" if kind == "right" else "a"
    other = "COUNT(a.x)" if kind in {"semi", "anti"} else "COUNT(b.id)"
    shown = f"{side}.s AS s, COUNT(*) AS n, {other} AS m, SUM({side}.x) AS total"
    changes = in_process(
        tables,
        f"SELECT {shown} FROM a [RANGE 20] {KINDS[kind]} b [RANGE 7] ON a.k = b.k AND a.x <> b.x "
        f"GROUP BY {side}.s",
    )
    for instant in np.random.default_rng(7).integers(0, 420, 40).tolist():
        alive = {
            name: f"(SELECT * FROM {name} WHERE ts <= {instant} AND {instant} <= ts + {width})"
            for name, width in (("a", 20), ("b", 7))
        }
        expected = by_duckdb(
            tables,
            f"SELECT {shown.replace(f'SUM({side}.x)', f'SUM({side}.x)::BIGINT')} "
            f"FROM {alive['a']} a {KINDS[kind]} {alive['b']} b ON a.k = b.k AND a.x <> b.x "
            f"GROUP BY {side}.s",
        )
        assert bag(state_at(changes, instant)) == expected, instant


def test_an_outer_join_as_a_derived_table_feeds_an_aggregate_and_a_join() -> None:
    tables = {"a": stream(8), "b": stream(9), "c": stream(10)}
    unmatched = "SELECT a.k AS k, a.id AS id FROM a LEFT JOIN b ON a.k = b.k{0} WHERE b.id IS NULL"
    changes = in_process(
        tables,
        f"SELECT x.k, COUNT(*) AS n FROM ({unmatched.format('')} WINDOW (a, b) = 6) x [RANGE 50] "
        "GROUP BY x.k",
    )
    inner = unmatched.format(" AND abs(a.ts - b.ts) <= 6").replace("a.id AS id", "a.id AS id, a.ts")
    for instant in range(0, 1_050, 75):
        expected = by_duckdb(
            tables,
            f"SELECT k, COUNT(*) FROM ({inner}) WHERE ts <= {instant} AND {instant} <= ts + 50 "
            "GROUP BY k",
        )
        assert bag(state_at(changes, instant)) == expected
    found = in_process(
        tables,
        f"SELECT x.id, c.id AS cid FROM ({unmatched.format('')} WINDOW (a, b) = 6) x, c "
        "WHERE x.k = c.k WINDOW (x, c) = 3",
    )
    expected = by_duckdb(
        tables, f"SELECT x.id, c.id FROM ({inner}) x, c WHERE x.k = c.k AND abs(x.ts - c.ts) <= 3"
    )
    assert bag(found) == expected
    assert len(expected) > 50


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_any_size_give_the_same_bag(kind: str) -> None:
    tables = {"a": stream(3).slice(0, 200), "b": stream(4).slice(0, 200)}
    sql = f"SELECT a.id FROM a {KINDS[kind]} b ON a.k = b.k AND a.x < b.x WINDOW = 8"
    answers = [Counter(in_process(tables, sql, size=n)["id"].to_pylist()) for n in (1, 13, 1_000)]
    assert answers[0] == answers[1] == answers[2]
