"""Rows of an answer as a table for people."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from rich.console import Group, JustifyMethod
from rich.table import Table
from rich.text import Text

from windrow.run.terminal import visible_line


def readable(rows: pa.Table, *, total: int | None = None, title: str | None = None) -> Group:
    """Rows as a table for people, on a `Terminal`; the line below says how many there are in all."""
    total = rows.num_rows if total is None else total
    more = f", {rows.num_rows} shown" if total > rows.num_rows else ""
    shown = Table(title=title, title_justify="left")
    for field in rows.schema:
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        is_number = is_number or pa.types.is_decimal(field.type)
        justify: JustifyMethod = "right" if is_number else "left"
        # What does not fit goes on in the next line: nothing of a value is lost.
        shown.add_column(visible_line(field.name), justify=justify, overflow="fold")
    for row in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        shown.add_row(*map(_cell, row))
    return Group(shown, Text(f"{total:,} rows{more}"))


def _cell(value: Any) -> str:
    # Instants are all in UTC; saying so in every cell makes the table hard to read.
    text = "NULL" if value is None else show_value(value).removesuffix("+00:00")
    return visible_line(text)


def show_value(value: Any) -> str:
    """A value as people read it: floats short, instants with a blank between day and time."""
    if isinstance(value, float):
        return f"{value:.10g}"
    if hasattr(value, "isoformat"):
        return str(value.isoformat(sep=" ") if hasattr(value, "hour") else value.isoformat())
    return str(value)
