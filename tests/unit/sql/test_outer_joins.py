"""What ON, WHERE and the WINDOW clause mean in outer, semi and anti joins."""

from __future__ import annotations

import pytest

from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.query import Query
from windrow.plan.nodes.window_aggregate import WindowAggregate
from windrow.plan.nodes.window_join import WindowJoin

SECOND = 1_000_000
W = "WINDOW (a, b) = INTERVAL 5 SECONDS"


def joined(plan: Query) -> WindowJoin:
    (found,) = [node for node in plan.root.walk() if isinstance(node, WindowJoin)]
    return found


def filters(plan: Query) -> list[str]:
    return [p.text for n in plan.root.walk() if isinstance(n, Filter) for p in n.predicates]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("LEFT", "left"),
        ("LEFT OUTER", "left"),
        ("RIGHT", "right"),
        ("right outer", "right"),
        ("FULL", "full"),
        ("FULL OUTER", "full"),
        ("SEMI", "semi"),
        ("LEFT SEMI", "semi"),
        ("ANTI", "anti"),
        ("left anti", "anti"),
        ("", "inner"),
        ("INNER", "inner"),
    ],
)
def test_the_words_before_join_say_its_kind(compiled, words, kind):
    assert joined(compiled(f"SELECT a.x FROM a {words} JOIN b ON a.k = b.k {W}")).kind == kind


def test_conditions_of_on_belong_to_the_join_and_those_of_where_stand_above(compiled):
    plan = compiled(
        "SELECT a.x FROM a LEFT JOIN b ON a.k = b.k AND a.x > 1 AND b.x > 2 AND a.x < b.x "
        f"WHERE a.y > 3 AND b.z IS NULL AND a.k = b.z {W}"
    )
    assert [p.text for p in joined(plan).predicates] == ["a.x > 1", "b.x > 2", "a.x < b.x"]
    assert filters(plan) == ["a.y > 3", "b.z IS NULL", "a.k = b.z"]
    assert len(joined(plan).equalities) == 1


def test_a_condition_on_time_is_a_window_in_on_and_a_filter_in_where(compiled):
    plan = compiled(
        "SELECT a.x FROM a FULL JOIN b ON a.k = b.k "
        "AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 SECONDS WHERE b.ts > a.ts"
    )
    assert joined(plan).graph.upper[0][1] == 5 * SECOND
    assert joined(plan).graph.upper[1][0] == 0
    assert filters(plan) == ["b.ts > a.ts"]


@pytest.mark.parametrize(
    "tail",
    [
        f"ON a.k = b.k AND {W}",
        f"ON a.k = b.k WHERE a.x > 1 AND {W}",
        f"ON a.k = b.k WHERE a.x > 1 {W}",
        W,
    ],
)
def test_a_window_clause_belongs_to_on_wherever_it_stands(compiled, tail):
    join = joined(compiled(f"SELECT a.x FROM a LEFT JOIN b {tail}"))
    assert join.graph.upper[0][1] == join.graph.upper[1][0] == 5 * SECOND


def test_windows_per_stream_say_how_far_apart_a_match_is(compiled):
    plan = compiled(
        "SELECT a.x FROM a [RANGE INTERVAL 3 SECONDS] LEFT JOIN b [RANGE INTERVAL 1 SECOND] "
        "ON a.k = b.k"
    )
    assert joined(plan).graph.upper[0][1] == 3 * SECOND
    assert joined(plan).graph.upper[1][0] == SECOND
    assert not [node for node in plan.root.walk() if isinstance(node, Range)]


def test_an_aggregate_over_an_outer_join_windows_both_streams(compiled):
    plan = compiled(
        "SELECT COUNT(b.x) AS n FROM a [RANGE INTERVAL 3 SECONDS] "
        "FULL JOIN b [RANGE INTERVAL 1 SECOND] ON a.k = b.k"
    )
    assert isinstance(plan.root.input, WindowAggregate)
    assert len([node for node in plan.root.walk() if isinstance(node, Range)]) == 2


def test_a_second_equality_with_the_same_side_is_tested_with_the_pair(compiled):
    join = joined(compiled(f"SELECT a.x FROM a LEFT JOIN b ON a.x = b.x AND a.y = b.x {W}"))
    assert [(e.left, e.right) for e in join.equalities] == [("a.x", "b.x")]
    assert [p.columns for p in join.predicates] == [("a.y", "b.x")]
    assert not filters(compiled(f"SELECT a.x FROM a LEFT JOIN b ON a.x = b.x AND a.y = b.x {W}"))


def test_a_star_has_the_columns_of_both_or_of_the_first_alone(compiled):
    both = compiled(f"SELECT * FROM c LEFT JOIN b ON c.k = b.k {W.replace('a,', 'c,')}")
    assert both.root.schema.names == (
        "at", "c_k", "c_name", "w", "ts", "b_k", "x", "b_name", "z",
    )  # fmt: skip
    first = compiled(f"SELECT * FROM c ANTI JOIN b ON c.k = b.k {W.replace('a,', 'c,')}")
    assert first.root.schema.names == ("at", "k", "name", "w")


def test_names_after_a_semi_join_mean_the_first_stream_alone(compiled):
    plan = compiled(f"SELECT k, x FROM a SEMI JOIN b ON a.k = b.k WHERE name = 'n' {W}")
    assert plan.root.schema.names == ("k", "x")
    assert filters(plan) == ["name = 'n'"]


def test_a_condition_with_is_null_reads_as_it_was_written(compiled):
    plan = compiled(
        f"SELECT a.x FROM a LEFT JOIN b ON a.k = b.k WHERE coalesce(b.x, b.z) IS NOT NULL {W}"
    )
    (condition,) = next(n for n in plan.root.walk() if isinstance(n, Filter)).predicates
    assert condition.text == "coalesce(b.x, b.z) IS NOT NULL"
    assert condition.spark == "coalesce(`b.x`, `b.z`) IS NOT NULL"


def test_an_outer_join_in_a_derived_table_can_be_joined_again(compiled):
    plan = compiled(
        f"SELECT c.w, m.x FROM (SELECT a.k, b.x FROM a LEFT JOIN b ON a.k = b.k {W}) m, c "
        "WHERE m.k = c.k WINDOW (m, c) = INTERVAL 1 MINUTE"
    )
    kinds = [node.kind for node in plan.root.walk() if isinstance(node, WindowJoin)]
    assert kinds == ["inner", "left"]
