"""The demo's streams, its three questions, one of each family, and their answers the slow way.

**The slow way** has no windows that slide, no state, and no code of Windrow's. Each function looks
at whole streams and gives the rows that must be out once the watermark is at `watermark`
(microseconds since 1970).

**The streams** are what stores sell, and what sensors read: generated, seeded, and out of order on
purpose. Stores have two rush hours, sensors none. Every tuple arrives up to `LATENESS_S` after its
event time; the streams are cut into micro-batches, one Parquet file each, in order of arrival.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

MINUTE = 60_000_000
HOUR = 60 * MINUTE
REACH_US = 10 * MINUTE
REACH_M = 100.0

Streams = dict[str, pa.Table]


def three_way_join(streams: Streams, _watermark: int) -> pa.Table:
    """Every triple of one item within a minute of each other: all with all, item by item.

    A window join emits with the last tuple of a combination and waits for no watermark.
    """
    stores = [streams[name] for name in _STORES]
    items = [np.array(store.column("item").to_pylist()) for store in stores]
    times = [_micros(store, "ts") for store in stores]
    found: list[list[NDArray[np.int64]]] = [[], [], []]
    for item in np.unique(items[0]):
        north, south, west = (np.flatnonzero(of_store == item) for of_store in items)
        first, second = np.nonzero(_near(times[0][north], times[1][south]))
        north, south = north[first], south[second]
        pair, third = np.nonzero(
            _near(times[0][north], times[2][west]) & _near(times[1][south], times[2][west])
        )
        for rows, part in zip(found, (north[pair], south[pair], west[third]), strict=True):
            rows.append(part)
    triples = [
        store.take(pa.array(np.concatenate(rows)))
        for store, rows in zip(stores, found, strict=True)
    ]
    columns = {"item": triples[0].column("item")}
    columns |= {name: side.column("price") for name, side in zip(_STORES, triples, strict=True)}
    columns |= {
        f"{name}_ts": side.column("ts") for name, side in zip(_STORES, triples, strict=True)
    }
    return pa.table(columns)


_STORES = ("north", "south", "west")


def _near(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each pair, whether it is at most a minute apart."""
    near: NDArray[np.bool_] = np.abs(left[:, None] - right[None, :]) <= MINUTE
    return near


def sliding_revenue(streams: Streams, watermark: int) -> pa.Table:
    """Every change of every store's revenue and count before the watermark.

    alive at T:  t <= T <= t + 1h,  so the answer changes at t and at t + 1h + 1 tick
    """
    sales = streams["sales"]
    kept = _numbers(sales, "price") > 4
    stores = np.array(sales.column("store").to_pylist())[kept]
    times = _micros(sales, "ts")[kept]
    amounts = (_numbers(sales, "price") * _numbers(sales, "quantity"))[kept]
    rows: list[dict[str, Any]] = []
    for store in np.unique(stores):
        mine = stores == store
        rows += _changes(str(store), times[mine], amounts[mine], watermark)
    return pa.Table.from_pylist(
        rows,
        pa.schema(
            {
                "store": pa.string(),
                "revenue": pa.float64(),
                "sales": pa.int64(),
                "_change_type": pa.string(),
                "_event_time": pa.timestamp("us", "UTC"),
            }
        ),
    )


def _changes(
    store: str, times: NDArray[np.int64], amounts: NDArray[np.float64], watermark: int
) -> list[dict[str, Any]]:
    """One store's changelog: its answer at each instant, taken anew from the tuples alive then."""
    order = np.argsort(times, kind="stable")
    times, amounts = times[order], amounts[order]
    instants = np.unique(np.concatenate([times, times + HOUR + 1]))
    instants = instants[instants < watermark]
    first = np.searchsorted(times, instants - HOUR, side="left")
    last = np.searchsorted(times, instants, side="right")
    rows: list[dict[str, Any]] = []
    before: tuple[float, int] | None = None
    for instant, start, stop in zip(instants, first, last, strict=True):
        count = int(stop - start)
        now = (float(amounts[start:stop].sum()), count) if count else None
        if now == before:
            continue
        for kind, answer in (("delete", before), ("insert", now)):
            if answer is not None:
                row = {"store": store, "revenue": answer[0], "sales": answer[1]}
                rows.append({**row, "_change_type": kind, "_event_time": int(instant)})
        before = now
    return rows


def best_readings(streams: Streams, watermark: int) -> pa.Table:
    """For each temperature that is final, its candidates that no other candidate dominates."""
    left, right = streams["temperature"], streams["humidity"].sort_by("ts").combine_chunks()
    left_at = np.stack([_micros(left, "ts"), _numbers(left, "x"), _numbers(left, "y")], axis=1)
    right_at = np.stack([_micros(right, "ts"), _numbers(right, "x"), _numbers(right, "y")], axis=1)
    lefts: list[int] = []
    rights: list[int] = []
    reach = np.array([REACH_US, REACH_M, REACH_M])
    first = np.searchsorted(right_at[:, 0], left_at[:, 0] - REACH_US, side="left")
    last = np.searchsorted(right_at[:, 0], left_at[:, 0] + REACH_US, side="right")
    for row in np.flatnonzero(left_at[:, 0] + REACH_US < watermark):
        distances = np.abs(right_at[first[row] : last[row]] - left_at[row])
        candidates = np.flatnonzero((distances <= reach).all(axis=1))
        for best in candidates[_undominated(distances[candidates])]:
            lefts.append(int(row))
            rights.append(int(first[row] + best))
    pairs = {name: left.column(name).take(pa.array(lefts, pa.int64())) for name in _LEFT}
    for name, source in _RIGHT.items():
        pairs[name] = right.column(source).take(pa.array(rights, pa.int64()))
    return pa.table(pairs)


_LEFT = ("ts", "x", "y", "celsius")
_RIGHT = {"h_ts": "ts", "h_x": "x", "h_y": "y", "percent": "percent"}


def _undominated(distances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows no other row dominates: at least as good everywhere, better somewhere."""
    as_good = (distances[:, None, :] <= distances[None, :, :]).all(axis=2)
    better = (distances[:, None, :] < distances[None, :, :]).any(axis=2)
    return np.asarray(~(as_good & better).any(axis=0))


def _micros(table: pa.Table, name: str) -> NDArray[np.int64]:
    return _numbers(table, name, cast=pa.int64())


def _numbers(table: pa.Table, name: str, cast: pa.DataType | None = None) -> NDArray[Any]:
    column = table.column(name) if cast is None else table.column(name).cast(cast)
    numbers: NDArray[Any] = column.to_numpy()
    return numbers


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
    expected=three_way_join,
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
    expected=sliding_revenue,
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
    expected=best_readings,
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
