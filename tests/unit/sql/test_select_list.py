from __future__ import annotations

import pytest


def names(query) -> list[str]:
    return [item.name for item in query.root.items]


@pytest.mark.parametrize("star", ["*", "a.*, c.*"])
def test_a_star_prefixes_the_names_that_streams_share(compiled, star):
    query = compiled(f"SELECT {star} FROM a, c WINDOW = INTERVAL 1 SECOND")
    assert names(query) == [
        "ts", "a_k", "x", "y", "a_name", "price", "at", "c_k", "c_name", "w",
    ]  # fmt: skip
    assert query.root.schema.names == tuple(names(query))


def test_a_star_of_one_stream_keeps_its_names(compiled):
    assert names(compiled("SELECT * FROM c")) == ["at", "k", "name", "w"]
    query = compiled("SELECT c.*, a.x FROM a, c WINDOW = INTERVAL 1 SECOND")
    assert names(query) == ["at", "k", "name", "w", "x"]


def test_the_second_of_two_equal_names_gets_its_alias_before_it(compiled):
    query = compiled("SELECT a.name, b.name, b.x FROM a, b WINDOW = INTERVAL 1 SECOND")
    assert names(query) == ["name", "b_name", "x"]


def test_an_expression_without_alias_is_named_by_its_text(compiled):
    query = compiled("SELECT lower(name),  x   +  1, price AS p FROM a")
    assert names(query) == ["lower(name)", "x + 1", "p"]


def test_types_come_from_the_columns_and_from_the_resolver(compiled):
    query = compiled("SELECT k, price * 2 AS p, name || 'x' AS n, k / 2 AS h, ts FROM a")
    assert [item.expr.type for item in query.root.items] == [
        "int", "double", "string", "double", "timestamp",
    ]  # fmt: skip
    assert [field.type for field in query.root.schema.fields] == [
        "int", "double", "string", "double", "timestamp",
    ]  # fmt: skip


def test_spark_reads_what_the_user_wrote_with_flat_names(compiled):
    query = compiled(
        "SELECT CASE WHEN a.x>1 THEN 'it''s `a`' ELSE \"q\" END AS c,\n"
        "  log10( price ) /* why */ + x -- because\n  AS l FROM a"
    )
    assert [item.expr.spark for item in query.root.items] == [
        "CASE WHEN `a.x`>1 THEN 'it''s `a`' ELSE \"q\" END",
        "log10( `a.price` ) /* why */ + `a.x`",
    ]
    assert query.root.items[1].expr.columns == ("a.price", "a.x")
    assert query.root.items[1].expr.text == "log10( price ) /* why */ + x"


def test_names_are_found_whatever_their_case(compiled):
    query = compiled("SELECT PRICE, A.NAME FROM A")
    assert [item.expr.columns for item in query.root.items] == [("A.price",), ("A.name",)]


def test_a_lambda_keeps_its_own_names(compiled):
    query = compiled("SELECT transform(array(x, y), v -> v + k) AS t FROM a")
    assert query.root.items[0].expr.columns == ("a.x", "a.y", "a.k")
    assert query.root.items[0].expr.type == "array<int>"


def test_what_looks_like_a_hint_in_a_text_or_a_comment_is_none(compiled):
    query = compiled(
        "SELECT /*+ memory(1 MB) */ name -- no /*+ hint(1) */ at all\n"
        "FROM a WHERE name <> '/*+ nor(1) */' /* nor /*+ here(1) */ */"
    )
    assert [hint.name for hint in query.hints] == ["memory"]
