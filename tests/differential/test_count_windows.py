"""Count windows against DuckDB, which numbers rows by ROW_NUMBER and finds who pushes whom by LEAD."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from bags import bag
from oracle import asked_of_duckdb
from sessions import session
from twins.changelog import state_at

pytestmark = pytest.mark.law

ROWS, LAST = 700, 250
NEVER = 1 << 40
COLUMNS = "x, s, w, k, m, id"
ORDER = (
    "ts, position, x NULLS FIRST, s NULLS FIRST, w NULLS FIRST, k NULLS FIRST, m NULLS FIRST, id"
)


def stream(seed: int, rows: int = ROWS) -> pa.Table:
    """Rows with many ties in time, NULLs everywhere, and disorder up to 9; the id comes last."""
    random = np.random.default_rng(seed)

    def some(values: Any) -> pa.Array:
        chosen = random.integers(0, len(values), rows)
        return pa.array(
            [None if random.random() < 0.1 else values[n] for n in chosen],
            pa.array(values).type,
        )

    times = random.integers(0, LAST, rows)
    table = pa.table(
        {
            "ts": times,
            "x": some([1, 2, 3]),
            "s": some(["", "north", "süd"]),
            "w": some([[1], [1, 2], [2]]),
            "k": some(list(range(12))),
            "m": some(["p", "q"]),
            "id": pa.array(random.permutation(rows)),
        }
    )
    return table.take(pa.array(np.argsort(times + random.uniform(0, 9, rows))))


def answer(tables: dict[str, pa.Table], sql: str, *, size: int = 70) -> pa.Table:
    w = session(
        {
            name: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(size))
            for name, table in tables.items()
        },
        time="ts",
        lateness=9,
    )
    return w.sql(sql).to_arrow()


def in_process(tables: dict[str, pa.Table], sql: str, *, size: int = 70) -> Counter[Any]:
    found = answer(tables, sql, size=size)
    return bag(found)


def by_duckdb(
    tables: dict[str, pa.Table], windows: list[str], where: str, within: int | None = None
) -> Counter[Any]:
    """The answer from numbers: the last to enter comes before any of the others leaves.

    A window is "n", "n by k, ..", "range w", or "" for none.
    """
    everyone = " UNION ALL ".join(
        f"SELECT {position} AS position, ts, {COLUMNS} FROM {name}"
        for position, name in enumerate(tables)
    )
    parts = [
        f"everyone AS ({everyone})",
        f"numbered AS (SELECT *, ROW_NUMBER() OVER (ORDER BY {ORDER}) AS number FROM everyone)",
    ]
    for position, (name, window) in enumerate(zip(tables, windows, strict=True)):
        leaves = str(NEVER)
        if window.startswith("range "):
            later = f"SELECT MIN(number) FROM numbered o WHERE o.ts > n.ts + {window[6:]}"
            leaves = f"COALESCE(({later}), {NEVER})"
        elif window:
            rows, _, keys = window.partition(" by ")
            partition = f"PARTITION BY {keys}" if keys else ""
            lead = f"LEAD(number, {rows}) OVER ({partition} ORDER BY number)"
            leaves = f"COALESCE({lead}, {NEVER})"
        own = f"SELECT *, {leaves} AS leaves FROM numbered n WHERE position = {position}"
        parts.append(f"{name}_ AS ({own})")
    numbers = ", ".join(f"{name}.number" for name in tables)
    ends = ", ".join(f"{name}.leaves" for name in tables)
    shown = ", ".join(f"{name}.id" for name in tables)
    sql = (
        f"WITH {', '.join(parts)} SELECT {shown} FROM "
        + ", ".join(f"{name}_ {name}" for name in tables)
        + f" WHERE {where} AND GREATEST({numbers}) < LEAST({ends})"
    )
    if within is not None:
        sql += f" AND GREATEST({numbers}) - LEAST({numbers}) <= {within}"
    return Counter(asked_of_duckdb(tables, sql))


def written(window: str) -> str:
    """The window in our SQL."""
    if window.startswith("range "):
        return f" [RANGE {window[6:]}]"
    rows, _, keys = window.partition(" by ")
    by = f"PARTITION BY {keys} " if keys else ""
    return f" [{by}ROWS {rows}]" if rows else ""


CASES = [
    (["20", "35"], "a.k = b.k", None),
    (["1", "1"], "a.x < b.x", None),
    (["3 by k", "2 by k"], "a.k = b.k", None),
    (["3 by k, m", "2 by k"], "a.k = b.k AND a.m = b.m", None),
    (["2 by m", "40"], "a.k = b.k AND a.x > 1 AND b.s <> 'north'", None),
    (["25", "range 6"], "a.k = b.k", None),
    (["range 9", "2 by k"], "a.k = b.k AND b.ts <= a.ts + 4", None),
    (["", ""], "a.k = b.k", 60),
    (["5 by k", ""], "a.k = b.k", 90),
    (["30", "25", "range 8"], "a.k = b.k AND b.k = c.k", None),
    (["2 by k", "3 by k", "2 by k"], "a.k = b.k AND b.k = c.k AND a.x <= c.x", None),
    (["30", "2 by m", "4 by k"], "a.k = b.k AND b.m = c.m", None),
    (["", "", ""], "a.k = b.k AND b.x = c.x", 25),
]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("windows", "where", "within"), CASES)
def test_the_bag_is_that_of_duckdb(
    windows: list[str], where: str, within: int | None, seed: int
) -> None:
    tables = {name: stream(seed * 10 + at) for at, name in enumerate("abc"[: len(windows)])}
    sources = ", ".join(f"{n}{written(w)}" for n, w in zip(tables, windows, strict=True))
    shown = ", ".join(f"{name}.id AS {name}_id" for name in tables)
    sql = f"SELECT {shown} FROM {sources} WHERE {where}"
    sql += f" WINDOW = {within} ROWS" if within is not None else ""
    expected = by_duckdb(tables, windows, where, within)
    assert in_process(tables, sql) == expected
    assert expected


def test_batches_of_any_size_and_any_order_within_the_lateness_give_the_same_bag() -> None:
    tables = {"a": stream(5, 200), "b": stream(6, 200)}
    sql = "SELECT a.id, b.id AS bid FROM a [ROWS 4], b [PARTITION BY k ROWS 2] WHERE a.m = b.m"
    answers = [in_process(tables, sql, size=size) for size in (1, 13, 1_000)]
    in_order = {name: table.sort_by("ts") for name, table in tables.items()}
    assert answers[0] == answers[1] == answers[2] == in_process(in_order, sql)


def test_rows_of_a_join_over_count_windows_are_windowed_and_aggregated() -> None:
    tables = {"a": stream(7, 300), "b": stream(8, 300)}
    inner = "SELECT a.id AS ai, b.id AS bi FROM a [ROWS 9], b [ROWS 9] WHERE a.k = b.k"
    changes = answer(tables, f"SELECT COUNT(*) AS n FROM ({inner}) j [RANGE 20]")
    times = [
        dict(zip(t["id"].to_pylist(), t["ts"].to_pylist(), strict=True)) for t in tables.values()
    ]
    pairs = by_duckdb(tables, ["9", "9"], "a.k = b.k")
    came = [max(times[0][a], times[1][b]) for a, b in pairs.elements()]
    for instant in range(min(came), LAST + 30, 7):
        expected = sum(time <= instant <= time + 20 for time in came)
        assert state_at(changes, instant) == [{"n": expected}], instant


def test_a_derived_table_that_waits_for_its_own_windows_is_counted_like_a_stream() -> None:
    tables = {"a": stream(11, 300), "b": stream(12, 300), "c": stream(13, 300)}
    columns = "a.x, a.s, a.w, a.k, a.m, a.id * 1000 + COALESCE(b.id, 999) AS id"
    derived = f"SELECT {columns} FROM a LEFT JOIN b ON a.k = b.k AND a.x < b.x"
    found = in_process(
        tables,
        f"SELECT j.id, c.id AS cid FROM ({derived} WINDOW (a, b) = 5) j [ROWS 6], c [ROWS 4] "
        "WHERE j.m = c.m",
    )
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        joined = connection.sql(
            f"SELECT GREATEST(a.ts, COALESCE(b.ts, a.ts)) AS ts, {columns} FROM a LEFT JOIN b "
            "ON a.k = b.k AND a.x < b.x AND abs(a.ts - b.ts) <= 5"
        ).to_arrow_table()
    expected = by_duckdb({"j": joined, "c": tables["c"]}, ["6", "4"], "j.m = c.m")
    assert found == expected
    assert len(expected) > 100


def test_a_filter_in_where_takes_from_the_newest_and_one_in_a_derived_table_comes_before() -> None:
    tables = {"a": stream(9), "b": stream(10)}
    after = in_process(
        tables, "SELECT a.id, b.id AS bid FROM a [ROWS 3], b [ROWS 3] WHERE a.x > 1 AND a.k = b.k"
    )
    assert after == by_duckdb(tables, ["3", "3"], "a.x > 1 AND a.k = b.k")
    before = in_process(
        tables,
        "SELECT a.id, b.id AS bid FROM (SELECT * FROM a WHERE x > 1) a [ROWS 3], b [ROWS 3] "
        "WHERE a.k = b.k",
    )
    some = {"a": tables["a"].filter(pa.compute.greater(tables["a"]["x"], 1)), "b": tables["b"]}
    assert before == by_duckdb(some, ["3", "3"], "a.k = b.k")
    assert before != after
