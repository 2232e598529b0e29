"""Every way to state a window, as the bound it means: t(right) - t(left) in [-lo, hi]."""

from __future__ import annotations

import pytest
from plans import join_of

from windrow.plan.windows import UNBOUNDED

SECOND = 1_000_000


def stated(query) -> list[tuple[str, str, int, int]]:
    graph = join_of(query).graph
    return [(graph.streams[b.left], graph.streams[b.right], b.lo, b.hi) for b in graph.stated]


@pytest.mark.parametrize(
    ("clause", "bounds"),
    [
        ("WINDOW = INTERVAL '5' SECONDS", [("a", "b", 5 * SECOND, 5 * SECOND)]),
        ("WINDOW = INTERVAL 5 SECONDS", [("a", "b", 5 * SECOND, 5 * SECOND)]),
        ("window = interval '5 seconds'", [("a", "b", 5 * SECOND, 5 * SECOND)]),
        ("WINDOW = INTERVAL '1 minute 5 seconds'", [("a", "b", 65 * SECOND, 65 * SECOND)]),
        (
            "WINDOW = INTERVAL '1' MINUTE + INTERVAL '5' SECONDS",
            [("a", "b", 65 * SECOND, 65 * SECOND)],
        ),
        ("WINDOW = INTERVAL '0' SECONDS", [("a", "b", 0, 0)]),
        ("WINDOW (a, b) = INTERVAL '5' SECONDS", [("a", "b", 5 * SECOND, 5 * SECOND)]),
        ("WINDOW (b, a) = INTERVAL '5' SECONDS", [("b", "a", 5 * SECOND, 5 * SECOND)]),
        ("DWINDOW (a, b) = INTERVAL '5' SECONDS", [("a", "b", 0, 5 * SECOND)]),
        ("dwindow (B, A) = INTERVAL '5' SECONDS", [("b", "a", 0, 5 * SECOND)]),
        (
            "WINDOW (a, b) BETWEEN INTERVAL 1 SECOND PRECEDING AND INTERVAL 2 SECONDS FOLLOWING",
            [("a", "b", SECOND, 2 * SECOND)],
        ),
        (
            "WINDOW (a, b) BETWEEN 0 PRECEDING AND INTERVAL '2 seconds' FOLLOWING",
            [("a", "b", 0, 2 * SECOND)],
        ),
        (
            "WINDOW (a, b) BETWEEN INTERVAL 9 SECONDS PRECEDING AND INTERVAL 5 SECONDS PRECEDING",
            [("a", "b", 9 * SECOND, -5 * SECOND)],
        ),
        (
            "WINDOW (a, b) BETWEEN INTERVAL 5 SECONDS FOLLOWING AND INTERVAL 9 SECONDS FOLLOWING",
            [("a", "b", -5 * SECOND, 9 * SECOND)],
        ),
    ],
)
def test_a_window_clause_means_its_bound(compiled, clause, bounds):
    query = compiled(f"SELECT a.k FROM a, b WHERE a.k = b.k {clause}")
    assert stated(query) == bounds


@pytest.mark.parametrize(
    ("condition", "bounds"),
    [
        (
            "b.ts BETWEEN a.ts - INTERVAL 1 SECOND AND a.ts + INTERVAL 2 SECONDS",
            [("a", "b", SECOND, 2 * SECOND)],
        ),
        ("b.ts <= a.ts + INTERVAL 2 SECONDS", [("a", "b", UNBOUNDED, 2 * SECOND)]),
        ("b.ts < a.ts + INTERVAL 2 SECONDS", [("a", "b", UNBOUNDED, 2 * SECOND - 1)]),
        ("b.ts >= a.ts - INTERVAL 2 SECONDS", [("a", "b", 2 * SECOND, UNBOUNDED)]),
        ("b.ts > a.ts - INTERVAL 2 SECONDS", [("a", "b", 2 * SECOND - 1, UNBOUNDED)]),
        ("a.ts + INTERVAL 2 SECONDS >= b.ts", [("b", "a", 2 * SECOND, UNBOUNDED)]),
        ("b.ts - INTERVAL 2 SECONDS <= a.ts", [("a", "b", UNBOUNDED, 2 * SECOND)]),
        ("b.ts - a.ts <= INTERVAL 2 SECONDS", [("a", "b", UNBOUNDED, 2 * SECOND)]),
        ("INTERVAL 2 SECONDS > b.ts - a.ts", [("b", "a", 2 * SECOND - 1, UNBOUNDED)]),
        ("(b.ts) - (INTERVAL 2 SECONDS) = a.ts", [("a", "b", -2 * SECOND, 2 * SECOND)]),
        ("b.ts = a.ts", [("a", "b", 0, 0)]),
        ("abs(a.ts - b.ts) <= INTERVAL 3 SECONDS", [("b", "a", 3 * SECOND, 3 * SECOND)]),
        ("abs(a.ts - b.ts) < INTERVAL 3 SECONDS", [("b", "a", 3 * SECOND - 1, 3 * SECOND - 1)]),
        ("INTERVAL 3 SECONDS >= ABS(a.ts - b.ts)", [("b", "a", 3 * SECOND, 3 * SECOND)]),
        (
            "abs(a.ts - b.ts + INTERVAL 1 SECOND) <= INTERVAL 3 SECONDS",
            [("b", "a", 4 * SECOND, 2 * SECOND)],
        ),
    ],
)
def test_a_plain_condition_on_time_means_its_bound(compiled, condition, bounds):
    # The second clause closes one-sided bounds, so that the query is accepted.
    query = compiled(
        f"SELECT a.k FROM a, b WHERE a.k = b.k AND {condition} WINDOW = INTERVAL '1' DAY"
    )
    assert [bound for bound in stated(query) if bound[2:] != (86400 * SECOND,) * 2] == bounds
    assert not [node for node in query.root.walk() if type(node).__name__ == "Filter"]


