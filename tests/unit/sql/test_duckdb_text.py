"""Expressions in process: the values and types are those that Spark gives."""

from __future__ import annotations

from decimal import Decimal

import pytest

from windrow.operators.expressions.evaluate import connect
from windrow.plan.types import Digits, digits_of_type
from windrow.schema import Field, Schema
from windrow.sql.grammar.dialect import Windrow
from windrow.sql.render.duckdb_text import duckdb_text
from windrow.sql.render.numbers import digits_of, result_digits

COLUMNS = Schema(
    (
        Field("b", "tinyint"),
        Field("d", "decimal(10,2)"),
        Field("day", "date"),
        Field("k", "int"),
        Field("f", "float"),
    )
)
TYPES = {field.name: field.type for field in COLUMNS.fields}


def tree(expression: str):
    return Windrow().parse(f"SELECT {expression}")[0].expressions[0]


@pytest.fixture(scope="module")
def connection():
    connection = connect()
    connection.execute(
        "CREATE TABLE t AS SELECT 5::TINYINT AS b, 12.35::DECIMAL(10,2) AS d,"
        " DATE '2024-01-07' AS day, -7::INTEGER AS k, 0.1::FLOAT AS f"
    )
    return connection


@pytest.mark.parametrize(
    ("expression", "type_", "value"),
    [
        ("f - f", "FLOAT", 0.0),
        ("f + k", "DOUBLE", -7 + 0.10000000149011612),
        ("f - d", "DOUBLE", 0.10000000149011612 - 12.35),
        ("f <= 0.1", "BOOLEAN", False),
        ("0.1 < f", "BOOLEAN", True),
        ("f IN (0.1, k)", "BOOLEAN", False),
        ("f BETWEEN 0 AND 0.1", "BOOLEAN", False),
        ("abs(f - f) <= 0.1", "BOOLEAN", True),
        ("k / 2", "DOUBLE", -3.5),
        ("k div 2", "BIGINT", -3),
        ("b * 100", "INTEGER", 500),
        ("cast(2.7 as int)", "INTEGER", 2),
        ("cast(-2.7D as bigint)", "BIGINT", -2),
        ("cast(timestamp '1970-01-01 00:01:00' as bigint)", "BIGINT", 60),
        ("length('abc')", "INTEGER", 3),
        ("floor(-2.5D)", "BIGINT", -3),
        ("floor(d)", "DECIMAL(9,0)", Decimal(12)),
        ("dayofweek(day)", "INTEGER", 1),
        ("weekday(day)", "INTEGER", 6),
        ("extract(dow from day)", "INTEGER", 1),
        ("extract(dow_iso from day)", "INTEGER", 7),
        ("'it''s'", "VARCHAR", "it's"),
        ('"a""b"', "VARCHAR", 'a"b'),
        ("'it' 's'", "VARCHAR", "its"),
        (r"'a_c' LIKE 'a\_c'", "BOOLEAN", True),
        (r"'abc' LIKE 'a\_c'", "BOOLEAN", False),
        (r"'a_c' NOT LIKE concat('a\_', 'c')", "BOOLEAN", False),
        ("'a!c' LIKE 'a!!c' ESCAPE '!'", "BOOLEAN", True),
        ("cast(timestamp '2024-01-01 10:20:30.5' as string)", "VARCHAR", "2024-01-01 10:20:30.5"),
        ("substring('hello', 0, 2)", "VARCHAR", "he"),
        ("pmod(k, 3)", "INTEGER", 2),
        ("isnull(k) = false", "BOOLEAN", True),
        ("d * k", "DECIMAL(21,2)", Decimal("-86.45")),
        ("d / 3", "DECIMAL(14,6)", Decimal("4.116667")),
        ("d % 5", "DECIMAL(3,2)", Decimal("2.35")),
        ("2 - (3 - 4)", "INTEGER", 3),
        ("concat('a', null)", "VARCHAR", None),
    ],
)
def test_an_expression_has_sparks_type_and_value(connection, expression, type_, value):
    text = duckdb_text(tree(expression), COLUMNS)
    relation = connection.sql(f"SELECT {text} AS v FROM t")
    assert relation.fetchall() == [(value,)]
    assert value is None or str(relation.types[0]) == type_


def test_a_date_plus_days_stays_a_date(connection):
    text = duckdb_text(tree("day + interval 3 days"), COLUMNS)
    assert str(connection.sql(f"SELECT {text} FROM t").types[0]) == "DATE"


def test_a_function_with_other_values_in_duckdb_is_not_passed_on():
    assert duckdb_text(tree("hash(k)"), COLUMNS) == "SPARK_HASH(k)"


@pytest.mark.parametrize(
    ("expression", "digits"),
    [
        ("d + k", Digits(13, 2)),
        ("d * d", Digits(21, 4)),
        ("d * 2", Digits(12, 2)),
        ("d * 0.05", Digits(13, 4)),
        ("-(d) / d", Digits(23, 13)),
        ("cast(k as decimal(30,10)) * cast(k as decimal(30,10))", Digits(38, 6)),
        ("cast(k as decimal(38,2)) + d", Digits(38, 2)),
        ("k + 1", None),
        ("d * 1e0", None),
        ("d * 'x'", None),
    ],
)
def test_decimal_results_have_the_digits_that_spark_gives_them(expression, digits):
    assert result_digits(tree(expression), TYPES) == digits


def test_only_exact_numbers_have_digits():
    assert digits_of_type("double") is None
    assert digits_of_type("bigint") == Digits(20, 0, is_decimal=False)
    assert digits_of(tree("lower('x')"), TYPES) is None
