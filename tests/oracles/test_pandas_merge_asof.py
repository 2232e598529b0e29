"""As-of joins of two tables, with the answers of another library's tests.

Of right rows at one time that library takes the last, or looking ahead the first, as they stand in
the table. Here their columns decide: so each right row has its number as its first column.
"""

from __future__ import annotations

import re
from datetime import datetime
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from known_answers import known_answers
from sessions import session

CASES = known_answers("pandas_merge_asof/cases.json")
OPERATORS = {
    ("backward", True): "l.ts >= r.ts",
    ("backward", False): "l.ts > r.ts",
    ("forward", True): "l.ts <= r.ts",
    ("forward", False): "l.ts < r.ts",
    ("nearest", True): "l.ts NEAREST r.ts",
    ("nearest", False): "l.ts NEAREST r.ts AND l.ts <> r.ts",
}
DURATION = re.compile(r"P(\d+)DT(\d+)H(\d+)M([\d.]+)S")
PER_UNIT = 10_000
"""Numbers have at most four decimals: in this unit all are whole."""


def ticks(value: Any) -> int:
    """A number in units of 1/10,000; a time or duration in microseconds."""
    if not isinstance(value, str):
        whole = Fraction(str(value)) * PER_UNIT
        assert whole.denominator == 1
        return int(whole)
    found = DURATION.fullmatch(value)
    if found is not None:
        days, hours, minutes = map(int, found.groups()[:3])
        seconds = 86_400 * days + 3_600 * hours + 60 * minutes
        return seconds * 1_000_000 + int(Fraction(found[4]) * 1_000_000)
    moment = datetime.fromisoformat(value).replace(tzinfo=None) - datetime(1970, 1, 1)  # noqa: DTZ001
    return (moment.days * 86_400 + moment.seconds) * 1_000_000 + moment.microseconds


def table(frame: dict[str, Any], on: str, by: list[str]) -> pa.Table:
    """A row's number, its time and its keys."""
    names, rows = frame["columns"], frame["rows"]
    columns: dict[str, Any] = {"number": list(range(len(rows)))}
    columns["ts"] = [ticks(row[names.index(on)]) for row in rows]
    for i, name in enumerate(by):
        cells = [row[names.index(name)] for row in rows]
        kind = pa.string() if any(isinstance(cell, str) for cell in cells) else pa.int64()
        columns[f"k{i}"] = pa.array(cells, kind)
    return pa.table(columns)


@pytest.mark.parametrize("case", CASES, ids=[f"{i}: {c['id']}" for i, c in enumerate(CASES)])
def test_the_match_of_each_row_is_the_known_one(case: dict[str, Any]) -> None:
    w = session(
        {
            "l": table(case["left"], case["left_on"], case["left_by"]),
            "r": table(case["right"], case["right_on"], case["right_by"]),
        },
        time="ts",
    )
    on = [f"l.k{i} <=> r.k{i}" for i in range(len(case["left_by"]))]
    tolerance = case["tolerance"]
    found = w.sql(
        "SELECT l.number AS l, r.number AS r FROM l LEFT ASOF JOIN r"
        f" MATCH_CONDITION ({OPERATORS[case['direction'], case['allow_exact_matches']]})"
        + (f" ON {' AND '.join(on)}" if on else "")
        + (f" TOLERANCE {ticks(tolerance)}" if tolerance is not None else "")
    )
    matches = {row["l"]: row["r"] for row in found.to_arrow().to_pylist()}
    assert [shown(case, left, matches[left]) for left in sorted(matches)] == case["expected"][
        "rows"
    ]


def shown(case: dict[str, Any], left: int, right: int | None) -> list[Any]:
    """A row of the answer: the left columns, then the right ones of other names."""
    names = case["right"]["columns"]
    cells = [None] * len(names) if right is None else case["right"]["rows"][right]
    own = case["left"]["columns"]
    return case["left"]["rows"][left] + [
        cell for name, cell in zip(names, cells, strict=True) if name not in own
    ]


def test_all_43_cases_of_pandas_are_there() -> None:
    assert len(CASES) == 43
