"""Texts made of trees read back as the trees, by both engines' ranks of operators."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from sessions import session
from sqlglot import exp, parse_one

from windrow.plan.exprs import embedded
from windrow.sql.grammar.spans import parenthesized

B, X = exp.column("b"), exp.column("x")


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (exp.Is(this=exp.Not(this=B), expression=exp.null()), "(NOT b) IS NULL"),
        (exp.Not(this=exp.Is(this=B, expression=exp.null())), "NOT b IS NULL"),
        (exp.Is(this=exp.EQ(this=X, expression=B), expression=exp.null()), "(x = b) IS NULL"),
        (exp.And(this=exp.Or(this=B, expression=X), expression=B), "(b OR x) AND b"),
        (exp.Sub(this=X, expression=exp.Sub(this=X, expression=B)), "x - (x - b)"),
        (exp.Sub(this=exp.Sub(this=X, expression=B), expression=X), "x - b - x"),
        (exp.Neg(this=exp.Add(this=X, expression=B)), "-(x + b)"),
        (exp.Mul(this=exp.Add(this=X, expression=B), expression=X), "(x + b) * x"),
        (exp.Dot(this=exp.Add(this=X, expression=B), expression=exp.to_identifier("f")), "(x + b).f"),
        (exp.BitwiseOr(this=X, expression=exp.BitwiseAnd(this=X, expression=B)), "x | (x & b)"),
        (exp.DPipe(this=X, expression=exp.Add(this=X, expression=B), safe=True), "x || (x + b)"),
        (exp.Between(this=exp.Not(this=B), low=X, high=exp.EQ(this=X, expression=B)), "(NOT b) BETWEEN x AND (x = b)"),
    ],
)  # fmt: skip
def test_an_operand_is_in_a_parenthesis_where_it_would_be_read_otherwise(tree, text):
    shown = parenthesized(tree.copy()).sql("duckdb")
    assert shown == text
    again = parse_one(shown, dialect="duckdb")
    plain = [node.transform(lambda part: part.unnest()) for node in (again, tree.copy())]
    assert plain[0] == plain[1]


def test_long_rows_get_no_parentheses():
    text = " + ".join(["x"] * 300)
    assert parenthesized(parse_one(text)).sql() == text


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("x", True), ('"a b"', True), ("`a``b`", True), ("f(x)", True), ("(x + 1)", True), ("'a(b'", True), ("1.5", True),
        ("f(')')", True), ("(a) + (b)", False), ("f(x) + 1", False), ("NOT b", False), ("NOT(b)", False), ("-1", False),
        ("x IS NULL", False), ("f(x)(y)", False), ("'a' || 'b'", False), ("CASE WHEN a THEN b END", False),
    ],
)  # fmt: skip
def test_a_text_is_put_into_another_one_as_a_whole(text, whole):
    assert embedded(text) == (text if whole else f"({text})")


@pytest.mark.parametrize(
    ("text", "value"),
    # What Spark gives: & before ^ before |, and shifts before them.
    [("1 | 2 & 4", 1), ("6 ^ 3 & 2", 4), ("1 | 6 ^ 2", 5), ("7 & 1 + 1", 2), ("'a' || 'b' || 'c'", "abc")],
)  # fmt: skip
def test_operators_have_the_ranks_that_spark_gives_them(text, value):
    w = session({"s": {"t": [0]}}, time="t")
    assert w.sql(f"SELECT {text} AS v FROM s").to_arrow()["v"].to_pylist() == [value]


def test_a_function_that_becomes_operators_keeps_together():
    day = date(2024, 1, 31)
    w = session({"s": {"d": pa.array([day]), "t": [0]}}, time="t")
    found = w.sql(
        "SELECT datediff(date_add(d, 1), d) AS a, date_add(d, 1) > d AS b, NOT isnull(d) AS c,"
        " -pmod(5, 3) AS e, 10 - pmod(5, 3) * 2 AS f FROM s"
    )
    assert found.to_arrow().to_pylist() == [{"a": 1, "b": True, "c": True, "e": -2, "f": 6}]
