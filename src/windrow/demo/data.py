"""Generated streams: what stores sell, and what sensors read. Seeded, and out of order on purpose.

Stores have two rush hours, sensors none. Every tuple arrives up to `LATENESS_S` after its event
time; the streams are cut into micro-batches, one Parquet file each, in order of arrival.
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
