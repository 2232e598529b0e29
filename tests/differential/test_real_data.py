"""Real streams, asked of Windrow and, by another route, of DuckDB."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bags import bag
from differential.real_data import asked, departures, observations, purchases
from sessions import session

pytestmark = pytest.mark.law


def airports(month: int) -> dict[str, pa.Table]:
    flights = departures(month)
    return {
        name: flights.filter(pc.equal(flights["origin"], name.upper()))
        for name in ("ewr", "jfk", "lga")
    }


CHOSEN = "e.ts, e.carrier, e.dest, e.flight, j.ts, j.flight, l.ts, l.flight"
NAMED = ", ".join(f"{name} AS c{i}" for i, name in enumerate(CHOSEN.split(", ")))


@pytest.mark.parametrize("algorithm", ["bew-hash", "bew-nested-loop"])
def test_one_carrier_leaves_three_airports_for_one_place_within_the_windows(algorithm: str) -> None:
    streams = airports(1)
    found = session(streams, time="ts").sql(
        f"""
        SELECT {NAMED} FROM ewr e, jfk j, lga l
        WHERE e.carrier = j.carrier AND j.carrier = l.carrier
          AND e.dest = j.dest AND e.dest = l.dest AND e.distance > 500
        WINDOW (e, j) = INTERVAL '45' MINUTES AND DWINDOW (j, l) = INTERVAL '1' HOUR
        """,
        algorithm=algorithm,
    )
    expected = asked(
        f"""
        SELECT {CHOSEN} FROM ewr e
        JOIN jfk j USING (carrier, dest) JOIN lga l USING (carrier, dest)
        WHERE e.distance > 500
          AND epoch_us(j.ts) - epoch_us(e.ts) BETWEEN -2700000000 AND 2700000000
          AND epoch_us(l.ts) - epoch_us(j.ts) BETWEEN 0 AND 3600000000
        """,
        **streams,
    )
    assert len(expected) > 100
    assert bag(found) == expected


def test_departures_of_the_last_hour_per_carrier_at_every_instant() -> None:
    flights = departures(2).slice(0, 4_000)
    changes = (
        session({"flights": flights}, time="ts")
        .sql(
            """
            SELECT carrier, COUNT(*) AS n, SUM(delay) AS delay
            FROM flights [RANGE INTERVAL '1' HOUR] GROUP BY carrier
            """
        )
        .to_arrow()
    )
    at_every_instant = """
        WITH instants AS (SELECT DISTINCT _event_time AS instant FROM changes)
        SELECT instant, carrier, n, delay FROM instants, changes
        WHERE _event_time <= instant GROUP BY ALL
        HAVING sum(CASE _change_type WHEN 'insert' THEN 1 ELSE -1 END) > 0
    """
    expected = """
        WITH instants AS (SELECT DISTINCT _event_time AS instant FROM changes)
        SELECT instant, carrier, count(*), sum(delay) FROM instants, flights
        WHERE ts <= instant AND instant <= ts + INTERVAL 1 HOUR GROUP BY ALL
    """
    tables = {"changes": changes, "flights": flights}
    answer = asked(at_every_instant, **tables)
    assert len(answer) > 1_000
    assert answer == asked(expected, **tables)


def test_the_nearest_weather_of_each_departure() -> None:
    flights, weather = departures(3).slice(0, 3_000), observations(3)
    found = session({"flights": flights, "weather": weather}, time="ts").sql(
        """
        SELECT f.ts AS ts, f.origin AS origin, f.flight AS flight, w.ts AS seen, w.temp AS temp
        FROM flights f LEFT OUTER BESTMATCH JOIN weather w
        ON f.ts MINDIST w.ts, f.distance MINDIST w.temp
        WHERE f.origin = w.origin AND abs(f.ts - w.ts) <= INTERVAL '90' MINUTES
        """
    )
    expected = asked(
        """
        WITH pairs AS (
          SELECT f.ts, f.origin, f.flight, f.rowid AS row, w.ts AS seen, w.temp,
                 abs(epoch_us(f.ts) - epoch_us(w.ts)) AS d1, abs(f.distance - w.temp) AS d2
          FROM (SELECT *, row_number() OVER () AS rowid FROM flights) f JOIN weather w
          ON f.origin = w.origin AND w.temp IS NOT NULL
             AND abs(epoch_us(f.ts) - epoch_us(w.ts)) <= 5400000000)
        SELECT ts, origin, flight, seen, temp FROM pairs p
        WHERE NOT EXISTS (
          SELECT 1 FROM pairs q WHERE q.row = p.row AND q.d1 <= p.d1 AND q.d2 <= p.d2
            AND (q.d1 < p.d1 OR q.d2 < p.d2))
        """,
        flights=flights,
        weather=weather,
    )
    assert len(expected) > 3_000
    assert bag(found) == expected


def test_products_bought_in_two_stores_within_half_a_day_counted_over_a_day() -> None:
    bought = purchases(12)
    stores = Counter(bought["store_id"].to_pylist()).most_common(2)
    streams = {
        name: bought.filter(pc.equal(bought["store_id"], store))
        for name, (store, _) in zip("ab", stores, strict=True)
    }
    changes = (
        session(streams, time="ts")
        .sql(
            """
            SELECT product, COUNT(*) AS n, SUM(quantity) AS quantity
            FROM (SELECT a.product_id AS product, a.quantity + b.quantity AS quantity
                  FROM a, b WHERE a.product_id = b.product_id
                  WINDOW = INTERVAL '12' HOURS) x [RANGE INTERVAL '1' DAY]
            GROUP BY product
            """
        )
        .to_arrow()
    )
    pairs = """
        SELECT a.product_id AS product, a.quantity + b.quantity AS quantity,
               greatest(a.ts, b.ts) AS ts
        FROM a JOIN b USING (product_id) WHERE abs(epoch_us(a.ts) - epoch_us(b.ts)) <= 43200000000
    """
    answer = asked(
        """
        WITH instants AS (SELECT DISTINCT _event_time AS instant FROM changes)
        SELECT instant, product, n, quantity FROM instants, changes
        WHERE _event_time <= instant GROUP BY ALL
        HAVING sum(CASE _change_type WHEN 'insert' THEN 1 ELSE -1 END) > 0
        """,
        changes=changes,
    )
    expected = asked(
        f"""
        WITH instants AS (SELECT DISTINCT _event_time AS instant FROM changes), pairs AS ({pairs})
        SELECT instant, product, count(*), sum(quantity) FROM instants, pairs
        WHERE ts <= instant AND instant <= ts + INTERVAL 1 DAY GROUP BY ALL
        """,
        changes=changes,
        **streams,
    )
    assert len(answer) > 10
    assert answer == expected
