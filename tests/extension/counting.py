"""A source and a sink in one file: whole numbers as a stream, and a list of committed rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from windrow import extend
from windrow.io import Answer, Connector, Json, Offsets, Sink, Source


class Numbers(Source):
    """The numbers from 0 on, each at its own instant."""

    def __init__(self, until: int) -> None:
        self._until = until

    def columns(self) -> pa.Schema:
        return pa.schema([("n", pa.int64()), ("t", pa.int64())])

    def start(self) -> Offsets:
        return {"all": 0}

    def latest(self, since: Offsets, most_rows: int = 3) -> Offsets:
        return {"all": min(since["all"] + most_rows, self._until)}

    def read(self, partition: str, start: Json | None, end: Json) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        numbers = pa.array(range(start or 0, end), pa.int64())
        yield pa.RecordBatch.from_arrays([numbers, numbers], schema=self.columns())

    def has_ended(self, offsets: Offsets) -> bool:
        return offsets["all"] >= self._until


class Listed(Sink):
    """Rows in memory, shown once their epoch is committed."""

    writes_anywhere = False

    def __init__(self) -> None:
        self.rows: list[dict] = []
        self.last = -1
        self._written: dict[int, list[dict]] = {}

    def open(self, run: str, answer: Answer) -> int:  # noqa: ARG002
        return self.last

    def write(self, epoch: int, batches: Iterable[pa.RecordBatch]) -> Json:
        self._written[epoch] = [row for batch in batches for row in batch.to_pylist()]

    def commit(self, epoch: int, written: Sequence[Json]) -> None:  # noqa: ARG002
        self.rows += self._written.pop(epoch, [])
        self.last = max(self.last, epoch)


@dataclass(frozen=True)
class Counting(Connector):
    """Numbers, as job files name them."""

    name: ClassVar[str] = "counting"

    until: int

    def source(self) -> Source:
        return Numbers(self.until)


extend.connector("counting", "extension.counting:Counting")
