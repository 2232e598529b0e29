"""Conditions beside a bestmatch join: in ON they choose candidates, in WHERE they filter pairs."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from bags import bag
from cases import draw_bestmatch
from cases.in_process import session_of
from sessions import session

from windrow.optimize import planner as optimizer
from windrow.optimize.rules import push_filters

ROWS = {
    "l": {"ts": [1, 5], "id": [1, 2], "x": [1.0, 7.0]},
    "r": {"ts": [1, 2], "id": [1, 2], "x": [1.0, 1.2]},
}
LEFT = "LEFT OUTER BESTMATCH JOIN"
NEAR = "ON l.x MINDIST r.x WITHIN 0.5"


@pytest.fixture
def two_streams():
    return session({name: pa.table(rows) for name, rows in ROWS.items()}, time="ts")


def pairs(w, join):
    rows = w.sql(f"SELECT l.id AS a, r.id AS b FROM {join}").to_arrow()
    return Counter(zip(rows["a"].to_pylist(), rows["b"].to_pylist(), strict=True))


def test_where_looks_for_tuples_without_a_candidate(two_streams):
    kept = f"l {LEFT} r {NEAR} KEEP UNMATCHED WHERE r.id IS NULL WINDOW = 5"
    assert pairs(two_streams, kept) == Counter([(2, None)])


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("r.id > 1", [(1, 2), (2, None)]),
        ("l.id > 1", [(1, None), (2, None)]),
        ("l.id < 2 AND r.id < 2", [(1, 1), (2, None)]),
        ("(l.id > 1 OR l.ts = 1)", [(1, 1), (2, None)]),
        ("1 = 0", [(1, None), (2, None)]),
        ("l.id = r.id", [(1, 1), (2, None)]),
    ],
)
def test_a_condition_of_on_decides_what_is_a_candidate(two_streams, condition, found):
    kept = f"l {LEFT} r {NEAR} AND {condition} KEEP UNMATCHED WINDOW = 5"
    assert pairs(two_streams, kept) == Counter(found)
    absent = f"l {LEFT} r {NEAR} AND {condition} WINDOW = 5"
    assert pairs(two_streams, absent) == Counter(pair for pair in found if pair[1] is not None)


def test_pairs_that_a_pair_which_is_not_shown_dominates_do_not_come_up_in_its_place(two_streams):
    assert pairs(two_streams, f"l {LEFT} r {NEAR} WHERE r.id > 1 WINDOW = 5") == Counter()
    plain = "SELECT l.id AS a, r.id AS b FROM l BESTMATCH JOIN r ON l.x MINDIST r.x"
    assert two_streams.sql(f"{plain} WHERE r.id > 1 WINDOW = 5").to_arrow().num_rows == 0
    assert two_streams.sql(f"{plain} AND r.id > 1 WINDOW = 5").to_arrow().num_rows == 1


def test_conditions_alone_in_time_need_no_other_dimension(two_streams):
    join = f"l {LEFT} r ON l.ts YOUNGEST r.ts AND l.id = 1 KEEP UNMATCHED WINDOW = 5"
    assert pairs(two_streams, join) == Counter([(1, 2), (2, None)])


def test_tuples_of_one_time_and_value_of_which_on_takes_one_are_told_apart():
    same = pa.table({"ts": [1, 1], "id": [1, 2], "x": [0, 0]})
    w = session({"l": same, "r": same}, time="ts")
    changes = w.sql(
        f"SELECT l.id AS a, r.id AS b FROM l [RANGE 3] {LEFT} r [RANGE 3] ON l.x MINDIST r.x"
        " AND l.id = 1 KEEP UNMATCHED"
    ).to_arrow()
    alive = w.state_at(changes, 2).to_pylist()
    assert bag(map(dict.values, alive)) == Counter([(1, 1), (1, 2), (2, None)])


def test_explain_shows_what_on_says_of_a_kept_side(two_streams):
    query = f"SELECT l.id FROM l {LEFT} r {NEAR} AND l.id > 1 KEEP UNMATCHED WINDOW = 5"
    assert "l.x MINDIST r.x (within 0.5), where l.id > 1" in two_streams.explain(query)


@pytest.mark.parametrize("seed", range(40))
def test_moving_a_filter_below_changes_no_answer(seed, monkeypatch):
    case = draw_bestmatch(Random(seed))
    assert bag(session_of(case).sql(case.sql)) == case.answer
    rules = tuple(rule for rule in optimizer.RULES if rule is not push_filters)
    assert len(rules) + 1 == len(optimizer.RULES)
    monkeypatch.setattr(optimizer, "RULES", rules)
    assert bag(session_of(case).sql(case.sql)) == case.answer
