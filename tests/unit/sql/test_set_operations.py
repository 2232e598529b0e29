"""DISTINCT, UNION, EXCEPT, MINUS and INTERSECT: which plan each way of writing them gives."""

from __future__ import annotations

import pytest

from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.scan import Scan
from windrow.plan.nodes.set_operation import SetOperation
from windrow.plan.nodes.window_aggregate import WindowAggregate
from windrow.sql.render.numbers import common_type

A, B, C = (f"SELECT k FROM {name} [RANGE INTERVAL '1' MINUTE]" for name in "abc")


def shape(node):
    """The set operations of a plan, and the streams below them."""
    if isinstance(node, SetOperation):
        return (node.kind, *map(shape, node.inputs))
    if isinstance(node, Scan):
        return node.alias
    if isinstance(node, WindowAggregate):
        return ("group", shape(node.input))
    return shape(node.input)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"{A} UNION {B}", ("union", "a", "b")),
        (f"{A} UNION DISTINCT {B}", ("union", "a", "b")),
        (f"{A} UNION ALL {B}", ("union all", "a", "b")),
        (f"{A} MINUS {B}", ("except", "a", "b")),
        (f"{A} MINUS ALL {B}", ("except all", "a", "b")),
        (f"{A} INTERSECT ALL {B}", ("intersect all", "a", "b")),
        (f"{A} EXCEPT {B} EXCEPT {C}", ("except", ("except", "a", "b"), "c")),
        (f"{A} EXCEPT ({B} EXCEPT {C})", ("except", "a", ("except", "b", "c"))),
        (f"{A} UNION {B} INTERSECT {C}", ("union", "a", ("intersect", "b", "c"))),
        (f"({A} UNION {B}) INTERSECT {C}", ("intersect", ("union", "a", "b"), "c")),
        (f"{A.replace('k', 'DISTINCT k', 1)} EXCEPT ALL {B}", ("except all", ("distinct", "a"), "b")),
        (f"SELECT COUNT(*) AS n FROM ({A} UNION ALL {B}) d", ("group", ("union all", "a", "b"))),
        (
            f"WITH q AS ({A}), r AS (SELECT DISTINCT k FROM q) SELECT k FROM r UNION {B}",
            ("union", ("distinct", "a"), "b"),
        ),
        (
            "SELECT DISTINCT COUNT(*) AS n FROM a [RANGE INTERVAL '1' MINUTE] GROUP BY k",
            ("distinct", ("group", "a")),
        ),
        (
            "SELECT COUNT(*) AS n FROM a [RANGE INTERVAL '1' MINUTE] GROUP BY k",
            ("changes", ("group", "a")),
        ),
        (f"{A} UNION ALL {B.replace('k', 'COUNT(*)', 1)}",
         ("changes", ("union all", "a", ("group", "b")))),
    ],
)  # fmt: skip
def test_operations_are_nested_as_sql_has_it(compiled, sql, expected):
    assert shape(compiled(sql).root) == expected


def test_the_first_select_names_the_columns_and_types_widen(compiled):
    root = compiled("SELECT k, x AS y, name FROM a UNION ALL SELECT k, z, NULL FROM b").root
    assert [(f.name, f.type) for f in root.schema.fields] == [
        ("k", "bigint"), ("y", "int"), ("name", "string"),
    ]  # fmt: skip


def test_without_a_window_union_all_takes_nothing_back(compiled):
    plain = compiled("SELECT k FROM a UNION ALL SELECT k FROM b [RANGE INTERVAL '1' MINUTE]")
    assert not plain.is_changelog
    assert not any(isinstance(node, Range) for node in plain.root.walk())


def test_each_select_has_its_own_window_clause(compiled):
    minute = "SELECT k FROM a EXCEPT SELECT k FROM b WINDOW = INTERVAL '1' MINUTE"
    query = compiled(minute.replace("EXCEPT", "WINDOW = INTERVAL '2' MINUTES EXCEPT"))
    ticks = [node.ticks for node in query.root.walk() if isinstance(node, Range)]
    assert ticks == [120_000_000, 60_000_000]


def test_rows_of_a_derived_table_leave_by_the_windows_inside_it_or_by_its_own(compiled):
    inside = compiled(f"SELECT DISTINCT k FROM ({A}) d").root
    assert [node.ticks for node in inside.walk() if isinstance(node, Range)] == [60_000_000]
    for window in ("[RANGE INTERVAL '1' SECOND]", "WINDOW = INTERVAL '1' SECOND",
                   "WHERE k > 1 AND WINDOW = INTERVAL '1' SECOND"):  # fmt: skip
        own = compiled(f"SELECT DISTINCT k FROM (SELECT k FROM a) d {window}").root
        assert [node.ticks for node in own.walk() if isinstance(node, Range)] == [1_000_000]


def test_the_rows_of_a_set_are_told_apart_by_all_columns_and_those_of_a_bag_by_none(compiled):
    assert compiled(f"{A} EXCEPT {B}").keys == ("k",)
    assert compiled(f"{A} EXCEPT ALL {B}").keys is None
    grouped = "SELECT COUNT(*) AS n FROM a [RANGE INTERVAL '1' MINUTE] GROUP BY k"
    assert compiled(grouped).keys is None
    assert isinstance(compiled(f"{A} EXCEPT {B}").root, Project)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("int", "int", "int"),
        ("int", "bigint", "bigint"),
        ("bigint", "double", "double"),
        ("bigint", "float", "double"),
        ("decimal(5,1)", "int", "decimal(11,1)"),
        ("decimal(38,10)", "double", "double"),
        ("void", "array<int>", "array<int>"),
        ("date", "timestamp", "timestamp"),
        ("timestamp_ntz", "date", "timestamp_ntz"),
        ("timestamp_ntz", "timestamp", None),
        ("string", "int", None),
        ("boolean", "double", None),
        ("array<int>", "array<bigint>", None),
    ],
)
def test_the_common_type_is_sparks(first, second, expected):
    assert common_type(first, second) == common_type(second, first) == expected
