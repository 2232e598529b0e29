"""Schemas written as DDL."""

from __future__ import annotations

import pytest

from windrow.errors import BindError
from windrow.io.ddl import parse_ddl
from windrow.schema import Field, Schema


def test_types_come_out_in_one_spelling():
    assert parse_ddl("a LONG, b Decimal(10, 2), c INTEGER, d timestamp_ltz").fields == (
        Field("a", "bigint"),
        Field("b", "decimal(10,2)"),
        Field("c", "int"),
        Field("d", "timestamp"),
    )


def test_commas_inside_types_do_not_split_columns():
    assert parse_ddl("m MAP<STRING, INT>, s STRUCT<Id: BIGINT, tags: ARRAY<STRING>>").fields == (
        Field("m", "map<string,int>"),
        Field("s", "struct<Id:bigint,tags:array<string>>"),
    )


def test_quoted_names_may_hold_anything():
    assert parse_ddl("`unit price net` DOUBLE, `a``b` INT").fields == (
        Field("unit price net", "double"),
        Field("a`b", "int"),
    )


@pytest.mark.parametrize(
    "name", ["a, b", "a (b", "a) b", "a < b", "a > b", "a`, b", "a `INT`, b", "a,`", "`,", " a:b "]
)
def test_any_name_comes_back(name):
    fields = (Field(name, "int"), Field("c", "array<decimal(10,2)>"))
    assert parse_ddl(Schema(fields).ddl()).fields == fields


@pytest.mark.parametrize(
    ("text", "part", "reason"),
    [
        ("item", "item", "a column is a name, then a type"),
        ("item STRING,", "", "a column is a name, then a type"),
        ("item STRNG", "item STRNG", "'STRNG' is not a column type that Windrow knows"),
    ],
)
def test_what_is_no_column_is_named(text, part, reason):
    with pytest.raises(BindError) as caught:
        parse_ddl(text)
    assert str(caught.value) == (
        f"BindError[bad-schema]: {part!r} in the schema {text!r} is not a column\n"
        f"  {reason}\n"
        '  hint: columns are written "name TYPE, name TYPE", as in Spark'
    )
