from __future__ import annotations

import pytest
from plans import join_of

from windrow.plan.nodes.base import Equality
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.query import Hint
from windrow.plan.nodes.scan import Scan
from windrow.plan.nodes.window_join import WindowJoin


def pairs(query) -> list[tuple[str, str]]:
    return [(e.left, e.right) for e in join_of(query).equalities]


def predicates(node: Filter) -> list[str]:
    return [predicate.spark for predicate in node.predicates]


def test_a_join_has_one_scan_per_alias_and_a_projection_on_top(compiled):
    query = compiled("SELECT p.k FROM a AS p, c q WHERE p.k = q.k WINDOW = INTERVAL 1 SECOND")
    assert not query.is_changelog
    assert query.time_type == "timestamp"
    assert isinstance(query.root, Project)
    join = query.root.input
    assert isinstance(join, WindowJoin)
    assert join.aliases == ("p", "q")
    assert [(node.stream.name, node.alias) for node in join.inputs] == [("a", "p"), ("c", "q")]
    assert join.inputs[0].schema.names == ("p.ts", "p.k", "p.x", "p.y", "p.name", "p.price")
    assert join.equalities == (Equality("p.k", "q.k", "int"),)
    assert join.span is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a.k FROM a, c WHERE a.k = c.k WINDOW = INTERVAL 1 SECOND",
        "SELECT a.k FROM a JOIN c ON a.k = c.k WINDOW = INTERVAL 1 SECOND",
        "SELECT a.k FROM a INNER JOIN c ON (a.k = c.k) WINDOW = INTERVAL 1 SECOND",
        "SELECT a.k FROM a CROSS JOIN c WHERE ((a.k = c.k)) WINDOW = INTERVAL 1 SECOND",
        "select A.K from A, C where C.K = A.K window = interval 1 second",
    ],
)
def test_an_equality_may_stand_in_where_or_in_on(compiled, sql):
    names = {frozenset(name.lower() for name in pair) for pair in pairs(compiled(sql))}
    assert names == {frozenset({"a.k", "c.k"})}


def test_composite_keys_and_keys_that_differ_between_pairs(compiled):
    query = compiled(
        "SELECT a.k FROM a, b, c WHERE a.x = b.x AND a.name = b.name AND b.name = c.name"
        " AND a.k = c.k WINDOW = INTERVAL 1 SECOND"
    )
    assert pairs(query) == [
        ("a.x", "b.x"), ("a.name", "b.name"), ("b.name", "c.name"), ("a.k", "c.k"),
    ]  # fmt: skip


def test_a_computed_key_becomes_a_column_below_the_join(compiled):
    query = compiled("SELECT a.k FROM a, b WHERE lower(a.name) = b.name WINDOW = INTERVAL 1 SECOND")
    join = join_of(query)
    assert join.equalities == (Equality("a.$key0", "b.name", "string"),)
    project = join.inputs[0]
    assert isinstance(project, Project)
    assert project.items[-1].name == "a.$key0"
    assert project.items[-1].expr.spark == "lower(`a.name`)"
    assert isinstance(join.inputs[1], Scan)


def test_keys_of_different_widths_are_cast_to_the_wider_type(compiled):
    join = join_of(compiled("SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = INTERVAL 1 SECOND"))
    assert join.equalities == (Equality("a.$key0", "b.k", "bigint"),)
    assert join.inputs[0].items[-1].expr.spark == "CAST(`a.k` AS BIGINT)"
    assert join.inputs[0].items[-1].expr.type == "bigint"


@pytest.mark.parametrize(
    ("left", "right", "type_"),
    [
        ("a.x", "c.w", "decimal(12,2)"),
        ("a.x", "a2.price", "double"),
        ("CAST(a.x AS FLOAT)", "a2.price", "double"),
        ("CAST(a.x AS SMALLINT)", "CAST(a2.x AS TINYINT)", "smallint"),
        ("a.ts", "c.at", "timestamp"),
    ],
)
def test_the_common_type_of_a_key_holds_both_sides_exactly(compiled, left, right, type_):
    query = compiled(
        f"SELECT a.k FROM a, a AS a2, c WHERE coalesce({left}) = {right} WINDOW = INTERVAL 1 SECOND"
    )
    assert [e.type for e in join_of(query).equalities] == [type_]


