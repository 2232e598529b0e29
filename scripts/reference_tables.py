"""Writes the tables of docs/reference that follow from what the source has: aggregates, options.

    python scripts/reference_tables.py

A table stands between two comments, which name it; a test compares the pages with the source.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from windrow.physical.options import ROWS
from windrow.plan.aggregates import all_aggregates
from windrow.plan.aggregates.function import AggregateFunction, DistinctRule

REFERENCE = Path(__file__).parents[1] / "docs/reference"

_OF_DISTINCT = {
    DistinctRule.once: "equal values count once",
    DistinctRule.same: "the same",
    DistinctRule.refused: "not supported",
}


def aggregates() -> str:
    """A row for each aggregate."""
    rows = [
        f"| {_names(each)} | {_taken(each)} | {each.says} | {_OF_DISTINCT[each.distinct]} |"
        for each in all_aggregates()
    ]
    head = ["| aggregate | of | gives | with `DISTINCT` |", "|---|---|---|---|"]
    return "\n".join(head + rows)


def _names(function: AggregateFunction) -> str:
    if function.counts_rows:
        return "`COUNT(*)`, `COUNT(x)`, `COUNT(x, y, ..)`"
    own = function.usage if len(function.takes) > 1 else function.name.upper()
    return " = ".join(f"`{name}`" for name in (own, *map(str.upper, function.aliases)))


def _taken(function: AggregateFunction) -> str:
    return ", and ".join(dict.fromkeys(argument.words for argument in function.takes))


def options() -> str:
    """A row for each option of a query."""
    rows = [f"| `{name}` | {row.says} | {row.unset} |" for name, row in ROWS.items()]
    head = ["| option | meaning | default |", "|---|---|---|"]
    return "\n".join(head + rows).replace("|  |", "| |")


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "aggregates": ("sql.md", aggregates),
    "options": ("options.md", options),
}
"""Each table with the page that it stands on."""


def written(page: str, text: str) -> str:
    """The text of a page with its tables as they ought to be."""
    for name, (own, table) in TABLES.items():
        if own == page:
            begin, end = (
                f"<!-- {name}: by scripts/reference_tables.py -->",
                f"<!-- end of {name} -->",
            )
            between = re.compile(f"(?<={re.escape(begin)}\n).*(?={re.escape(end)})", re.DOTALL)
            if not between.search(text):
                raise ValueError(f"{page} has no place for the table {name}: {begin} .. {end}")
            text = between.sub(lambda _, table=table: f"\n{table()}\n\n", text)
    return text


if __name__ == "__main__":
    for page in sorted({page for page, _ in TABLES.values()}):
        place = REFERENCE / page
        place.write_text(written(page, place.read_text()))
