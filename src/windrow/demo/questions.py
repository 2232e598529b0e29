"""The demo's streams, and its three questions, one of each family, with the way to check them.

**The check** is the same question in plain SQL, asked of DuckDB about whole streams: no windows of
Windrow's, no state, none of its code. `$watermark` is how far Spark has come (microseconds since 1970);
what is final only later is not out yet.

**The streams** are what stores sell, and what sensors read: generated, seeded, and out of order on
purpose. Stores have two rush hours, sensors none. Every tuple arrives up to `LATENESS_S` after its
event time; the streams are cut into micro-batches, one Parquet file each, in order of arrival.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Streams = dict[str, pa.Table]


@dataclass(frozen=True)
class Question:
    """A query with its streams, and `check`, the same question in plain SQL."""

    name: str
    about: str
    streams: tuple[str, ...]
    sql: str
    check: str

    def expected(self, streams: Streams, watermark: int) -> pa.Table:
        """Every row that must have come out once Spark's watermark is at `watermark` microseconds."""
        import duckdb

        with duckdb.connect() as engine:
            for name in self.streams:
                engine.register(name, streams[name])
            given = {"watermark": watermark} if "$watermark" in self.check else None
            return engine.sql(self.check, params=given).to_arrow_table()


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
    # A window join emits with the last tuple of a combination and waits for no watermark.
    check="""
SELECT n.item, n.price AS north, s.price AS south, w.price AS west,
       n.ts AS north_ts, s.ts AS south_ts, w.ts AS west_ts
FROM north n JOIN south s ON n.item = s.item AND abs(epoch_us(n.ts) - epoch_us(s.ts)) <= 60_000_000
             JOIN west w ON s.item = w.item AND abs(epoch_us(s.ts) - epoch_us(w.ts)) <= 60_000_000
                        AND abs(epoch_us(n.ts) - epoch_us(w.ts)) <= 60_000_000""",
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
    # Alive at T: t <= T <= t + 1h, so the answer changes at t and at t + 1h + 1 tick.
    check="""
WITH kept AS (
    SELECT store, epoch_us(ts) AS t, price * quantity AS amount FROM sales WHERE price > 4
), moments AS (
    SELECT store, t, amount, 1 AS sold FROM kept
    UNION ALL SELECT store, t + 3_600_000_001, 0, 0 FROM kept
), answers AS (
    SELECT DISTINCT store, t, sum(amount) OVER last AS revenue, (sum(sold) OVER last)::BIGINT AS sales
    FROM moments WINDOW last AS (
        PARTITION BY store ORDER BY t RANGE BETWEEN 3_600_000_000 PRECEDING AND CURRENT ROW
    )
), steps AS (
    SELECT *, lag(revenue, 1, 0) OVER own AS old_revenue, lag(sales, 1, 0) OVER own AS old_sales
    FROM answers WHERE t < $watermark WINDOW own AS (PARTITION BY store ORDER BY t)
), changes AS (
    SELECT * FROM steps WHERE (revenue, sales) <> (old_revenue, old_sales)
)
SELECT store, old_revenue AS revenue, old_sales AS sales, 'delete' AS _change_type,
       make_timestamp(t) AS _event_time
FROM changes WHERE old_sales > 0
UNION ALL SELECT store, revenue, sales, 'insert', make_timestamp(t) FROM changes WHERE sales > 0
ORDER BY store, _event_time, _change_type""",
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
    # One pair is better than another of the same temperature if it is nowhere worse, and not as good.
    check="""
WITH readings AS (
    SELECT *, epoch_us(ts) AS t, row_number() OVER () AS number FROM temperature
), near AS (
    SELECT t.*, h.ts AS h_ts, h.x AS h_x, h.y AS h_y, h.percent,
           abs(t.t - epoch_us(h.ts)) AS in_time, abs(t.x - h.x) AS in_x, abs(t.y - h.y) AS in_y
    FROM readings t JOIN humidity h
      ON epoch_us(h.ts) BETWEEN t.t - 600_000_000 AND t.t + 600_000_000
     AND abs(t.x - h.x) <= 100 AND abs(t.y - h.y) <= 100
    WHERE t.t + 600_000_000 < $watermark
)
SELECT ts, x, y, celsius, h_ts, h_x, h_y, percent
FROM near WHERE NOT EXISTS (
    FROM near AS other WHERE other.number = near.number
     AND other.in_time <= near.in_time AND other.in_x <= near.in_x AND other.in_y <= near.in_y
     AND (other.in_time, other.in_x, other.in_y) <> (near.in_time, near.in_x, near.in_y)
)""",
)

