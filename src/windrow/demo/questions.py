"""The three questions of the demo, one of each family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from windrow.demo import brute_force

Streams = dict[str, pa.Table]


@dataclass(frozen=True)
class Question:
    """A query with its streams, and the slow way to the same answer.

    `expected(streams, watermark)` gives every row that must have come out once Spark's watermark
    is at `watermark` microseconds, by a route that shares no code with Windrow.
    """

    name: str
    about: str
    streams: tuple[str, ...]
    sql: str
    expected: Callable[[Streams, int], pa.Table]


JOIN = Question(
    name="window join",
    about="the same item sold in all three stores within one minute",
    streams=("north", "south", "west"),
    sql="""\
SELECT n.item, n.price AS north, s.price AS south, w.price AS west,
       n.ts AS north_ts, s.ts AS south_ts, w.ts AS west_ts
FROM north n, south s, west w
WHERE n.item = s.item AND s.item = w.item
WINDOW = INTERVAL '1' MINUTE""",
    expected=brute_force.three_way_join,
)

AGGREGATE = Question(
    name="sliding aggregate",
    about="each store's revenue over the last hour, at every instant, expirations included",
    streams=("sales",),
    sql="""\
SELECT store, SUM(price * quantity) AS revenue, COUNT(*) AS sales
FROM sales [RANGE INTERVAL '1' HOUR]
WHERE price > 4
GROUP BY store""",
    expected=brute_force.sliding_revenue,
)

BESTMATCH = Question(
    name="bestmatch join",
    about="for each temperature, the humidity readings nearest in time and place",
    streams=("temperature", "humidity"),
    sql="""\
SELECT t.ts, t.x, t.y, t.celsius, h.ts AS h_ts, h.x AS h_x, h.y AS h_y, h.percent
FROM temperature t LEFT OUTER BESTMATCH JOIN humidity h
  ON t.ts MINDIST h.ts, t.x MINDIST h.x, t.y MINDIST h.y
WHERE abs(t.ts - h.ts) <= INTERVAL '10' MINUTES
  AND abs(t.x - h.x) <= 100 AND abs(t.y - h.y) <= 100""",
    expected=brute_force.best_readings,
)

QUESTIONS = (JOIN, AGGREGATE, BESTMATCH)
