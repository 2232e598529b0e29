"""Random questions with their answers by brute force, for every runner alike.

A case is drawn from a `random.Random`, so that Hypothesis can shrink it in process and a seed can
repeat it on Spark. The brute force knows nothing of the planner: it tests each combination of rows
against what each clause says in `semantics.md`, with ticks of its own.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

Row = dict[str, Any]
Bag = Counter[tuple[Any, ...]]

ARROW_TIME = {
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "date": pa.date32(),
    "bigint": pa.int64(),
}
ARROW_KEY = {
    "bigint": pa.int64(),
    "string": pa.string(),
    "decimal": pa.decimal128(25, 3),
    "boolean": pa.bool_(),
    "double": pa.float64(),
}


@dataclass(frozen=True)
class Stream:
    """Rows in arrival order, cut into batches; `t` is the time in units of the case's clock."""

    name: str
    batches: tuple[tuple[Row, ...], ...]
    lateness: int
    time_type: str
    types: dict[str, pa.DataType] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        return [row for batch in self.batches for row in batch]

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema, time column first."""
        return pa.schema([("ts", ARROW_TIME[self.time_type]), *self.types.items()])

    def tables(self) -> list[pa.Table]:
        """One Arrow table per batch."""
        return [
            pa.Table.from_pylist(
                [
                    {"ts": show_time(row["t"], self.time_type)}
                    | {name: row[name] for name in self.types}
                    for row in batch
                ],
                schema=self.schema,
            )
            for batch in self.batches
        ]

    @property
    def newest(self) -> int | None:
        """The greatest time delivered."""
        return max((row["t"] for row in self.rows), default=None)


@dataclass(frozen=True)
class Case:
    """A query over streams, and its answer."""

    sql: str
    streams: tuple[Stream, ...]
    answer: Bag
    time_type: str
    due: dict[tuple[Any, ...], int] = field(default_factory=dict)
    """For rows that wait for the watermark: an answer's row comes once the watermark is beyond."""
    tables: dict[str, pa.Table] = field(default_factory=dict)
    """What does not move, by name."""

    @property
    def lateness(self) -> dict[str, str | int]:
        """Each stream's lateness as the session takes it."""
        return {s.name: length_text(s.lateness, s.time_type) for s in self.streams}

    def watermark(self) -> int | None:
        """The query's watermark after all batches, in units; None before any."""
        newest = [stream.newest for stream in self.streams]
        if any(time is None for time in newest):
            return None
        return min(
            time - stream.lateness
            for time, stream in zip(newest, self.streams, strict=True)
            if time is not None
        )

    def answer_below_watermark(self) -> Bag:
        """What a run that never learns of an end has produced."""
        watermark = self.watermark()
        return Counter(
            {
                row: count
                for row, count in self.answer.items()
                if row not in self.due or (watermark is not None and self.due[row] < watermark)
            }
        )


def show_time(units: int | None, time_type: str) -> Any:
    """A time of the case's clock as a value: seconds for timestamps, days for dates."""
    if units is None:
        return None
    if time_type == "bigint":
        return units
    if time_type == "date":
        return date(1970, 1, 1) + timedelta(days=units)
    zone = UTC if time_type == "timestamp" else None
    return datetime(1970, 1, 1, tzinfo=zone) + timedelta(seconds=units)


def length(units: int, time_type: str) -> str:
    """A length of time in SQL."""
    if time_type == "bigint":
        return str(units)
    return f"INTERVAL '{units}' {'DAYS' if time_type == 'date' else 'SECONDS'}"


def length_text(units: int, time_type: str) -> str | int:
    """A length of time for `Session.stream`."""
    if time_type == "bigint":
        return units
    return f"{units} {'days' if time_type == 'date' else 'seconds'}"


def draw_key(random: Random, kind: str) -> Any:
    """A key from a small domain, NULL now and then."""
    if random.random() < 0.1:
        return None
    number = random.randrange(3)
    return {
        "bigint": number - 1,
        "string": ["", "a", "aä"][number],
        "decimal": Decimal(number) / 8,
        "boolean": bool(number % 2),
        "double": [0.0, -0.0, float("nan")][number],
    }[kind]


def same_key(left: Any, right: Any) -> bool:
    """Equality of join keys: NULL never, NaN always, by value."""
    if left is None or right is None:
        return False
    return left == right or (left != left and right != right)  # noqa: PLR0124


def draw_batches(random: Random, rows: list[Row], lateness: int) -> tuple[tuple[Row, ...], ...]:
    """The rows in an arrival order that keeps the promise, cut anywhere; empty batches too."""
    delayed = sorted(rows, key=lambda row: (row["t"] + random.uniform(0, lateness), row["id"]))
    cuts = sorted(random.randrange(len(rows) + 1) for _ in range(random.randrange(4)))
    edges = [0, *cuts, len(rows)]
    return tuple(tuple(delayed[a:b]) for a, b in itertools.pairwise(edges))


def draw_times(random: Random) -> tuple[int, int]:
    """Where the times of a case's streams lie: first unit and number of units."""
    return random.choice([0, 0, -20, 1_000]), random.choice([3, 8, 30])


def draw_rows(
    random: Random, most: int, times: tuple[int, int], columns: dict[str, Any]
) -> list[Row]:
    """Rows with ids; `columns` maps a name to a function of the random source."""
    first, span = times
    return [
        {"id": number, "t": first + random.randrange(span)}
        | {name: draw(random) for name, draw in columns.items()}
        for number in range(random.randrange(1, most + 1))
    ]
