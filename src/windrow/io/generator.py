"""Rows that are made up: seeded, so that row n is the same whenever it is asked for.

    windrow.generate("k BIGINT, price DOUBLE, ts TIMESTAMP", rate="1000 per second", distinct={"k": 100})

Rows come in blocks, each drawn by a generator of its own that the seed and the block's number start, so
that any of them can be read again without those before it. Times follow the rate: row n is n / rate
after the beginning.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import BindError
from windrow.io.ddl import parse_ddl
from windrow.io.protocol import FEW_ROWS, Connector, Json, Offsets, Source
from windrow.operators.columns.arrow_types import arrow_schema, instants
from windrow.schema import Field, Schema

BLOCK_ROWS = 8_192
"""Rows of a block: drawing one takes less than a millisecond."""

DISTINCT = 1_000
"""Different values of a column, where nobody says how many."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ALL = "0"  # there is one partition
_TICKS = {"timestamp": 1_000_000, "timestamp_ntz": 1_000_000, "bigint": 1}
_DRAWN = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string")


@dataclass(frozen=True)
class Generate(Connector):
    """A stream that is made up, for trying things and for tests that last.

    Args:
        schema: its columns; the first TIMESTAMP, or else the last BIGINT, is the time.
        rate: rows per second of event time, and of the clock if it is live.
        rows: how many there are in all; None: no end.
        seed: other seeds, other rows.
        distinct: how many different values a column has, 1,000 if nothing is said.
        begin: the time of the first row.
        live: whether rows come as the clock goes on; else as fast as they are read.
    """

    name: ClassVar[str] = "generate"

    schema: str
    rate: float = 1_000.0
    rows: int | None = None
    seed: int = 0
    distinct: Mapping[str, int] = field(default_factory=dict)
    begin: str = "2026-01-01T00:00:00Z"
    live: bool = True

    def source(self) -> Source:
        """The rows."""
        return GeneratedRows(self)


class GeneratedRows(Source):
    """The rows of a generator, which it draws when they are read."""

    def __init__(self, about: Generate) -> None:
        self._about = about
        self._schema = parse_ddl(about.schema)
        self._time = _time_of(self._schema)
        for column in self._schema.fields:
            if column is not self._time and column.type not in _DRAWN:
                raise BindError(
                    "not-generated",
                    f"no values of the type {column.type} are made up, for {column.name!r}",
                    hint=f"one of {', '.join(_DRAWN)}",
                )
        if about.rate <= 0:
            raise BindError(
                "bad-rate",
                f"{about.rate!r} rows per second is no rate",
                hint="give a positive number",
            )
        self._arrow = arrow_schema(self._schema)
        self._began: tuple[float, int] | None = None

    def columns(self) -> pa.Schema:
        """As they were stated."""
        return self._arrow

    def start(self) -> Offsets:
        """The first row."""
        return {_ALL: 0}

    def latest(self, since: Offsets, most_rows: int = FEW_ROWS) -> Offsets:
        """As far as the clock has come since the first time this was asked."""
        taken = int(since[_ALL])
        end = taken + most_rows
        if self._about.live:
            now = time.monotonic()
            self._began = self._began or (now, taken)
            end = min(end, self._began[1] + int((now - self._began[0]) * self._about.rate))
        if self._about.rows is not None:
            end = min(end, self._about.rows)
        return {_ALL: max(taken, end)}

    def read(self, partition: str, start: Json | None, end: Json) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """The rows, block by block."""
        first = int(start or 0)
        for block in range(first // BLOCK_ROWS, -(-int(end) // BLOCK_ROWS)):
            at = block * BLOCK_ROWS
            rows = self._block(block)
            yield rows.slice(
                max(0, first - at), min(int(end) - at, BLOCK_ROWS) - max(0, first - at)
            )

    def has_ended(self, offsets: Offsets) -> bool:
        """Whether all rows were read."""
        return self._about.rows is not None and offsets[_ALL] >= self._about.rows

    def _block(self, block: int) -> pa.RecordBatch:
        drawn = np.random.Generator(
            np.random.Philox(key=self._about.seed, counter=[0, 0, 0, block])
        )
        arrays = [self._values(column, block, drawn) for column in self._schema.fields]
        return pa.RecordBatch.from_arrays(arrays, schema=self._arrow)

    def _values(self, column: Field, block: int, drawn: np.random.Generator) -> pa.Array:
        if column is self._time:
            return instants(self._ticks(block), column.type)
        kind = self._arrow.field(column.name).type
        if column.type in {"float", "double"}:
            return pa.array(drawn.random(BLOCK_ROWS)).cast(kind)
        numbers = drawn.integers(0, self._about.distinct.get(column.name, DISTINCT), BLOCK_ROWS)
        if column.type == "boolean":
            return pa.array(numbers % 2 == 0)
        if column.type == "string":
            return pa.array([f"{column.name}-{number}" for number in numbers])
        return pa.array(numbers).cast(kind)

    def _ticks(self, block: int) -> NDArray[np.int64]:
        numbers = np.arange(block * BLOCK_ROWS, (block + 1) * BLOCK_ROWS)
        ticks_per_s = _TICKS[self._time.type]
        first = 0
        if self._time.type != "bigint":
            begun = datetime.fromisoformat(self._about.begin)
            begun = begun if begun.tzinfo else begun.replace(tzinfo=UTC)
            first = round((begun - _EPOCH).total_seconds() * ticks_per_s)
        return first + (numbers * (ticks_per_s / self._about.rate)).astype(np.int64)


def _time_of(schema: Schema) -> Field:
    """The column that has the time of a row."""
    times = [own for own in schema.fields if own.type.startswith("timestamp")]
    numbers = [own for own in schema.fields if own.type == "bigint"]
    if times or numbers:
        return times[0] if times else numbers[-1]
    raise BindError(
        "no-time",
        f"none of the columns {schema.ddl()} can be the time of a row",
        hint="add one:  ts TIMESTAMP",
    )
