"""Streams written as text tables, for tests that show what they feed.

    sales = stream('''
        ts:timestamp        | store | price:decimal(6,2)
        2024-01-01 12:00:00 | a     | 4.50
        2024-01-01 12:00:07 | b     |
    ''')

A column's type is a Spark type after its name, or else what its cells look like: bigint, double,
boolean, string. An empty cell and NULL are NULL, '' is the empty string, and quotes keep anything
a string: '7'. Timestamps are UTC. Lines of dashes are drawing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from windrow.operators.columns.arrow_types import arrow_type

_RULE = re.compile(r"[\s|+-]+")
_WHOLE = re.compile(r"[+-]?\d+")
_TRUTHS = {"true": True, "false": False}
_READERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[str], Any]], ...] = (
    (pa.types.is_integer, int),
    (pa.types.is_floating, float),
    (pa.types.is_decimal, Decimal),
    (pa.types.is_boolean, lambda cell: _TRUTHS[cell.lower()]),
    (pa.types.is_date, date.fromisoformat),
)


def stream(text: str) -> pa.Table:
    """The Arrow table that a text table shows.

    Args:
        text: a header line and one line per row, cells separated by `|`.

    Raises:
        ValueError: a row has more or fewer cells than the header, or a cell does not fit its type.

    Examples:
        >>> stream('''
        ...     k | ts
        ...     a |  7
        ... ''').to_pylist()
        [{'k': 'a', 'ts': 7}]
    """
    lines = list(_lines(text))
    if not lines:
        raise ValueError("a stream table needs a header line")
    header, *rows = lines
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"{len(header)} cells expected: {' | '.join(row)!r}")
    columns = {}
    for place, title in enumerate(header):
        name, _, kind = title.partition(":")
        cells = [row[place] for row in rows]
        target = arrow_type(kind.strip() or _looks_like(cells))
        columns[name.strip()] = pa.array([_value(cell, target) for cell in cells], target)
    return pa.table(columns)


def rows(text: str) -> list[dict[str, Any]]:
    """The rows of a text table as dictionaries, for expected answers."""
    listed: list[dict[str, Any]] = stream(text).to_pylist()
    return listed


def batches(table: pa.Table, sizes: Sequence[int]) -> list[pa.RecordBatch]:
    """The rows cut into batches of the given sizes, the rest in one more."""
    cut: list[pa.RecordBatch] = []
    start = 0
    for size in (*sizes, max(0, table.num_rows - sum(sizes))):
        part = table.slice(start, size).combine_chunks()
        cut += part.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
        start += size
    return cut


def _lines(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.strip() and not _RULE.fullmatch(line):
            yield [cell.strip() for cell in line.split("|")]


def _looks_like(cells: list[str]) -> str:
    """The simplest type that holds every cell."""
    present = [cell for cell in cells if not _is_null(cell)]
    if present and all(_WHOLE.fullmatch(cell) for cell in present):
        return "bigint"
    if present and all(map(_is_number, present)):
        return "double"
    if present and all(cell.lower() in _TRUTHS for cell in present):
        return "boolean"
    return "string"


def _value(cell: str, kind: pa.DataType) -> Any:
    """One cell as a value that Arrow takes for the type."""
    if _is_null(cell):
        return None
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat(cell).replace(tzinfo=UTC if kind.tz else None)
    for applies, read in _READERS:
        if applies(kind):
            return read(cell)
    return _unquoted(cell)


def _is_null(cell: str) -> bool:
    return cell == "" or cell.upper() == "NULL"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _unquoted(cell: str) -> str:
    is_quoted = len(cell) >= 2 and cell[0] == cell[-1] == "'"
    return cell[1:-1].replace("''", "'") if is_quoted else cell
