"""A source and a sink in one file: whole numbers as a stream, and a list of committed rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from windrow import extend
from windrow.io.protocol import Offsets, Sink, Source


class Numbers(Source):
    """The numbers from 0 on, each at its own instant."""

    def __init__(self, until: int) -> None:
        self._until = until

    def discover(self) -> pa.Schema:
        return pa.schema([("n", pa.int64()), ("t", pa.int64())])

    def latest(self) -> Offsets:
        return self._until

    def read(self, start: Offsets | None, end: Offsets) -> Iterator[pa.RecordBatch]:
        numbers = pa.array(range(start or 0, end), pa.int64())
        yield pa.RecordBatch.from_arrays([numbers, numbers], schema=self.discover())


class Listed(Sink):
    """Rows in memory, shown once their epoch is committed."""

    def __init__(self) -> None:
        self.rows: list[dict] = []
        self._written: dict[int, list[dict]] = {}

    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> None:
        self._written[epoch] = [row for batch in batches for row in batch.to_pylist()]

    def commit(self, epoch: int) -> None:
        self.rows += self._written.pop(epoch, [])


extend.source("numbers", Numbers)
extend.sink("listed", Listed)
