"""Streams of changes and count windows in queries: what they give, and what is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sessions import session

import windrow

DOORS = pa.table(
    {
        "door": ["a", "b", "a", "a"],
        "ts": [1, 2, 7, 9],
        "op": ["insert", "insert", "delete", "insert"],
    }
)
NUMBERS = pa.table({"k": [1, 1, 2, 1], "x": [5, 6, 7, 8], "ts": [1, 2, 3, 4]})


def doors_and_numbers(doors: pa.Table = DOORS) -> windrow.Session:
    w = session({"doors": doors}, time="ts", changes="op")
    w.stream("s", NUMBERS, time="ts")
    return w


def changes(sql: str, w: windrow.Session | None = None) -> list[tuple[object, ...]]:
    return [
        tuple(row.values()) for row in (w or doors_and_numbers()).sql(sql).to_arrow().to_pylist()
    ]


def test_rows_go_as_they_are_deleted() -> None:
    assert changes("SELECT door, COUNT(*) AS n FROM doors GROUP BY door") == [
        ("a", 1, "insert", 1),
        ("b", 1, "insert", 2),
        ("a", 1, "delete", 7),
        ("a", 1, "insert", 9),
    ]


def test_rows_go_with_their_window_if_that_is_first() -> None:
    with_window = [("a", "insert", 1), ("b", "insert", 2), ("a", "delete", 5), ("b", "delete", 6)]
    with_window += [("a", "insert", 9), ("a", "delete", 13)]
    assert changes("SELECT DISTINCT door FROM doors [RANGE 3]") == with_window
    assert changes("SELECT DISTINCT door FROM doors WINDOW = 3") == with_window


def test_the_time_column_of_a_row_is_that_of_its_insert() -> None:
    assert changes("SELECT door, ts FROM doors WHERE door = 'a'") == [
        ("a", 1, "insert", 1),
        ("a", 1, "delete", 7),
        ("a", 9, "insert", 9),
    ]


def test_the_column_of_changes_is_no_column_of_the_rows() -> None:
    assert doors_and_numbers().sql("SELECT * FROM doors").to_arrow().column_names == [
        "door",
        "ts",
        "_change_type",
        "_event_time",
    ]


def test_what_a_change_does_must_be_known() -> None:
    doors = DOORS.set_column(2, "op", pa.array(["insert", "insert", "removed", None]))
    with pytest.raises(windrow.DataError, match="unknown-change"):
        changes("SELECT DISTINCT door FROM doors", doors_and_numbers(doors))


def test_a_delete_of_a_row_that_never_came_is_bad_data() -> None:
    doors = DOORS.set_column(0, "door", pa.array(["a", "b", "c", "a"]))
    with pytest.raises(windrow.DataError, match="delete-without-row"):
        changes("SELECT DISTINCT door FROM doors", doors_and_numbers(doors))
    # Within a window it may have expired; before anything has, it cannot have been there.
    with pytest.raises(windrow.DataError, match="a change of doors at 7 deletes a row"):
        changes("SELECT DISTINCT door FROM doors [RANGE 9]", doors_and_numbers(doors))
    assert changes("SELECT DISTINCT door FROM doors [RANGE 5]", doors_and_numbers(doors))


def test_a_delete_that_finds_no_row_says_which_and_what_a_database_has_to_log() -> None:
    rows = pa.table(
        {
            "id": [1, 1],
            "name": ["a", None],
            "at": pa.array([1, 2**62], pa.timestamp("us")),
            "ts": [1, 3],
            "op": ["insert", "delete"],
        }
    )
    w = session({"s": rows}, time="ts", changes="op")
    with pytest.raises(windrow.DataError) as caught:
        w.sql("SELECT id, name, at FROM s").to_arrow()
    assert str(caught.value) == (
        "DataError[delete-without-row]: a change of s at 3 deletes a row that is not there\n"
        "  a delete takes back an equal row, apart from its time, that was inserted at its instant or"
        " before; it deletes s.id=1, s.name=NULL, s.at=a value that Python cannot hold\n"
        "  hint: check that the changelog is complete and starts with its inserts, that none of them"
        " was kept aside, and that a database logs whole rows and not only their keys"
        " (PostgreSQL: REPLICA IDENTITY FULL)"
    )


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("opp", "unknown-changes-column"),
        ("ts", "bad-changes-type"),
    ],
)
def test_the_column_of_changes_is_checked(column: str, message: str) -> None:
    with pytest.raises(windrow.BindError, match=message):
        windrow.Session().stream("doors", DOORS, time="ts", changes=column)


def test_a_stream_of_changes_has_a_time_and_columns_beside_it() -> None:
    with pytest.raises(windrow.BindError, match="changes-without-time"):
        windrow.Session().stream("doors", DOORS, changes="op")
    with pytest.raises(windrow.BindError, match="changes-without-columns"):
        windrow.Session().stream("doors", DOORS.select(["ts", "op"]), time="ts", changes="op")


def test_a_deleted_row_brings_back_one_that_it_had_pushed_out_of_a_count_window() -> None:
    doors = pa.table(
        {
            "door": ["a", "b", "c", "c", "a"],
            "ts": [1, 3, 5, 8, 9],
            "op": ["insert", "insert", "insert", "delete", "delete"],
        }
    )
    assert changes("SELECT door, ts FROM doors [ROWS 2]", doors_and_numbers(doors)) == [
        ("a", 1, "insert", 1),
        ("b", 3, "insert", 3),
        ("a", 1, "delete", 5),
        ("c", 5, "insert", 5),
        ("c", 5, "delete", 8),
        ("a", 1, "insert", 8),
        ("a", 1, "delete", 9),
    ]
    counts = "SELECT COUNT(*) AS n FROM doors [PARTITION BY door ROWS 1]"
    assert changes(counts, doors_and_numbers(doors))[-1] == (1, "insert", 9)


def test_a_count_window_keeps_the_newest_rows() -> None:
    assert changes("SELECT SUM(x) AS t FROM s [ROWS 2]")[-3:] == [
        (13, "insert", 3),
        (13, "delete", 4),
        (15, "insert", 4),
    ]
    assert changes("SELECT k, SUM(x) AS t FROM s [PARTITION BY k ROWS 1] GROUP BY k") == [
        (1, 5, "insert", 1),
        (1, 5, "delete", 2),
        (1, 6, "insert", 2),
        (2, 7, "insert", 3),
        (1, 6, "delete", 4),
        (1, 8, "insert", 4),
    ]


def test_a_join_of_count_windows_takes_rows_back() -> None:
    sql = "SELECT l.x, r.x AS y FROM s [ROWS 1] l, s [ROWS 2] r WHERE l.k = r.k EMIT CHANGES"
    assert changes(sql) == [
        (5, 5, "insert", 1),
        (5, 5, "delete", 2),
        (6, 5, "insert", 2),
        (6, 6, "insert", 2),
        (6, 5, "delete", 3),
        (6, 6, "delete", 3),
        (7, 7, "insert", 3),
        (7, 7, "delete", 4),
        (8, 8, "insert", 4),
    ]


def test_a_condition_is_asked_of_what_the_window_holds() -> None:
    assert changes("SELECT COUNT(*) AS n FROM s [ROWS 1] WHERE x > 6")[-1] == (1, "insert", 3)


def test_a_delete_of_a_row_that_has_left_its_window_leaves_a_later_equal_row_alone() -> None:
    doors = pa.table({"door": ["a"] * 3, "ts": [3, 8, 8], "op": ["insert", "delete", "insert"]})
    found = changes("SELECT door FROM doors [RANGE 3]", doors_and_numbers(doors))
    assert found == [
        ("a", "insert", 3),
        ("a", "delete", 7),
        ("a", "insert", 8),
        ("a", "delete", 12),
    ]


def test_the_delete_of_a_late_row_is_late_as_well() -> None:
    batches = [
        pa.table({"door": [door], "ts": [ts], "op": [op]})
        for door, ts, op in [("a", 9, "insert"), ("b", 3, "insert"), ("b", 12, "delete")]
    ]
    w = session({"doors": batches}, time="ts", changes="op")
    result = w.sql("SELECT door FROM doors")
    assert result.to_arrow().to_pylist() == [
        {"door": "a", "_change_type": "insert", "_event_time": 9}
    ]
    assert result.progress.late == 2


def test_a_row_that_comes_and_goes_at_one_instant_was_never_there() -> None:
    """An aggregate of a feed and one of its net changes are the same, from their first row on."""
    feed = [("a", 1, "insert"), ("a", 1, "delete"), ("b", 4, "insert")]
    columns = [list(column) for column in zip(*feed, strict=True)]
    doors = pa.table(dict(zip(("door", "ts", "op"), columns, strict=True)))
    for sql in ("SELECT COUNT(*) AS n FROM doors", "SELECT COUNT(*) AS n FROM doors [ROWS 1]"):
        assert changes(sql, doors_and_numbers(doors)) == [(1, "insert", 4)]
        assert changes(sql, doors_and_numbers(doors.slice(2))) == [(1, "insert", 4)]
