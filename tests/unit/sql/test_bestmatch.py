from __future__ import annotations

import math

import pytest

from windrow.plan.nodes.base import Equality
from windrow.plan.nodes.bestmatch_join import BestmatchJoin, Dimension
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.scan import Scan

MINUTE = 60_000_000
ON = "ON t.ts MINDIST h.ts, t.x MINDIST h.x, t.y MINDIST h.y"


def match_of(query) -> BestmatchJoin:
    return next(node for node in query.root.walk() if isinstance(node, BestmatchJoin))


def match(compiled, tail: str, on: str = ON, kind: str = "LEFT OUTER") -> BestmatchJoin:
    return match_of(
        compiled(f"SELECT t.x FROM temperature t {kind} BESTMATCH JOIN humidity h {on} {tail}")
    )


def test_the_bestmatch_join_of_the_readme(compiled):
    join = match(
        compiled,
        "WHERE abs(t.ts - h.ts) <= INTERVAL '10' MINUTES AND abs(t.x - h.x) <= 100"
        " AND abs(t.y - h.y) <= 100",
    )
    assert join.kind == "left outer"
    assert join.dimensions == (
        Dimension("t.ts", "h.ts", "mindist", 10 * MINUTE, is_time=True),
        Dimension("t.x", "h.x", "mindist", 100),
        Dimension("t.y", "h.y", "mindist", 100),
    )
    assert (join.lo, join.hi) == (10 * MINUTE, 10 * MINUTE)
    assert join.equalities == ()
    assert not join.keep_unmatched
    assert isinstance(join.left, Scan)
    assert isinstance(join.right, Scan)


def test_within_is_the_same_constraint(compiled):
    on = "ON t.ts MINDIST h.ts WITHIN INTERVAL 10 MINUTES, t.x MINDIST h.x WITHIN 0.5"
    join = match(compiled, "", on, kind="left")
    assert [d.eps for d in join.dimensions] == [10 * MINUTE, 0.5]


def test_sides_may_be_written_either_way_round(compiled):
    join = match(
        compiled,
        "WHERE INTERVAL 1 MINUTE >= abs(h.ts - t.ts) AND 7 >= abs((h.x) - t.x)",
        "ON h.ts MINDIST t.ts, h.x MINDIST t.x",
    )
    assert [(d.left, d.right, d.eps) for d in join.dimensions] == [
        ("t.ts", "h.ts", MINUTE),
        ("t.x", "h.x", 7),
    ]


@pytest.mark.parametrize(
    ("condition", "bounds"),
    [
        ("h.ts BETWEEN t.ts - INTERVAL 1 MINUTE AND t.ts + INTERVAL 2 MINUTES", (1, 2)),
        ("h.ts BETWEEN t.ts - INTERVAL 1 MINUTE AND t.ts", (1, 0)),
        ("h.ts <= t.ts + INTERVAL 2 MINUTES AND t.ts <= h.ts + INTERVAL 3 MINUTES", (3, 2)),
    ],
)
def test_time_bounds_may_differ_between_before_and_after(compiled, condition, bounds):
    join = match(compiled, f"WHERE {condition}")
    assert (join.lo, join.hi) == tuple(minutes * MINUTE for minutes in bounds)
    assert join.dimensions[0].eps is None


def test_a_window_clause_bounds_the_time(compiled):
    join = match(compiled, "DWINDOW (t, h) = INTERVAL 5 MINUTES")
    assert (join.lo, join.hi) == (0, 5 * MINUTE)


def test_time_need_not_be_a_dimension(compiled):
    join = match(compiled, "WINDOW = INTERVAL 5 MINUTES", "ON t.x MINDIST h.x")
    assert [d.is_time for d in join.dimensions] == [False]
    assert (join.lo, join.hi) == (5 * MINUTE, 5 * MINUTE)


@pytest.mark.parametrize("place", ["after the list", "at the end"])
def test_keep_unmatched_is_read_in_both_places(compiled, place):
    where = "WHERE abs(t.ts - h.ts) <= INTERVAL 1 MINUTE"
    tail = f"KEEP UNMATCHED {where}" if place == "after the list" else f"{where} keep unmatched"
    assert match(compiled, tail).keep_unmatched


BOUND = "abs(t.ts - h.ts) <= INTERVAL 1 MINUTE"


def test_conditions_of_on_about_one_side_choose_candidates_below(compiled):
    on = f"{ON} AND {BOUND} AND t.id = h.id AND h.value > 3 AND t.value < 4 AND h.y <> 0"
    join = match(compiled, "", on)
    assert join.equalities == (Equality("t.id", "h.id", "int"),)
    assert isinstance(join.left, Filter)
    assert [p.spark for p in join.left.predicates] == ["`t.value` < 4"]
    assert isinstance(join.right, Filter)
    assert [p.spark for p in join.right.predicates] == ["`h.value` > 3", "`h.y` <> 0"]


