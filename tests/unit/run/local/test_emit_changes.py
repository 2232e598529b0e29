"""EMIT CHANGES: when combinations come, when they go, and what of that is a change."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from sessions import session

import windrow

Rows = list[tuple[int, str]]


def changes(sql: str, **streams: Rows) -> list[tuple[Any, ...]]:
    """The changelog of a query: instant, kind of change, row."""
    w = session(
        {
            name: pa.table(dict(zip(("ts", "k"), map(list, zip(*rows, strict=True)), strict=True)))
            for name, rows in streams.items()
        },
        time="ts",
    )
    table = w.sql(sql).to_arrow()
    own = [name for name in table.column_names if not name.startswith("_")]
    columns = [table[name].to_pylist() for name in ("_event_time", "_change_type", *own)]
    return list(zip(*columns, strict=True))


def test_a_join_over_one_window_of_five_ticks_as_figure_8_has_it() -> None:
    """The paper's W-Join: one window of five ticks, both sides in turn the outer one.

    What its text says of it holds at every tick: the output of two tuples has the greater of their
    times (maxTS), and stays as long as the older one (minTS) does; an expiring tuple brings no new
    output. Time 8, at which the second column begins, is when the first tuple has expired:

        S    2 a . . . . 7 |        5 a . . . . 10 |
        R        4 a . . . . 9 |              8 a . . . . 13 |
        out      (2,4) . 7 |
                    (5,4) . . 9 |
                                    (5,8) . 10 |
    """
    answer = changes(
        "SELECT s.ts AS s, r.ts AS r FROM s, r WHERE s.k = r.k WINDOW = 5 EMIT CHANGES",
        s=[(2, "a"), (5, "a"), (6, "b")],
        r=[(4, "a"), (8, "a")],
    )
    assert answer == [
        (4, "insert", 2, 4),
        (5, "insert", 5, 4),
        (8, "delete", 2, 4),
        (8, "insert", 5, 8),
        (10, "delete", 5, 4),
        (11, "delete", 5, 8),
    ]
    for instant, kind, s, r in answer:
        assert instant == (max(s, r) if kind == "insert" else min(s, r) + 5 + 1)


def test_a_row_that_goes_as_an_equal_one_comes_is_no_change() -> None:
    sql = "SELECT k FROM s [RANGE 4] EMIT CHANGES"
    assert changes(sql, s=[(0, "a"), (5, "a"), (5, "b")]) == [
        (0, "insert", "a"),
        (5, "insert", "b"),
        (10, "delete", "a"),
        (10, "delete", "b"),
    ]


def test_equal_rows_are_counted() -> None:
    sql = "SELECT k FROM s [RANGE 1] EMIT CHANGES"
    assert changes(sql, s=[(0, "a"), (0, "a"), (1, "a")]) == [
        (0, "insert", "a"),
        (0, "insert", "a"),
        (1, "insert", "a"),
        (2, "delete", "a"),
        (2, "delete", "a"),
        (3, "delete", "a"),
    ]


def test_an_aggregate_is_a_changelog_with_and_without_it() -> None:
    sql = "SELECT k, COUNT(*) AS n FROM s [RANGE 4] GROUP BY k"
    rows: Rows = [(0, "a"), (3, "a")]
    assert changes(f"{sql} EMIT CHANGES", s=rows) == changes(sql, s=rows)


def test_emit_changes_is_about_all_selects_of_a_union() -> None:
    sql = "SELECT k FROM s [RANGE 2] UNION ALL SELECT k FROM r [RANGE 0] EMIT CHANGES"
    assert changes(sql, s=[(0, "a")], r=[(3, "a")]) == [(0, "insert", "a"), (4, "delete", "a")]


@pytest.mark.parametrize(
    "sql",
    [
        "(SELECT k FROM s [RANGE 4]) EMIT CHANGES",
        "WITH q AS (SELECT k FROM s [RANGE 4]) (SELECT k FROM q) EMIT CHANGES",
        "(SELECT k FROM s [RANGE 4]) UNION ALL (SELECT k FROM s [RANGE 1] WHERE k > 'a') EMIT CHANGES",
        "((SELECT k FROM s [RANGE 4] WHERE k > 'a') UNION ALL SELECT k FROM s [RANGE 4]) EMIT CHANGES",
    ],
)
def test_a_query_in_parentheses_may_emit_changes(sql: str) -> None:
    assert changes(sql, s=[(0, "a")]) == [(0, "insert", "a"), (5, "delete", "a")]


def test_parentheses_inside_a_query_may_not() -> None:
    with pytest.raises(windrow.UnsupportedError, match="emit-changes-inside"):
        changes("SELECT k FROM ((SELECT k FROM s [RANGE 4]) EMIT CHANGES) x", s=[(0, "a")])


def test_a_join_of_eleven_streams_is_one_join() -> None:
    names = [f"s{n}" for n in range(11)]
    sources = ", ".join(f"{name} [RANGE {5 + n}]" for n, name in enumerate(names))
    keys = " AND ".join(f"s{n}.k = s{n + 1}.k" for n in range(10))
    sql = f"SELECT s0.ts AS first, s10.ts AS last FROM {sources} WHERE {keys} EMIT CHANGES"
    rows: Rows = [(1, "a"), (2, "b")]
    streams = {name: [*rows, (20, "c")] for name in names} | {"s10": [(4, "a"), (20, "c")]}
    assert changes(sql, **streams) == [
        (4, "insert", 1, 4),
        (7, "delete", 1, 4),
        (20, "insert", 20, 20),
        (26, "delete", 20, 20),
    ]