QUESTIONS = (JOIN, AGGREGATE, BESTMATCH)


SEED = 2026
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
SECOND = 1_000_000
LATENESS_S = 30
STORES = ("north", "south", "west")
SIDE_M = 1_000
"""The sensors stand in a square field of this side, in meters."""


@dataclass(frozen=True)
class Size:
    """How much data there is, and over how long a time.

    Sales are the tuples of each of the three store streams, readings of each of the two sensor
    streams; every stream comes in so many micro-batches, a file each.
    """

    sales: int
    items: int
    readings: int
    hours: int
    batches: int


FULL = Size(sales=50_000, items=200, readings=10_000, hours=10, batches=5)
QUICK = Size(sales=4_000, items=40, readings=1_000, hours=4, batches=3)


def generate(size: Size, seed: int = SEED) -> dict[str, pa.Table]:
    """All streams by name, each in order of arrival."""
    rng = np.random.default_rng(seed)
    streams = {store: _store(rng, size) for store in STORES}
    streams["sales"] = _all_sales(streams)
    streams["temperature"] = _sensors(rng, size, "celsius", low=12.0, high=28.0)
    streams["humidity"] = _sensors(rng, size, "percent", low=30.0, high=90.0)
    return streams


def write(streams: dict[str, pa.Table], folder: Path, batches: int) -> dict[str, Path]:
    """Writes every stream as one file per micro-batch; gives the folder of each."""
    folders = {}
    for name, table in streams.items():
        folders[name] = folder / name
        folders[name].mkdir(parents=True)
        cuts = np.linspace(0, table.num_rows, batches + 1).astype(int)
        for number, (start, stop) in enumerate(pairwise(cuts)):
            file = folders[name] / f"batch-{number:02d}.parquet"
            pq.write_table(table.slice(start, stop - start).drop_columns("arrival"), file)
            # Spark takes files by their age, which must not hang on the speed of the disk.
            os.utime(file, (number + 1.0, number + 1.0))
    return folders


def _store(rng: np.random.Generator, size: Size) -> pa.Table:
    items = rng.integers(0, size.items, size.sales)
    return _by_arrival(
        rng,
        _opening_hours(rng, size),
        {
            "item": pa.array([f"item-{item:03d}" for item in items]),
            # Quarters have no rounding error, so that sums can be compared exactly.
            "price": pa.array(rng.integers(4, 80, size.sales) / 4.0),
            "quantity": pa.array(rng.integers(1, 6, size.sales).astype(np.int32)),
        },
    )


def _all_sales(streams: dict[str, pa.Table]) -> pa.Table:
    """The sales of all stores in one stream, with the store's name."""
    parts = [
        table.append_column("store", pa.array([store] * table.num_rows))
        for store, table in streams.items()
    ]
    return pa.concat_tables(parts).sort_by("arrival").combine_chunks()


def _sensors(
    rng: np.random.Generator, size: Size, what: str, *, low: float, high: float
) -> pa.Table:
    return _by_arrival(
        rng,
        rng.uniform(0, size.hours * 3600, size.readings),
        {
            what: pa.array(rng.uniform(low, high, size.readings).round(1)),
            "x": pa.array(rng.uniform(0, SIDE_M, size.readings).round(1)),
            "y": pa.array(rng.uniform(0, SIDE_M, size.readings).round(1)),
        },
    )


def _opening_hours(rng: np.random.Generator, size: Size) -> NDArray[np.float64]:
    """Seconds after opening: half of the sales at any time, half around two rush hours."""
    rush = rng.choice([0.4, 0.8], size.sales) + rng.normal(0, 0.06, size.sales)
    any_time = rng.uniform(0, 1, size.sales)
    of_day = np.where(rng.uniform(0, 1, size.sales) < 0.5, any_time, np.clip(rush, 0, 1))
    return np.asarray(of_day * size.hours * 3600)


def _by_arrival(
    rng: np.random.Generator, seconds: NDArray[np.float64], columns: dict[str, pa.Array]
) -> pa.Table:
    """The columns with event times and arrivals, sorted by arrival."""
    times = int(START.timestamp()) * SECOND + (seconds * SECOND).astype(np.int64)
    arrival = times + rng.integers(0, LATENESS_S * SECOND, len(times))
    table = pa.table({**columns, "ts": timestamps(times), "arrival": pa.array(arrival)})
    return table.sort_by("arrival").combine_chunks()


def timestamps(micros: NDArray[np.int64]) -> pa.Array:
    """Microseconds since 1970 as instants."""
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))