def test_conditions_of_where_about_one_side_filter_the_answer(compiled):
    query = compiled(
        f"SELECT t.x FROM temperature t LEFT BESTMATCH JOIN humidity h {ON}"
        f" WHERE {BOUND} AND t.id = h.id AND h.value > 3 AND t.value < 4"
    )
    assert isinstance(query.root.input, Filter)
    assert [p.spark for p in query.root.input.predicates] == ["`h.value` > 3", "`t.value` < 4"]
    join = query.root.input.input
    assert isinstance(join.left, Scan)
    assert isinstance(join.right, Scan)


def test_a_condition_of_on_about_a_kept_side_is_a_dimension_in_which_all_are_as_good(compiled):
    on = f"{ON} AND {BOUND} AND t.value < 4 AND h.value > 3"
    join = match(compiled, "KEEP UNMATCHED", on)
    assert [d.is_condition for d in join.dimensions] == [False, False, False, True]
    assert join.dimensions[-1].text == "t.value < 4"
    assert isinstance(join.left, Project)
    assert isinstance(join.right.input, Filter)  # of the other side rows may go


def test_a_computed_dimension_becomes_a_column_below(compiled):
    join = match(
        compiled,
        "WHERE abs(t.x * 2 - h.x) <= 9 WINDOW = INTERVAL 1 MINUTE",
        "ON t.x * 2 MINDIST h.x",
    )
    assert join.dimensions == (Dimension("t.$dim0", "h.x", "mindist", 9),)
    assert isinstance(join.left, Project)
    assert join.left.items[-1].expr.spark == "`t.x` * 2"


def test_a_strict_limit_is_the_next_smaller_distance(compiled):
    where = "WHERE abs(t.x - h.x) < 100 AND abs(t.id - h.id) < 3 WINDOW = INTERVAL 1 MINUTE"
    join = match(compiled, where, "ON t.x MINDIST h.x, t.id MINDIST h.id")
    assert [d.eps for d in join.dimensions] == [math.nextafter(100.0, 0.0), 2]


@pytest.mark.parametrize(
    ("limit", "eps"),
    [("< 1", "0.9"), ("< 0.95", "0.9"), ("< 0", "-0.1"), ("<= 0.12345678901234567", None)],
)
def test_a_limit_on_decimals_is_exact(compiled, limit, eps):
    join = match_of(
        compiled(
            "SELECT q.k FROM tocks p LEFT BESTMATCH JOIN tocks q ON p.u MINDIST q.u"
            f" WHERE abs(p.u - q.u) {limit} WINDOW = 5"
        )
    )
    assert str(join.dimensions[0].eps) == (eps or limit.removeprefix("<= "))


def test_a_limit_beyond_every_double_is_none(compiled):
    where = "WHERE abs(t.x - h.x) <= 1e309 AND abs(t.y - h.y) < 1e309 WINDOW = INTERVAL 1 MINUTE"
    join = match(compiled, where, "ON t.x MINDIST h.x, t.y MINDIST h.y")
    assert [d.eps for d in join.dimensions] == [None, math.nextafter(math.inf, 0.0)]


def test_a_derived_bestmatch_join_is_aggregated_and_joined(compiled):
    inner = (
        "(SELECT t.id, h.value FROM temperature t LEFT BESTMATCH JOIN humidity h"
        " ON t.ts MINDIST h.ts WITHIN INTERVAL 1 MINUTE) m"
    )
    aggregate = compiled(
        f"SELECT m.id, AVG(m.value) AS v FROM {inner} [RANGE INTERVAL 1 HOUR] GROUP BY m.id"
    )
    assert aggregate.is_changelog
    assert match_of(aggregate).hi == MINUTE
    joined = compiled(f"SELECT m.id FROM {inner}, a WHERE m.id = a.k WINDOW = INTERVAL 1 HOUR")
    assert not joined.is_changelog
    assert match_of(joined).hi == MINUTE


@pytest.mark.parametrize("kind", ["left outer", "right outer", "full outer"])
def test_the_side_says_whose_best_pairs_are_kept(compiled, kind):
    where = "WHERE abs(t.ts - h.ts) <= INTERVAL 1 MINUTE"
    assert match(compiled, where, kind=kind).kind == kind
    assert match(compiled, where, kind=kind.removesuffix(" outer").upper()).kind == kind
