"""As-of joins and WINDOW JOINs against DuckDB: its own where it has one, else a correlated query."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bags import bag
from differential.real_data import asked, departures, observations
from sessions import session

import windrow

pytestmark = pytest.mark.law


def rows_of(random: np.random.Generator, count: int) -> pa.Table:
    """Rows with ties and NULLs, in an order that is not that of time."""
    keys = random.choice(np.array(["a", "b", "ab", "", None], object), count).tolist()
    return pa.table(
        {
            "id": random.permutation(count),
            "ts": random.integers(0, 900, count),
            "k": pa.array(keys, pa.string()),
            "n": random.integers(0, 2, count),
        }
    )


def out_of_order(left: pa.Table, right: pa.Table) -> windrow.Session:
    """Both as batches that come up to 50 ticks out of order."""
    session = windrow.Session()
    for name, table in (("l", left), ("r", right)):
        times = table["ts"].to_numpy() + np.arange(table.num_rows) % 50
        arriving = table.take(pa.array(np.argsort(times, kind="stable")))
        batches = arriving.to_batches(max_chunksize=97)
        reader = pa.RecordBatchReader.from_batches(arriving.schema, batches)
        session.stream(name, reader, time="ts", lateness=50)
    return session


# Of rows at one time the last by id, as their first column says; DuckDB's join leaves that open.
BACKWARD = """
    SELECT l.id, r.id FROM l ASOF {side} JOIN (
        FROM r QUALIFY row_number() OVER (PARTITION BY k, n, ts ORDER BY id DESC) = 1
    ) r ON l.k = r.k AND l.n = r.n AND l.ts {operator} r.ts
"""
CORRELATED = """
    SELECT l.id, (
        SELECT r.id FROM r WHERE l.k = r.k AND l.n = r.n AND {condition}
        ORDER BY {order} LIMIT 1
    ) AS found FROM l {where}