@pytest.mark.parametrize(
    ("left", "right"), [("a.name", "b.k"), ("b.k", "a.price"), ("c.w", "a.price"), ("a.ts", "b.k")]
)
def test_keys_without_an_exact_common_type_are_refused(refused, left, right):
    error = refused(f"SELECT a.k FROM a, b, c WHERE {left} = {right} WINDOW = INTERVAL 1 SECOND")
    assert error.condition == "key-type-mismatch"


@pytest.mark.parametrize("operator", ["<=>", "IS NOT DISTINCT FROM"])
def test_a_null_safe_equality_is_marked(compiled, operator):
    query = compiled(f"SELECT a.k FROM a, c WHERE a.k {operator} c.k WINDOW = INTERVAL 1 SECOND")
    assert join_of(query).equalities == (Equality("a.k", "c.k", "int", null_safe=True),)


def test_one_plain_equality_makes_its_whole_class_reject_nulls(compiled):
    query = compiled(
        "SELECT a.k FROM a, c, d WHERE a.k <=> c.k AND c.k = d.k WINDOW = INTERVAL 1 SECOND"
    )
    assert [e.null_safe for e in join_of(query).equalities] == [False, False]


def test_two_columns_of_one_stream_in_one_class_become_a_filter_below(compiled):
    query = compiled(
        "SELECT a.k FROM a, c WHERE a.x = c.k AND a.y = c.k WINDOW = INTERVAL 1 SECOND"
    )
    join = join_of(query)
    assert join.equalities == (Equality("a.x", "c.k", "int"),)
    assert isinstance(join.inputs[0], Filter)
    assert predicates(join.inputs[0]) == ["`a.x` = `a.y`"]


def test_predicates_of_one_or_more_streams_stand_above_the_join(compiled):
    query = compiled(
        "SELECT a.k FROM a, b WHERE a.x = b.x AND a.price > 4 AND a.y + b.z < 7 AND b.z <> a.y"
        " WINDOW = INTERVAL 1 SECOND"
    )
    above = query.root.input
    assert isinstance(above, Filter)
    assert predicates(above) == ["`a.price` > 4", "`a.y` + `b.z` < 7", "`b.z` <> `a.y`"]
    assert [p.columns for p in above.predicates] == [
        ("a.price",), ("a.y", "b.z"), ("b.z", "a.y"),
    ]  # fmt: skip


def test_joins_that_hang_below_one_another_are_one_join(compiled):
    query = compiled(
        "SELECT a.k FROM a JOIN c JOIN d ON c.k = d.k ON a.k = c.k WINDOW = INTERVAL 1 SECOND"
    )
    assert join_of(query).aliases == ("a", "c", "d")
    assert pairs(query) == [("a.k", "c.k"), ("c.k", "d.k")]


def test_a_join_may_have_no_equality_at_all(compiled):
    assert join_of(compiled("SELECT a.k FROM a, b WINDOW = INTERVAL 1 SECOND")).equalities == ()


def test_a_stream_may_appear_under_two_aliases(compiled):
    query = compiled("SELECT p.k FROM a p, a q WHERE p.k = q.k WINDOW = INTERVAL 1 SECOND")
    assert pairs(query) == [("p.k", "q.k")]


def test_eight_streams_join(compiled):
    names = [f"a{i}" for i in range(8)]
    sources = ", ".join(f"a {name}" for name in names)
    query = compiled(f"SELECT a0.k FROM {sources} WINDOW = INTERVAL 1 SECOND")
    assert join_of(query).aliases == tuple(names)


def test_a_single_stream_needs_no_window(compiled):
    query = compiled("SELECT k FROM a WHERE x > 4 AND name LIKE 'b%'")
    assert isinstance(query.root.input, Filter)
    assert predicates(query.root.input) == ["`a.x` > 4", "`a.name` LIKE 'b%'"]
    assert isinstance(query.root.input.input, Scan)


def test_fields_of_structs_are_reached_with_and_without_the_alias(compiled):
    query = compiled("SELECT d.s.f AS f, s.g AS g, m['x'] AS m FROM d")
    assert [(i.expr.spark, i.expr.type) for i in query.root.items] == [
        ("`d.s`.`f`", "int"),
        ("`d.s`.`g`", "string"),
        ("`d.m`['x']", "int"),
    ]


def test_hints_are_read(compiled):
    query = compiled("SELECT /*+ algorithm(bew-hash), on_late(keep) buckets = 8 */ k FROM a")
    assert query.hints == (
        Hint("algorithm", "bew-hash"),
        Hint("on_late", "keep"),
        Hint("buckets", "8"),
    )
    assert compiled("SELECT k FROM a").hints == ()
