"""WITH: which names its queries may read, and which they may have."""

from __future__ import annotations

import pytest
from sessions import session

import windrow


def rows(sql: str) -> list[int]:
    w = session({"a": {"k": [1, 2], "at": [1, 2]}}, time="at")
    return [row["k"] for row in w.sql(sql).to_arrow().to_pylist()]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("WITH a AS (SELECT k + 10 AS k FROM a) SELECT k FROM a", [11, 12]),
        ("WITH a AS (SELECT k + 10 AS k FROM a), b AS (SELECT k FROM a) SELECT k FROM b", [11, 12]),
        ("WITH b AS (SELECT k FROM a), a AS (SELECT k + 10 AS k FROM a) SELECT k FROM b", [1, 2]),
        (
            "WITH q AS (SELECT k + 10 AS k FROM a) SELECT k FROM"
            " (WITH q AS (SELECT k + 10 AS k FROM q) SELECT k FROM q) x",
            [21, 22],
        ),
        ("WITH a AS (SELECT k FROM a [RANGE 9]) SELECT DISTINCT k FROM a WHERE k = 1", [1, 1]),
    ],
)
def test_a_query_of_with_reads_those_before_it(sql: str, expected: list[int]) -> None:
    assert rows(sql) == expected


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("WITH q AS (SELECT k FROM q) SELECT k FROM q", "no stream named 'q'"),
        ("WITH p AS (SELECT k FROM q), q AS (SELECT k FROM a) SELECT k FROM p", "no stream named"),
        ("WITH q AS (SELECT k FROM a), Q AS (SELECT 1 AS k FROM a) SELECT k FROM q", "name-twice"),
        ("WITH q(z) AS (SELECT k FROM a) SELECT k FROM q", "column-aliases"),
    ],
)
def test_other_names_are_refused(sql: str, error: str) -> None:
    with pytest.raises(windrow.WindrowError, match=error):
        rows(sql)
