"""Rows that are made up: seeded, so that row n is the same whenever it is asked for.

    windrow.generate("k BIGINT, price DOUBLE, ts TIMESTAMP", rate=1000, distinct={"k": 100})

Rows come in blocks, each drawn by a generator of its own that the seed and the block's number start, so
that any of them can be read again without those before it. Times follow the rate: row n is n / rate
after the beginning.
"""

from __future__ import annotations

import math
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
from windrow.plan import arguments as kinds
from windrow.plan.arguments import ArgumentKind, check_kinds
from windrow.schema import Field, Schema

BLOCK_ROWS = 8_192
"""Rows of a block: drawing one takes less than a millisecond."""

DISTINCT = 1_000
"""Different values of a column, where nobody says how many."""

MOST_DISTINCT = {"tinyint": 1 << 7, "smallint": 1 << 15, "int": 1 << 31}
"""By type: values are drawn from 0 on. Of other types there are 2^63."""

_NUMBER = ArgumentKind(
    "a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool), "1000"
)
_SCHEMA = ArgumentKind(
    "a list of columns as a text", kinds.NAME.accepts, "'k BIGINT, ts TIMESTAMP'"
)
_BEGIN = ArgumentKind("an instant as a text", kinds.NAME.accepts, "'2026-01-01T00:00:00Z'")
_SEED = ArgumentKind(
    "a whole number",
    lambda value: isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 128,
    "7",
)
_ROWS = ArgumentKind(
    "a whole number of rows, or None",
    lambda value: value is None or (kinds.ROWS.accepts(value) and value >= 0),  # type: ignore[operator]
    "1000",
)
_DISTINCT = ArgumentKind(
    "how many different values a column has, by column",
    lambda value: (
        isinstance(value, Mapping)
        and all(
            isinstance(name, str)
            and isinstance(count, int)
            and not isinstance(count, bool)
            and 1 <= count <= 1 << 63
            for name, count in value.items()
        )
    ),
    "{'k': 100}",
)

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
        distinct: how many different values a column has, by column; by default 1,000.
        begin: the time of the first row.
        live: whether rows come at the pace of the clock; else as fast as they are read.
    """

    name: ClassVar[str] = "generate"

    schema: str
    rate: float = 1_000.0
    rows: int | None = None
    seed: int = 0
    distinct: Mapping[str, int] = field(default_factory=dict)
    begin: str = "2026-01-01T00:00:00Z"
    live: bool = True

    def __post_init__(self) -> None:
        """Refuses what is not of its kind."""
        check_kinds(
            self.name,
            vars(self),
            schema=_SCHEMA,
            rate=_NUMBER,
            rows=_ROWS,
            seed=_SEED,
            distinct=_DISTINCT,
            begin=_BEGIN,
            live=kinds.FLAG,
        )

    def source(self) -> Source:
        """The rows.

        Raises:
            BindError: no such rows can be made up.
        """
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
        self._distinct = {
            own.name: _distinct_of(own, about.distinct) for own in self._schema.fields
        }
        for name in about.distinct:
            if name not in self._distinct:
                raise BindError(
                    "unknown-column-of-distinct",
                    f"distinct of generate(..) names {name!r}, which is not a column",
                    reason=f"the columns are {', '.join(self._distinct)}",
                    hint="name columns of the schema",
                )
        self._begin = _ticks_of(about.begin)
        if not 0 < about.rate < math.inf:
            raise BindError(
                "bad-rate",
                f"{about.rate!r} rows per second is not a rate",
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
        numbers = drawn.integers(0, self._distinct[column.name], BLOCK_ROWS)
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
            first = self._begin
        return first + (numbers * (ticks_per_s / self._about.rate)).astype(np.int64)


def _distinct_of(column: Field, said: Mapping[str, int]) -> int:
    """How many different values a column has."""
    most = MOST_DISTINCT.get(column.type, 1 << 63)
    asked = said.get(column.name)
    if asked is not None and asked > most:
        raise BindError(
            "too-many-values",
            f"a column of the type {column.type} does not have {asked:,} different values:"
            f" {column.name}",
            reason=f"they are drawn from 0 on, and there are {most:,}",
            hint=f"give {column.name} a larger type, or fewer values",
        )
    return asked or min(DISTINCT, most)


def _ticks_of(begin: str) -> int:
    """The time of the first row, in microseconds."""
    try:
        begun = datetime.fromisoformat(begin)
    except ValueError as error:
        raise BindError(
            "bad-begin",
            f"begin of generate(..) is {begin!r}, which is not an instant",
            hint="write it as in begin='2026-01-01T00:00:00Z'",
        ) from error
    begun = begun if begun.tzinfo else begun.replace(tzinfo=UTC)
    return round((begun - _EPOCH).total_seconds() * 1_000_000)


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
