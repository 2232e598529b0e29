"""A source of several partitions that grows while it is read, for processes that do not know each other.

How many rows there are says a file, so that whoever tests lets them arrive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import windrow
from windrow.io import Aside, Json, Offsets, Source, Unavailable

COLUMNS = pa.schema([("n", pa.int64()), ("k", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
TICKS = 100_000
"""Microseconds between two rows."""


class Growing(Source):
    """Row n is in partition n % parts; every row of `poison` is none.

    Args:
        arrived: a file with the number of rows that there are.
        parts: how many partitions.
        step: how many rows of a partition are read at a time, at most.
        poison: rows that cannot be read.
        away: a file; while it is there, nothing can be read.
        shift: how many keys this stream is ahead of others.
    """

    def __init__(
        self,
        arrived: Path,
        *,
        parts: int = 2,
        step: int = 50,
        poison: Sequence[int] = (),
        away: Path | None = None,
        shift: int = 0,
    ) -> None:
        self._arrived = arrived
        self._parts = parts
        self._step = step
        self._poison = frozenset(poison)
        self._away = away
        self._shift = shift
        self._aside: list[Aside] = []

    def columns(self) -> pa.Schema:
        return COLUMNS

    def start(self) -> Offsets:
        return {str(part): 0 for part in range(self._parts)}

    def latest(self, since: Offsets, most_rows: int = 1_000) -> Offsets:
        self._look()
        arrived = int(self._arrived.read_text())
        step = min(self._step, max(1, most_rows // self._parts))
        ends = {str(part): len(range(part, arrived, self._parts)) for part in range(self._parts)}
        return {part: min(end, since[part] + step) for part, end in ends.items()}

    def read(self, partition: str, start: Json | None, end: Json) -> Iterator[pa.RecordBatch]:
        self._look()
        numbers = [int(partition) + at * self._parts for at in range(start or 0, end)]
        self._aside += [
            Aside(partition, n // self._parts, "it is poison", str(n).encode())
            for n in numbers
            if n in self._poison
        ]
        rows = [
            {"n": n, "k": (n * 7 + self._shift) % 13, "ts": n * TICKS}
            for n in numbers
            if n not in self._poison
        ]
        columns = {name: [row[name] for row in rows] for name in COLUMNS.names}
        arrays = [pa.array(columns[own.name], pa.int64()).cast(own.type) for own in COLUMNS]
        for batch in pa.Table.from_arrays(arrays, schema=COLUMNS).to_batches(max_chunksize=20):
            yield batch
            self._look()

    def take_aside(self) -> Sequence[Aside]:
        taken, self._aside = self._aside, []
        return taken

    def _look(self) -> None:
        if self._away is not None and self._away.exists():
            raise Unavailable("broker-away", "the broker is away", reason="it is", hint="start it")


QUERIES = {
    "join": "SELECT a.n, b.n AS m FROM a, b WHERE a.k = b.k WINDOW = INTERVAL 2 seconds",
    "changelog": "SELECT k, COUNT(*) AS c FROM a [RANGE INTERVAL 2 seconds] GROUP BY k",
}


def session(folder: Path, spark: Any = None) -> windrow.Session:
    """Two streams that arrive together."""
    made = windrow.Session(spark) if spark is not None else windrow.Session()
    for shift, name in enumerate("ab"):
        made.stream(
            name,
            Growing(folder / "arrived", shift=shift, step=40),
            time="ts",
            lateness="10 seconds",
        )
    return made
