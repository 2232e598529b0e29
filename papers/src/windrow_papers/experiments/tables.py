"""Tables of results: named columns, a row per measurement, written as CSV and into JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

Value = str | int | float


@dataclass(frozen=True)
class Table:
    """Rows under named columns.

    Attributes:
        columns: their names.
        rows: a value per column each.
        brief: the columns that fit a terminal; all where none are named.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    brief: tuple[str, ...] = ()

    def csv(self) -> str:
        """The table as CSV, a header first."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([as_text(value) for value in row] for row in self.rows)
        return out.getvalue()

    def as_dict(self) -> dict[str, object]:
        """The table for JSON, figures rounded as in the CSV."""
        rows = [[_rounded(value) for value in row] for row in self.rows]
        return {"columns": list(self.columns), "rows": rows}


def table(
    columns: Sequence[str], rows: Sequence[Sequence[Value]], brief: Sequence[str] = ()
) -> Table:
    """A table; every row has a value for every column."""
    made = tuple(tuple(row) for row in rows)
    assert all(len(row) == len(columns) for row in made), "a row does not fit its columns"
    return Table(tuple(columns), made, tuple(brief))


def as_text(value: Value) -> str:
    """A value as tables show it: four significant digits, whole numbers whole."""
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
    return str(value)


def _rounded(value: Value) -> Value:
    return float(as_text(value)) if isinstance(value, float) else value
