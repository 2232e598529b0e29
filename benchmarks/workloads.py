"""Named, seeded, sized inputs. The same name always gives the same tuples."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("v", pa.float64())])


@dataclass(frozen=True)
class ThreeStreams:
    """Three streams of (ts, k, v): uniform keys, even gaps, 1,000 tuples per second each.

    With 10,000 keys and a 5 s window about one combination in four tuples results.
    """

    name: str = "three-streams"
    tuples: int = 1_000_000
    keys: int = 10_000
    per_second: int = 1_000
    batch: int = 200_000
    seed: int = 7

    def batches(self, stream: int) -> Iterator[pa.RecordBatch]:
        """The tuples of one stream in time order, a micro-batch at a time."""
        generator = np.random.default_rng([self.seed, stream])
        for start in range(0, self.tuples, self.batch):
            rows = min(self.batch, self.tuples - start)
            times = START + (np.arange(start, start + rows) * SECOND) // self.per_second
            keys = generator.integers(0, self.keys, rows)
            values = generator.random(rows).round(6)
            yield record_batch(times, keys, values)


@dataclass(frozen=True)
class TripletStreams:
    """Three streams in which a key occurs once per stream, within one second.

    The output per tuple does not depend on the window, so that windows of any size may be
    compared at equal output.
    """

    name: str = "triplets"
    tuples: int = 2_000_000
    per_second: int = 1_000
    batch: int = 50_000
    seed: int = 11

    def batches(self, stream: int) -> Iterator[pa.RecordBatch]:
        """The tuples of one stream, a micro-batch at a time."""
        generator = np.random.default_rng([self.seed, stream])
        for start in range(0, self.tuples, self.batch):
            rows = min(self.batch, self.tuples - start)
            numbers = np.arange(start, start + rows)
            times = START + (numbers * SECOND) // self.per_second
            scrambled = (numbers * 2_654_435_761) % (1 << 40)
            yield record_batch(times, scrambled, generator.random(rows).round(6))


@dataclass(frozen=True)
class ThetaStreams:
    """Two streams of (ts, k, v) whose candidates are many and whose matches are few.

    `a.v < b.v` holds for about one pair in 20,000, `a.k <> b.k` for nine pairs in ten.
    """

    name: str = "theta"
    tuples: int = 1_000_000
    per_second: int = 1_000
    batch: int = 100_000
    seed: int = 13

    def batches(self, stream: int) -> Iterator[pa.RecordBatch]:
        """The tuples of one stream, a micro-batch at a time."""
        generator = np.random.default_rng([self.seed, stream])
        for start in range(0, self.tuples, self.batch):
            rows = min(self.batch, self.tuples - start)
            times = START + (np.arange(start, start + rows) * SECOND) // self.per_second
            values = generator.random(rows) + (0.99 if stream == 0 else 0.0)
            yield record_batch(times, generator.integers(0, 10, rows), values)


def record_batch(times: np.ndarray, keys: np.ndarray, values: np.ndarray) -> pa.RecordBatch:
    """One batch of the common schema."""
    stamps = pa.array(times, pa.int64()).cast(SCHEMA.field("ts").type)
    arrays = [stamps, pa.array(keys, pa.int64()), pa.array(values)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def write(
    workload: ThreeStreams | TripletStreams | ThetaStreams,
    folder: Path,
    most: int | None = None,
    streams: str = "abc",
) -> Path:
    """Writes some streams as Parquet files, one per micro-batch; kept if already there."""
    root = folder / f"{workload.name}-{workload.tuples}-{workload.batch}-{workload.seed}"
    for stream, letter in enumerate(streams):
        target = root / letter
        target.mkdir(parents=True, exist_ok=True)
        for number, batch in enumerate(workload.batches(stream)):
            if most is not None and number >= most:
                break
            file = target / f"part-{number:05d}.parquet"
            if not file.exists():
                pq.write_table(pa.Table.from_batches([batch]), file)
                # Spark reads files by their times, which those written in one millisecond share.
                os.utime(file, (number, number))
    return root