"""
AHEAD = "r.ts, r.id"
NEAREST = "abs(l.ts - r.ts), r.ts, CASE WHEN r.ts <= l.ts THEN -r.id ELSE r.id END"


@pytest.mark.parametrize("side", ["", "LEFT"])
@pytest.mark.parametrize("operator", [">=", ">"])
def test_looking_back_is_what_duckdb_calls_an_asof_join(side: str, operator: str) -> None:
    random = np.random.default_rng(7)
    left, right = rows_of(random, 700), rows_of(random, 600)
    expected = asked(BACKWARD.format(side=side, operator=operator), l=left, r=right)
    found = out_of_order(left, right).sql(
        f"SELECT l.id AS l, r.id AS r FROM l {side} ASOF JOIN r"
        f" MATCH_CONDITION (l.ts {operator} r.ts) ON l.k = r.k AND l.n = r.n"
    )
    assert sum(expected.values()) > 500
    assert bag(found) == expected


@pytest.mark.parametrize("side", ["", "LEFT"])
@pytest.mark.parametrize(
    ("condition", "meaning", "order"),
    [
        ("l.ts <= r.ts", "l.ts <= r.ts", AHEAD),
        ("l.ts < r.ts", "l.ts < r.ts", AHEAD),
        ("l.ts NEAREST r.ts", "true", NEAREST),
        ("l.ts NEAREST r.ts AND l.ts <> r.ts", "l.ts <> r.ts", NEAREST),
    ],
)
def test_looking_ahead_or_for_the_nearest_is_a_correlated_query(
    side: str, condition: str, meaning: str, order: str
) -> None:
    random = np.random.default_rng(11)
    left, right = rows_of(random, 500), rows_of(random, 120)
    where = "" if side else "WHERE found IS NOT NULL"
    meaning = f"{meaning} AND abs(l.ts - r.ts) <= 40"
    query = CORRELATED.format(condition=meaning, order=order, where=where)
    expected = asked(query, l=left, r=right)
    found = out_of_order(left, right).sql(
        f"SELECT l.id AS l, r.id AS r FROM l {side} ASOF JOIN r MATCH_CONDITION ({condition})"
        " ON l.k = r.k AND l.n = r.n TOLERANCE 40"
    )
    assert sum(expected.values()) > 100
    assert bag(found) == expected


def flights_and_weather(month: int) -> windrow.Session:
    return session({"flights": departures(month), "weather": observations(month)}, time="ts")


def test_each_flight_has_the_last_weather_at_its_airport() -> None:
    found = flights_and_weather(2).sql(
        """
        SELECT f.ts AS at, f.origin, f.carrier, f.flight, w.ts AS seen, w.temp, w.visib
        FROM flights f LEFT ASOF JOIN weather w MATCH_CONDITION (f.ts > w.ts)
        ON f.origin = w.origin TOLERANCE INTERVAL '1' HOUR
        """
    )
    expected = asked(
        """
        SELECT f.ts, f.origin, f.carrier, f.flight, w.ts, w.temp, w.visib
        FROM f LEFT JOIN w ON f.origin = w.origin AND w.ts < f.ts AND f.ts <= w.ts + INTERVAL 1 HOUR
        QUALIFY row_number() OVER (PARTITION BY f.ts, f.origin, f.carrier, f.flight
                                   ORDER BY w.ts DESC) = 1
        """,
        f=departures(2),
        w=observations(2),
    )
    assert len(expected) > 20_000
    assert bag(found) == expected


@pytest.mark.parametrize(("lo", "hi"), [(30, 10), (0, 0), (50, -5)])
def test_a_window_join_is_a_correlated_aggregate(lo: int, hi: int) -> None:
    random = np.random.default_rng(13)
    left, right = rows_of(random, 500), rows_of(random, 600)
    aggregates = {"n": "COUNT(*)", "s": "SUM(r.id)", "a": "AVG(r.id)", "lo": "MIN(r.id)"}
    aggregates |= {"hi": "MAX(r.id)", "v": "VAR_SAMP(r.n)", "d": "COUNT(DISTINCT r.n)"}
    shown = ", ".join(f"{text} AS {name}" for name, text in aggregates.items())
    found = out_of_order(left, right).sql(
        f"SELECT l.id AS l, {shown} FROM l WINDOW JOIN r ON l.k = r.k RANGE BETWEEN {lo} PRECEDING"
        f" AND {abs(hi)} {'FOLLOWING' if hi >= 0 else 'PRECEDING'}"
    )
    expected = asked(
        f"""
        SELECT l.id, x.n, CAST(x.s AS BIGINT), x.a, x.lo, x.hi, x.v, x.d FROM l, LATERAL (
            SELECT {shown} FROM r WHERE l.k = r.k AND r.ts BETWEEN l.ts - {lo} AND l.ts + {hi}
        ) x
        """,
        l=left,
        r=right,
    )
    assert len(expected) == 500
    assert rounded(bag(found)) == rounded(expected)


def rounded(rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Doubles to twelve figures: DuckDB rounds as it adds."""
    return Counter(
        tuple(float(f"{cell:.11e}") if isinstance(cell, float) else cell for cell in row)
        for row in rows.elements()
    )


def test_each_hour_of_weather_counts_the_flights_around_it() -> None:
    found = flights_and_weather(2).sql(
        """
        SELECT w.ts, w.origin, COUNT(*) AS n, COUNT(f.delay) AS c, SUM(f.distance) AS miles,
               MAX(f.delay) AS worst
        FROM weather w WINDOW JOIN flights f ON w.origin = f.origin AND f.carrier <> 'UA'
        RANGE BETWEEN INTERVAL '30' MINUTES PRECEDING AND INTERVAL '2' HOURS FOLLOWING
        """
    )
    expected = asked(
        """
        SELECT w.ts, w.origin, COUNT(f.ts), COUNT(f.delay), CAST(SUM(f.distance) AS BIGINT),
               MAX(f.delay)
        FROM w LEFT JOIN f ON w.origin = f.origin AND f.carrier <> 'UA'
            AND f.ts BETWEEN w.ts - INTERVAL 30 MINUTE AND w.ts + INTERVAL 2 HOUR
        GROUP BY w.ts, w.origin
        """,
        f=departures(2),
        w=observations(2),
    )
    assert len(expected) > 1_900
    assert bag(found) == expected
