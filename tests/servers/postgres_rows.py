"""What tests of PostgreSQL share: rows of a table as anybody sees them, and changelogs to write."""

from __future__ import annotations

from collections import Counter

import psycopg
import pyarrow as pa

import windrow
from windrow.io import Answer
from windrow.plan.changelogs import SIGNS


def fetched(url: str, statement: str) -> list[tuple]:
    """The rows of a query, on a connection of its own."""
    with psycopg.connect(url) as connection:
        return connection.execute(statement).fetchall()


def executed(url: str, *statements: str) -> None:
    """Runs statements, each by itself."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def bag_of(url: str, table: str) -> Counter:
    """The rows of a table as a bag."""
    return Counter(fetched(url, f"SELECT * FROM {table}"))


def answer_of(keys: tuple[str, ...] | None = None) -> Answer:
    """The answer that the changelogs here are of."""
    return Answer(COLUMNS, is_changelog=True, keys=keys, time=pa.int64())


COLUMNS = pa.schema([("k", pa.string()), ("j", pa.int64()), ("v", pa.float64())])


def changes(rows: list[tuple]) -> list[pa.RecordBatch]:
    """Changes (kind, k, j, v) as batches, cut in two."""
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    schema = COLUMNS.append(pa.field("_change_type", pa.string()))
    schema = schema.append(pa.field("_event_time", pa.int64()))
    arrays = [columns[1], columns[2], columns[3], columns[0], range(len(rows))]
    table = pa.table(dict(zip(schema.names, map(list, arrays), strict=True)), schema)
    return table.to_batches(max_chunksize=max(1, len(rows) // 2))


def stages(url: str, table: str) -> list[str]:
    """The staging tables beside a table."""
    schema = table.partition(".")[0]
    found = fetched(
        url,
        "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
        f" WHERE nspname = '{schema}' AND relname LIKE 'windrow\\_stage%'",
    )
    return [name for (name,) in found]


def sink(url: str, table: str, **how: object):
    """A sink that writes there."""
    return windrow.postgres(url, table=table, **how).sink()


def state_after(epochs) -> Counter:
    """By brute force, what is there after some epochs."""
    there: Counter = Counter()
    for kind, *row in (change for epoch in epochs for change in epoch):
        there[tuple(row)] += SIGNS[kind]
    return +there
