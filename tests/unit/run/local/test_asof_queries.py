"""As-of joins within larger queries: whose time is compared, what may lie below and above."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from sessions import session

import windrow
from windrow.errors import DataError, PlanError

LEFT = pa.table({"ts": [1, 5, 9, 12], "k": [1, 1, 2, None], "id": [1, 2, 3, 4]})
RIGHT = pa.table({"ts": [0, 4, 4, 10, 20], "k": [1, 1, 1, 2, 1], "v": [1, 3, 2, 4, 5]})
BACK = "SELECT l.ts AS at, l.k, l.id, r.v FROM l ASOF JOIN r MATCH_CONDITION (l.ts >= r.ts) ON l.k = r.k"


@pytest.fixture
def left_and_right() -> windrow.Session:
    return session({"l": LEFT, "r": RIGHT}, time="ts")


def rows(answer: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in answer.to_arrow().to_pylist())


@pytest.mark.parametrize("time", ["m.at", "m"])
def test_a_derived_table_is_matched_by_the_time_it_hands_on_or_by_its_alias(
    left_and_right: windrow.Session, time: str
) -> None:
    found = left_and_right.sql(
        f"SELECT m.id, m.v, n.v AS next FROM ({BACK}) m ASOF JOIN r n"
        f" MATCH_CONDITION ({time} <= n.ts) ON m.k = n.k"
    )
    assert rows(found) == [(1, 1, 2), (2, 3, 5)]


def test_matches_are_grouped_as_they_come_and_go(left_and_right: windrow.Session) -> None:
    found = left_and_right.sql(f"SELECT m.k, SUM(m.v) AS v FROM ({BACK}) m [RANGE 5] GROUP BY m.k")
    changes = [tuple(row.values()) for row in found.to_arrow().to_pylist()]
    assert changes == [
        (1, 1, "insert", 1),
        (1, 1, "delete", 5),
        (1, 4, "insert", 5),
        (1, 4, "delete", 7),
        (1, 3, "insert", 7),
        (1, 3, "delete", 11),
    ]


def test_where_filters_the_matches_and_on_what_may_match(left_and_right: windrow.Session) -> None:
    query = "SELECT l.id, r.v FROM l LEFT ASOF JOIN r MATCH_CONDITION (l.ts >= r.ts) ON l.k = r.k"
    assert rows(left_and_right.sql(f"{query} AND r.v < 3 WHERE l.id < 3")) == [(1, 1), (2, 2)]
    assert rows(left_and_right.sql(f"{query} WHERE r.v < 3")) == [(1, 1)]


def test_what_waits_for_ever_has_nothing_above_it(left_and_right: windrow.Session) -> None:
    ahead = BACK.replace("ASOF", "LEFT ASOF").replace(">=", "<=")
    with pytest.raises(PlanError) as caught:
        left_and_right.sql(f"SELECT COUNT(*) AS n FROM ({ahead}) m [RANGE 5]")
    assert str(caught.value).splitlines()[0] == (
        "PlanError[unbounded-delay]: what lies above the as-of join of l and r would wait forever"
    )
    assert "TOLERANCE" in caught.value.hint
    bounded = left_and_right.sql(f"SELECT COUNT(*) AS n FROM ({ahead} TOLERANCE 3) m [RANGE 5]")
    assert bounded.to_arrow().num_rows > 0


def test_a_match_at_the_ends_of_time_is_found() -> None:
    far = 2**63 - 10
    w = session({name: {"ts": [-far, 0, far], "id": [1, 2, 3]} for name in ("l", "r")}, time="ts")
    query = "SELECT l.id, r.id AS r FROM l LEFT ASOF JOIN r MATCH_CONDITION (l.ts {} r.ts) {}"
    apart = "NEAREST r.ts AND l.ts <>"
    assert rows(w.sql(query.format(">", ""))) == [(1, None), (2, 1), (3, 2)]
    assert rows(w.sql(query.format("<", "TOLERANCE 5"))) == [(1, None), (2, None), (3, None)]
    assert rows(w.sql(query.format(apart, ""))) == [(1, 2), (2, 1), (3, 2)]


AROUND = """
    SELECT l.ts AS at, l.id, COUNT(*) AS n, SUM(r.v) AS v FROM l WINDOW JOIN r ON l.k = r.k
    RANGE BETWEEN 4 PRECEDING AND 1 FOLLOWING
"""


def test_a_window_join_gives_each_left_row_once_with_what_is_around_it(
    left_and_right: windrow.Session,
) -> None:
    assert rows(left_and_right.sql(AROUND)) == [
        (1, 1, 1, 1),
        (5, 2, 2, 5),
        (9, 3, 1, 4),
        (12, 4, 0, None),
    ]


def test_what_a_window_join_gives_is_joined_and_grouped(left_and_right: windrow.Session) -> None:
    found = left_and_right.sql(
        f"SELECT m.id, m.n, r.v FROM ({AROUND}) m ASOF JOIN r MATCH_CONDITION (m.at > r.ts)"
    )
    assert rows(found) == [(1, 1, 1), (2, 2, 3), (3, 1, 3), (4, 0, 4)]
    found = left_and_right.sql(f"SELECT SUM(m.n) AS n FROM ({AROUND}) m [RANGE 20] EMIT CHANGES")
    last = found.to_arrow().to_pylist()
    assert [row["n"] for row in last if row["_change_type"] == "insert"][:3] == [1, 3, 4]


def test_rows_at_the_ends_of_time_are_counted() -> None:
    far = 2**63 - 10
    w = session({name: {"ts": [-far, 0, far], "id": [1, 2, 3]} for name in ("l", "r")}, time="ts")
    found = w.sql(
        "SELECT l.id, SUM(r.id) AS s FROM l WINDOW JOIN r"
        " RANGE BETWEEN 1000 PRECEDING AND 1000 FOLLOWING"
    )
    assert rows(found) == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("kind", [pa.int64(), pa.decimal128(38, 0)], ids=str)
def test_a_sum_that_outgrows_its_type_fails_where_a_left_row_asks_for_it(kind: pa.DataType) -> None:
    """It failed also where none did."""
    most = 2**63 - 1 if kind == pa.int64() else 10**38 - 1
    right = pa.table({"ts": [1, 2, 9], "v": pa.array([most, most, 5], kind)})
    query = (
        "SELECT l.ts AS at, SUM(r.v) AS s FROM l WINDOW JOIN r"
        " RANGE BETWEEN 2 PRECEDING AND CURRENT ROW"
    )
    answers = []
    for asked in ([1, 4, 10], [1, 3, 10]):
        w = session({"l": {"ts": asked}, "r": right}, time="ts")
        answers.append(w.sql(query))
    assert rows(answers[0]) == [(1, most), (4, most), (10, 5)]
    with pytest.raises(DataError, match="sum-overflow"):
        answers[1].to_arrow()
