"""Late rows of a stream that stands in UNION ALL beside what has a state of its own."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sessions import session

import windrow

QUERIES = [
    "SELECT DISTINCT k FROM b [RANGE 3] UNION ALL SELECT k FROM a [RANGE 3]",
    "SELECT DISTINCT k FROM (SELECT p.k FROM b p, b q WHERE p.k = q.k WINDOW = 1"
    " UNION ALL SELECT k FROM a) u [RANGE 3]",
    "SELECT DISTINCT k FROM (SELECT k FROM a [RANGE 3] WHERE k > 0 UNION ALL"
    " (SELECT k FROM a [RANGE 3] WHERE k < 0 UNION ALL SELECT DISTINCT k FROM b [RANGE 3])) u",
]


def streams_with_late_rows() -> windrow.Session:
    """Of a stream, row 7 is late when it comes, and row 8 has no time."""
    batches = [([1, 8], [5, None]), ([7], [1]), ([1], [9])]
    tables = [pa.table({"k": k, "at": pa.array(at, pa.int64())}) for k, at in batches]
    return session(
        {"a": tables, "b": [pa.table({"k": [2], "at": [5]}), pa.table({"k": [2], "at": [20]})]},
        time="at",
    )


@pytest.mark.parametrize("sql", QUERIES)
def test_late_rows_of_a_union_are_counted_and_kept_and_not_in_the_answer(sql: str) -> None:
    result = streams_with_late_rows().sql(sql, on_late="keep")
    assert {(row["k"], row["_event_time"]) for row in result.to_arrow().to_pylist()} == {
        *((1, at) for at in (5, 13)),
        *((2, at) for at in (5, 9, 20, 24)),
    }
    assert (result.progress.late, result.progress.null_time) == (1, 1)
    assert [row["k"] for row in result.late["a"].to_pylist()] == [8, 7]


@pytest.mark.parametrize("sql", QUERIES)
def test_late_rows_of_a_union_fail_the_query_that_asks_for_that(sql: str) -> None:
    with pytest.raises(windrow.DataError, match="null-time"):
        streams_with_late_rows().sql(sql, on_late="fail").to_arrow()
