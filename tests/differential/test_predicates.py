"""Joins of real streams without an equality, or with more than one, against DuckDB."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest
from bags import bag
from differential.real_data import asked, departures, purchases
from sessions import session

pytestmark = pytest.mark.law


@pytest.mark.parametrize("algorithm", ["bew", "bew-nested-loop"])
def test_longer_flights_that_left_later_but_with_less_delay(algorithm):
    flights = departures(4).slice(0, 1_500)
    streams = {
        name: flights.filter(pc.equal(flights["origin"], name.upper())) for name in ("ewr", "jfk")
    }
    found = session(streams, time="ts").sql(
        """
        SELECT e.ts AS c0, e.flight AS c1, j.ts AS c2, j.flight AS c3 FROM ewr e, jfk j
        WHERE e.distance < j.distance AND e.delay > j.delay AND e.carrier <> j.carrier
          AND e.flight % 7 = j.flight % 7
        DWINDOW (e, j) = INTERVAL '30' MINUTES
        """,
        algorithm=algorithm,
    )
    expected = asked(
        """
        SELECT e.ts, e.flight, j.ts, j.flight FROM ewr e CROSS JOIN jfk j
        WHERE e.distance < j.distance AND e.delay > j.delay AND e.carrier <> j.carrier
          AND e.flight % 7 = j.flight % 7
          AND epoch_us(j.ts) - epoch_us(e.ts) BETWEEN 0 AND 1800000000
        """,
        **streams,
    )
    assert len(expected) > 100
    assert bag(found) == expected


def test_a_function_compares_places_while_an_equality_joins_carriers():
    flights = departures(5).slice(0, 2_500)
    streams = {
        name: flights.filter(pc.equal(flights["origin"], name.upper()))
        for name in ("ewr", "jfk", "lga")
    }
    asking = session(streams, time="ts")
    asking.function(
        "same_start",
        lambda one, other: pc.equal(*(pc.utf8_slice_codeunits(p, 0, 1) for p in (one, other))),
    )
    found = asking.sql(
        """
        SELECT e.flight AS c0, j.flight AS c1, l.flight AS c2 FROM ewr e, jfk j, lga l
        WHERE e.carrier = j.carrier AND same_start(e.dest, j.dest) AND NOT same_start(j.dest, l.dest)
          AND l.distance BETWEEN e.distance - 50 AND e.distance + 50
        WINDOW = INTERVAL '40' MINUTES
        """
    )
    expected = asked(
        """
        SELECT e.flight, j.flight, l.flight FROM ewr e JOIN jfk j USING (carrier) CROSS JOIN lga l
        WHERE e.dest[1] = j.dest[1] AND j.dest[1] <> l.dest[1]
          AND abs(l.distance - e.distance) <= 50
          AND abs(epoch_us(j.ts) - epoch_us(e.ts)) <= 2400000000
          AND abs(epoch_us(l.ts) - epoch_us(e.ts)) <= 2400000000
          AND abs(epoch_us(l.ts) - epoch_us(j.ts)) <= 2400000000
        """,
        **streams,
    )
    assert expected.total() > 70
    assert bag(found) == expected


def test_dearer_purchases_of_the_last_hours_counted_at_every_instant():
    bought = purchases(4).slice(0, 1_500)
    changes = (
        session({"s": bought}, time="ts")
        .sql(
            """
            SELECT a.store_id AS store, COUNT(*) AS n
            FROM s a [RANGE INTERVAL '2' HOURS], s b [RANGE INTERVAL '2' HOURS]
            WHERE a.sales_value > b.sales_value AND a.quantity < b.quantity AND a.store_id = b.store_id
            GROUP BY a.store_id
            """
        )
        .to_arrow()
    )
    answer = asked(
        """
        WITH instants AS (SELECT DISTINCT _event_time AS instant FROM changes)
        SELECT instant, store, n FROM instants, changes WHERE _event_time <= instant GROUP BY ALL
        HAVING sum(CASE _change_type WHEN 'insert' THEN 1 ELSE -1 END) > 0
        """,
        changes=changes,
    )
    expected = asked(
        """
        WITH instants AS (SELECT DISTINCT _event_time AS instant FROM changes)
        SELECT instant, a.store_id, count(*) FROM instants, s a, s b
        WHERE a.sales_value > b.sales_value AND a.quantity < b.quantity AND a.store_id = b.store_id
          AND a.ts <= instant AND instant <= a.ts + INTERVAL 2 HOUR
          AND b.ts <= instant AND instant <= b.ts + INTERVAL 2 HOUR
        GROUP BY ALL
        """,
        changes=changes,
        s=bought,
    )
    assert len(answer) > 20
    assert answer == expected
