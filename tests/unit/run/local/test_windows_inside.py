"""Windows inside derived tables: rows leave by them, whatever joins the table, and beside which window."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from bags import bag

import windrow

SCHEDULINGS = ("tpa", "ita", "nta")
INSIDE = "(SELECT k FROM a [RANGE 5]) q"
UNION = "(SELECT k FROM a [RANGE 5] UNION ALL SELECT k FROM c [RANGE 2]) q"


def streams_of_rows(**streams: list[tuple[int, int]]) -> windrow.Session:
    made = windrow.Session()
    for name, rows in streams.items():
        keys, times = zip(*rows, strict=True)
        made.stream(name, pa.table({"k": list(keys), "t": list(times)}), time="t")
    return made


def changes(answer: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(bag(answer).elements(), key=lambda row: (row[-1], str(row)))


@pytest.mark.parametrize("scheduling", SCHEDULINGS)
@pytest.mark.parametrize("window", ["", "WINDOW (q, r) = 10"])
@pytest.mark.parametrize("kind", ["LEFT", "RIGHT", "FULL"])
def test_a_row_that_has_left_by_its_window_inside_matches_nothing(
    kind: str, window: str, scheduling: str
) -> None:
    made = streams_of_rows(a=[(1, 0), (3, 2), (1, 9)], b=[(1, 8)])
    sql = f"SELECT q.k, r.k AS rk FROM {INSIDE} {kind} JOIN b [RANGE 5] r ON q.k = r.k {window}"
    answer = made.sql(f"{sql} EMIT CHANGES", scheduling=scheduling).to_arrow()
    pairs = [("insert", 1, 1, 9), ("delete", 1, 1, 14)]
    of_left = [
        ("insert", 1, None, 0), ("delete", 1, None, 6), ("insert", 3, None, 2),
        ("delete", 3, None, 8), ("insert", 1, None, 14), ("delete", 1, None, 15),
    ]  # fmt: skip
    of_right = [("insert", None, 1, 8), ("delete", None, 1, 9)]
    alone = {"LEFT": of_left, "RIGHT": of_right, "FULL": of_left + of_right}[kind]
    assert bag(answer) == Counter([*pairs, *alone])


@pytest.mark.parametrize("scheduling", SCHEDULINGS)
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("SEMI", [("insert", 1, 4), ("delete", 1, 6)]),
        ("ANTI", [("insert", 1, 0), ("delete", 1, 4), ("insert", 7, 1), ("delete", 7, 4)]),
    ],
)
def test_rows_of_a_union_leave_each_by_the_window_of_its_stream(
    kind: str, expected: list[tuple[Any, ...]], scheduling: str
) -> None:
    made = streams_of_rows(a=[(1, 0)], c=[(7, 1)], b=[(1, 4), (7, 5)])
    sql = f"SELECT q.k FROM {UNION} LEFT {kind} JOIN b [RANGE 3] r ON q.k = r.k EMIT CHANGES"
    answer = made.sql(sql, scheduling=scheduling).to_arrow()
    assert sorted(changes(answer)) == sorted(expected)


@pytest.mark.parametrize("scheduling", SCHEDULINGS)
def test_a_window_between_streams_is_measured_from_when_rows_came(scheduling: str) -> None:
    made = streams_of_rows(a=[(1, 0)], c=[(1, 1)], b=[(1, 1)])
    nested = "SELECT x.k AS k FROM a [RANGE 2] x, c [RANGE 2] y WHERE x.k = y.k"
    for inside in (nested, f"SELECT k FROM c [RANGE 1] UNION ALL {nested}"):
        sql = f"SELECT COUNT(*) AS n FROM ({inside}) l JOIN b [RANGE 9] r ON l.k = r.k"
        answer = made.sql(f"{sql} WINDOW (l, r) = 1", scheduling=scheduling).to_arrow()
        pairs = 1 if inside == nested else 2
        assert changes(answer) == [
            ("insert", pairs, 1), ("delete", pairs, 3), ("insert", 0, 3),
        ]  # fmt: skip


def test_a_plain_join_reads_a_window_inside_as_one_of_the_stream() -> None:
    made = streams_of_rows(a=[(1, 0)], b=[(1, 4), (1, 6)], c=[(1, 5)])
    for source in (INSIDE, "(SELECT k FROM a [RANGE 5] UNION ALL SELECT k FROM c [RANGE 5]) q"):
        sql = f"SELECT r.t FROM {source}, b [RANGE 5] r WHERE q.k = r.k"
        direct = {INSIDE: [4]}.get(source, [4, 4, 6])
        assert sorted(made.sql(sql).to_arrow()["t"].to_pylist()) == direct
        near = made.sql(f"{sql} WINDOW (q, r) = 10").to_arrow()["t"].to_pylist()
        assert sorted(near) == direct


@pytest.mark.parametrize("scheduling", SCHEDULINGS)
def test_combinations_stay_for_a_second_window_from_when_they_came(scheduling: str) -> None:
    made = streams_of_rows(a=[(1, 0), (2, 0)], b=[(1, 1), (2, 3)])
    inside = "SELECT x.k FROM a [RANGE 2] x, b [RANGE 2] y WHERE x.k = y.k"
    result = made.sql(f"SELECT k FROM ({inside}) q [RANGE 5] EMIT CHANGES", scheduling=scheduling)
    assert changes(result.to_arrow()) == [("insert", 1, 1), ("delete", 1, 7)]
    assert "the windows below say which tuples meet" in made.explain(
        f"SELECT k FROM ({inside}) q [RANGE 5] EMIT CHANGES"
    )


def test_a_window_for_all_is_none_for_what_has_its_own_inside() -> None:
    made = streams_of_rows(a=[(1, 0)], b=[(1, 2)])
    sql = f"SELECT COUNT(*) AS n FROM {INSIDE}, b r WHERE q.k = r.k WINDOW = 9"
    assert changes(made.sql(sql).to_arrow()) == [
        ("insert", 1, 2), ("delete", 1, 6), ("insert", 0, 6),
    ]  # fmt: skip
