"""The queries that stand for what Windrow can run: to run one compiles the kernels that it takes.

What a kernel is compiled for are the kinds of its arrays, and operators bring columns of all types to
few kinds. So a few rows do, and a query for each way in which a family can run.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any

ROWS = 24

_PAIR = "FROM r, s WHERE r.k = s.k"
_NEAR = "WINDOW = INTERVAL '5' SECONDS"
_HALF = "[RANGE INTERVAL '5' SECONDS]"
_THREE = "FROM r, s, t WHERE r.k = s.k AND s.k = t.k"
_BEST = "FROM r {kind} BESTMATCH JOIN s ON r.ts MINDIST s.ts, r.x MINDIST s.x WHERE {rest}"
_REACH = "abs(r.ts - s.ts) <= INTERVAL '5' SECONDS"


def _by(algorithm: str, rest: str) -> str:
    return f"SELECT /*+ algorithm({algorithm}) */ r.x, s.x AS y {rest}"


def _sliding(*items: str) -> tuple[str, ...]:
    return tuple(f"SELECT k, {item} AS value FROM r {_HALF} GROUP BY k" for item in items)


FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "first": (
            f"SELECT r.x, s.x AS y, t.x AS z {_THREE} {_NEAR}",
            *_sliding("SUM(x)", "COUNT(*)", "SUM(i)"),
        ),
        "joins": (
            f"SELECT r.x, s.x AS y, t.x AS z {_THREE} {_NEAR}",
            f"SELECT r.x, s.x AS y {_PAIR} {_NEAR}",
            f"SELECT r.x, s.x AS y {_PAIR} AND r.n = s.n AND r.x < s.x {_NEAR}",
            f"SELECT r.x, s.x AS y FROM r, s WHERE r.x < s.x {_NEAR}",
            f"SELECT r.x, s.x AS y, t.x AS z FROM r, s, t {_NEAR}",
            f"SELECT r.x, s.x AS y FROM r, s WHERE abs(r.i - s.i) < 3 {_NEAR}",
            f"SELECT r.x, s.x AS y {_PAIR} DWINDOW (r, s) = INTERVAL '5' SECONDS",
            f"SELECT r.x, s.x AS y, t.x AS z {_THREE} "
            "WINDOW (r, s) = INTERVAL '5' SECONDS, DWINDOW (s, t) = INTERVAL '3' SECONDS",
            f"SELECT r.x, s.x AS y FROM r FULL OUTER JOIN s ON r.k = s.k {_NEAR}",
            f"SELECT r.x, s.x AS y FROM r LEFT JOIN s ON r.k = s.k AND r.x < s.x {_NEAR}",
            f"SELECT r.x FROM r LEFT SEMI JOIN s ON r.k = s.k {_NEAR}",
            f"SELECT r.x FROM r LEFT ANTI JOIN s ON r.k = s.k {_NEAR}",
            "SELECT r.x, names.name FROM r, names WHERE r.k = names.k",
        ),
        "aggregates": (
            *_sliding("SUM(x)", "AVG(x)", "COUNT(*)", "SUM(i)", "AVG(i)", "SUM(k)", "SUM(d)"),
            *_sliding("MIN(x)", "MAX(i)", "MIN(n)", "COUNT(DISTINCT n)", "SUM(DISTINCT i)"),
            f"SELECT SUM(x) AS value, COUNT(*) AS n FROM r {_HALF}",
            f"SELECT n, k, SUM(x) AS value, MAX(x) AS most FROM r {_HALF} GROUP BY n, k",
            f"SELECT r.k, SUM(r.x) AS value FROM r {_HALF}, s {_HALF} WHERE r.k = s.k GROUP BY r.k",
            f"SELECT k, SUM(x) AS value FROM r {_HALF} GROUP BY k HAVING COUNT(*) > 1",
            f"SELECT DISTINCT k FROM r {_HALF}",
            f"SELECT SUM(value) AS total, AVG(value) AS mean, MIN(value) AS least, COUNT(DISTINCT value) AS n "
            f"FROM (SELECT k, SUM(x) AS value FROM r {_HALF} GROUP BY k) a",
            "SELECT r.x, SUM(s.x) AS value FROM r WINDOW JOIN s ON r.k = s.k "
            "RANGE BETWEEN INTERVAL '5' SECONDS PRECEDING AND CURRENT ROW",
        ),
        "statistics": (
            *_sliding("MEDIAN(x)", "MEDIAN(i)", "STDDEV(x)", "VAR_POP(i)", "BOOL_AND(x > 1)"),
            *_sliding("MAX_BY(i, x)", "MIN_BY(x, i)", "ANY_VALUE(n)", "COUNT_IF(x > 1)"),
        ),
        "asof": (
            "SELECT r.x, s.x AS y FROM r ASOF JOIN s MATCH_CONDITION (r.ts >= s.ts) ON r.k = s.k",
            "SELECT r.x, s.x AS y FROM r LEFT ASOF JOIN s MATCH_CONDITION (r.ts < s.ts)",
            "SELECT r.x, s.x AS y FROM r ASOF JOIN s MATCH_CONDITION (r.ts NEAREST s.ts)",
        ),
        "bestmatch": (
            f"SELECT r.x, s.x AS y {_BEST.format(kind='LEFT OUTER', rest='r.k = s.k AND ' + _REACH)}",
            f"SELECT r.x, s.x AS y {_BEST.format(kind='FULL OUTER', rest=_REACH)} KEEP UNMATCHED",
            f"SELECT r.x, s.x AS y FROM r {_HALF} LEFT OUTER BESTMATCH JOIN s {_HALF} "
            "ON r.x MINDIST s.x, r.i MINDIST s.i WHERE r.k = s.k",
            "SELECT r.x, s.x AS y FROM r LEFT OUTER BESTMATCH JOIN s ON r.ts YOUNGEST s.ts "
            "WITHIN INTERVAL '5' SECONDS, array(r.x, r.i) SUBSET array(s.x, s.i) WHERE r.k = s.k",
            "SELECT /*+ memory(64 MB), on_memory(spill) */ r.x, s.x AS y FROM r LEFT OUTER BESTMATCH JOIN s "
            f"ON r.ts MINDIST s.ts, r.x MINDIST s.x WITHIN 100 WHERE r.k = s.k AND {_REACH}",
        ),
        "counts": (
            "SELECT r.x, s.x AS y FROM r [PARTITION BY k ROWS 3], s [ROWS 2] WHERE r.k = s.k",
            "SELECT r.x, s.x AS y FROM r, s WHERE r.k = s.k WINDOW = 5 ROWS",
            "SELECT SUM(x) AS value FROM r [PARTITION BY k ROWS 3]",
        ),
        "changelogs": (
            f"SELECT k FROM r {_HALF} EXCEPT SELECT k FROM s {_HALF}",
            f"SELECT k FROM r {_HALF} INTERSECT ALL SELECT k FROM s {_HALF}",
            f"SELECT k FROM r {_HALF} UNION SELECT k FROM s {_HALF}",
            f"SELECT r.x, s.x AS y FROM r {_HALF}, s {_HALF} WHERE r.k = s.k EMIT CHANGES",
            f"SELECT a.k, a.value FROM (SELECT k, SUM(x) AS value FROM r {_HALF} GROUP BY k) a "
            f"JOIN s {_HALF} ON a.k = s.k",
            f"SELECT r.k, s.x FROM r {_HALF} LEFT JOIN s {_HALF} ON r.k = s.k EMIT CHANGES",
            f"SELECT k, SUM(x) AS value FROM q {_HALF} GROUP BY k",
            "SELECT SUM(x) AS value FROM q [PARTITION BY k ROWS 3]",
            f"SELECT r.x, q.x AS y FROM r {_HALF}, q {_HALF} WHERE r.k = q.k EMIT CHANGES",
        ),
        "algorithms": (
            *(_by(name, f"{_PAIR} {_NEAR}") for name in ("few", "nlw", "hw", "asymmetric")),
            *(_by(name, f"{_THREE} {_NEAR}") for name in ("few", "nlw", "hw")),
            f"SELECT /*+ structure(hash/ttree) */ r.x, s.x AS y {_PAIR} AND r.x < s.x {_NEAR}",
            f"SELECT /*+ structure(btree/buffer) */ r.x, s.x AS y FROM r, s WHERE r.x < s.x {_NEAR}",
        ),
        "shedding": (
            f"SELECT /*+ memory(20 tuples), on_memory(shed) */ r.x, s.x AS y {_PAIR} {_NEAR}",
            "SELECT /*+ memory(20 tuples), on_memory(shed) */ r.x, s.x AS y "
            f"FROM r, s WHERE r.i BETWEEN s.i - 5 AND s.i + 5 {_NEAR}",
            "SELECT /*+ memory(20 tuples), on_memory(shed) */ r.k, SUM(s.x) AS value, COUNT(*) AS n, "
            f"AVG(r.i) AS mean FROM r {_HALF}, s {_HALF} WHERE r.k = s.k GROUP BY r.k",
        ),
    }
)
"""By the name of a family, queries that together take its kernels."""


def run_family(family: str) -> None:
    """Runs the queries of a family, which compiles the kernels that are not there."""
    session = example_session()
    for sql in FAMILIES[family]:
        session.sql(sql).to_arrow()


def example_session() -> Any:
    """Streams of all types, a stream of changes and a table."""
    import pyarrow as pa

    import windrow

    session = windrow.Session()
    for shift, name in enumerate("rst"):
        session.stream(name, pa.table(_columns(shift)), time="ts", lateness="1 second")
    session.stream("q", pa.table(_changes()), time="ts", changes="op")
    session.table("names", pa.table({"k": [0, 1, 2], "name": ["a", "b", "c"]}))
    return session


def _columns(shift: int) -> dict[str, list[Any]]:
    start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=shift)
    rows = range(ROWS)
    return {
        "k": [row % 3 for row in rows],
        "i": [row % 5 + shift for row in rows],
        "n": [f"name {row % 2}" for row in rows],
        "x": [row * 0.5 - shift for row in rows],
        "d": [Decimal(row * 7 % 10) / 4 for row in rows],
        "day": [date(2026, 1, 1 + row) for row in rows],
        "ts": [start + timedelta(seconds=row) for row in rows],
    }


def _changes() -> dict[str, list[Any]]:
    """Each row twice: it comes, and is taken back a second later."""
    columns = _columns(0)
    coming = {
        name: [value for value in values for _ in range(2)] for name, values in columns.items()
    }
    coming["ts"] = [
        at + timedelta(seconds=at.second + again) for at in columns["ts"] for again in (0, 1)
    ]
    return {**coming, "op": ["insert", "delete"] * ROWS}