@pytest.mark.parametrize(
    "condition",
    [
        "a.ts > TIMESTAMP '2024-01-01 00:00:00'",
        "a.ts + INTERVAL 1 SECOND < a.ts + INTERVAL 2 SECONDS",
        "b.ts <= a.ts + INTERVAL 1 SECOND * a.x",
        "b.ts <= a.ts OR a.x = 1",
        "NOT b.ts <= a.ts",
        "date_trunc('hour', b.ts) <= a.ts",
        "b.ts <> a.ts",
    ],
)
def test_any_other_condition_on_time_is_a_predicate(compiled, condition):
    query = compiled(f"SELECT a.k FROM a, b WHERE {condition} WINDOW = INTERVAL 1 SECOND")
    assert stated(query) == [("a", "b", SECOND, SECOND)]
    filters = [node for node in query.root.walk() if type(node).__name__ == "Filter"]
    assert [p.text for node in filters for p in node.predicates] == [condition]


def test_one_range_per_stream_reaches_as_far_as_each_stays_alive(compiled):
    query = compiled(
        "SELECT x.k FROM a [RANGE INTERVAL '1' HOUR] AS x, b y [RANGE INTERVAL '1' MINUTE]"
    )
    assert stated(query) == [("x", "y", 60 * SECOND, 3600 * SECOND)]
    assert join_of(query).graph.stated[0].text == (
        "x [RANGE INTERVAL '1' HOUR], y [RANGE INTERVAL '1' MINUTE]"
    )


def test_a_range_on_one_stream_bounds_one_side(compiled):
    query = compiled("SELECT a.k FROM a [RANGE INTERVAL 9 SECONDS], b WHERE b.ts >= a.ts")
    assert stated(query) == [("a", "b", UNBOUNDED, 9 * SECOND), ("a", "b", 0, UNBOUNDED)]


def test_all_ways_mix_in_one_query(compiled):
    query = compiled(
        """
        SELECT a.k FROM a [RANGE INTERVAL 7 SECONDS] JOIN b ON b.ts >= a.ts AND a.k = b.k,
          c, d
        WHERE a.k = c.k AND WINDOW (b, c) = INTERVAL 2 SECONDS
        DWINDOW (c, d) = INTERVAL 3 SECONDS, WINDOW (a, d) BETWEEN INTERVAL 1 SECOND PRECEDING
          AND INTERVAL 4 SECONDS FOLLOWING
        """
    )
    assert set(stated(query)) == {
        ("a", "b", UNBOUNDED, 7 * SECOND),
        ("a", "c", UNBOUNDED, 7 * SECOND),
        ("a", "d", UNBOUNDED, 7 * SECOND),
        ("a", "b", 0, UNBOUNDED),
        ("b", "c", 2 * SECOND, 2 * SECOND),
        ("c", "d", 0, 3 * SECOND),
        ("a", "d", SECOND, 4 * SECOND),
    }


def test_windows_are_joined_by_and_by_commas_or_by_nothing(compiled):
    for separator in (" AND ", ", ", " "):
        clauses = separator.join(
            ["WINDOW (a, b) = INTERVAL 1 SECOND", "DWINDOW (b, c) = INTERVAL 2 SECONDS"]
        )
        assert stated(compiled(f"SELECT a.k FROM a, b, c {clauses}")) == [
            ("a", "b", SECOND, SECOND),
            ("b", "c", 0, 2 * SECOND),
        ]


def test_a_window_may_stand_in_on(compiled):
    query = compiled(
        "SELECT a.k FROM a JOIN b ON a.x = b.x AND DWINDOW (a, b) = INTERVAL 1 SECOND"
        " JOIN c ON abs(c.at - b.ts) <= INTERVAL 2 SECONDS"
    )
    assert stated(query) == [("a", "b", 0, SECOND), ("b", "c", 2 * SECOND, 2 * SECOND)]


def test_between_two_other_streams_is_two_bounds(compiled):
    query = compiled(
        "SELECT a.k FROM a, b, c WHERE b.ts BETWEEN a.ts AND c.at WINDOW = INTERVAL 1 SECOND"
    )
    assert stated(query)[3:] == [("a", "b", 0, UNBOUNDED), ("c", "b", UNBOUNDED, 0)]


def test_a_uniform_window_bounds_every_pair(compiled):
    graph = join_of(compiled("SELECT a.k FROM a, b, c, d WINDOW = INTERVAL 1 SECOND")).graph
    assert graph.form == "uniform clique"
    assert len(graph.stated) == 6


def test_bigint_time_is_counted_in_bare_numbers(compiled):
    query = compiled(
        "SELECT p.k FROM ticks p, tocks q WHERE q.t <= p.t + 10 AND q.t > p.t - 3 WINDOW = 100"
    )
    assert stated(query) == [
        ("p", "q", 100, 100),
        ("p", "q", UNBOUNDED, 10),
        ("p", "q", 2, UNBOUNDED),
    ]
    assert query.time_type == "bigint"


def test_date_time_is_counted_in_days(compiled):
    query = compiled(
        "SELECT p.k FROM days p, nights q WHERE q.day <= p.day + 3 WINDOW = INTERVAL '2' WEEKS"
    )
    assert stated(query) == [("p", "q", 14, 14), ("p", "q", UNBOUNDED, 3)]
    assert query.time_type == "date"


def test_sparks_own_window_function_stays_a_function(refused):
    error = refused("SELECT a.k FROM a WHERE window(a.ts, '1 hour') IS NOT NULL")
    assert error.condition == "bad-expression"
