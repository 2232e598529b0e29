"""Set operations in process: late rows below UNION ALL, hidden keys, aggregates of changelogs."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import windrow
from windrow.errors import DataError


def streams_of_rows(**streams: list):
    """Streams of rows (t, k) in batches of one row each."""
    session = windrow.Session()
    for name, rows in streams.items():
        table = pa.table({"t": [t for t, _ in rows], "k": [k for _, k in rows]})
        reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=1))
        session.stream(name, reader, time="t", lateness=2)
    return session


def changes(table):
    rows = table.to_pylist()
    return [
        (row.pop("_event_time"), "+" if row.pop("_change_type") == "insert" else "-", *row.values())
        for row in rows
    ]


UNION = (
    "SELECT COUNT(*) AS n FROM (SELECT k FROM a [RANGE 3] UNION ALL SELECT k FROM b [RANGE 3]) u"
)


def test_late_rows_below_union_all_are_kept_with_their_stream():
    session = streams_of_rows(a=[(0, 1), (9, 1), (3, 7)], b=[(0, 2), (9, 2), (4, 8)])
    result = session.sql(UNION, on_late="keep")
    result.to_arrow()
    kept = {name: rows.to_pylist() for name, rows in result.late.items()}
    assert kept == {"a": [{"t": 3, "k": 7}], "b": [{"t": 4, "k": 8}]}
    assert result.progress.late == 2


def test_a_late_row_below_union_all_is_fatal_by_choice_and_names_the_streams():
    session = streams_of_rows(a=[(0, 1), (9, 1), (3, 7)], b=[(0, 2), (9, 2)])
    with pytest.raises(DataError) as caught:
        session.sql(UNION, on_late="fail").to_arrow()
    assert caught.value.sentence == "a row of a or b at 3 is late"
    assert "they promise a lateness of 2" in caught.value.reason


def test_equal_rows_of_different_groups_are_counted_and_net():
    # At 2, the group of 1 goes from 1 row to 2 as that of 2 comes: one row (1) goes and comes.
    session = streams_of_rows(a=[(0, 1), (2, 1), (2, 2)])
    found = changes(session.sql("SELECT COUNT(*) AS n FROM a [RANGE 9] GROUP BY k").to_arrow())
    assert found == [
        (0, "+", 1),
        (2, "+", 2),
        (10, "-", 2),
        (10, "+", 1),
        (12, "-", 1),
        (12, "-", 1),
    ]


def test_an_aggregate_of_an_aggregate_follows_it():
    session = streams_of_rows(a=[(0, 1), (1, 2), (2, 2)])
    inner = "SELECT k, COUNT(*) AS n FROM a [RANGE 1] GROUP BY k"
    found = changes(session.sql(f"SELECT SUM(n) AS s, COUNT(*) AS g FROM ({inner}) d").to_arrow())
    assert found == [
        (0, "+", 1, 1),
        (1, "-", 1, 1), (1, "+", 2, 2),
        (2, "-", 2, 2), (2, "+", 2, 1),
        (3, "-", 2, 1), (3, "+", 1, 1),
        (4, "-", 1, 1), (4, "+", None, 0),
    ]  # fmt: skip


def test_a_stream_may_stand_on_both_sides_with_two_windows():
    # What has come within the last 5, but not within the last 2.
    session = streams_of_rows(a=[(0, "x"), (1, "y"), (4, "x")])
    query = "SELECT k FROM a [RANGE 5] EXCEPT SELECT k FROM a [RANGE 2]"
    assert changes(session.sql(query).to_arrow()) == [
        (3, "+", "x"),
        (4, "-", "x"),
        (4, "+", "y"),
        (7, "-", "y"),
        (7, "+", "x"),
        (10, "-", "x"),
    ]


def test_rows_taken_back_are_never_updates_of_one_another():
    session = streams_of_rows(a=[(0, "x"), (1, "y")])
    rows = session.sql("SELECT DISTINCT k FROM a [RANGE 0]", updates=True).to_arrow()
    assert Counter(rows["_change_type"].to_pylist()) == {"insert": 2, "delete": 2}
