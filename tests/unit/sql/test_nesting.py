"""Long and deep queries: what generators write in a row runs, and what is too deep is refused."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest
from sessions import session

import windrow
from windrow.errors import ParseError, PlanError, WindrowError
from windrow.plan.exprs import deep_calls
from windrow.sql.grammar.parse import MOST_IN_A_ROW, MOST_LEVELS


def asked() -> windrow.Session:
    return session({"s": {"x": [1, 2], "b": [True, False], "t": [0, 5]}}, time="t")


def nested(levels: int) -> str:
    return "SELECT x AS v FROM " + "(SELECT x FROM " * levels + "s" + ") q" * levels


LONG = {
    "a sum": ("SELECT " + " + ".join(["x"] * 500) + " AS v FROM s", [500, 1000]),
    "decimals": ("SELECT " + " + ".join(["0.5BD"] * 200) + " AS v FROM s", [100, 100]),
    "AND": ("SELECT x AS v FROM s WHERE " + " AND ".join(f"x <> {n}" for n in range(2, 1002)), [1]),
    "OR": ("SELECT x AS v FROM s WHERE " + " OR ".join(f"x = {n}" for n in range(2, 1002)), [2]),
    "UNION ALL": (" UNION ALL ".join(["SELECT x AS v FROM s"] * 300), [1] * 300 + [2] * 300),
    "texts": ("SELECT length(" + " || ".join(["'a'"] * 500) + ") AS v FROM s", [500, 500]),
    "parentheses": ("SELECT " + "(" * 100 + "x" + ")" * 100 + " AS v FROM s", [1, 2]),
    "functions": ("SELECT " + "abs(" * 100 + "x" + ")" * 100 + " AS v FROM s", [1, 2]),
    "subqueries": (nested(MOST_LEVELS - 1), [1, 2]),
    "NOT": ("SELECT " + "NOT " * 100 + "b AS v FROM s", [False, True]),
    "CASE": ("SELECT " + "CASE WHEN b THEN x ELSE " * 99 + "7" + " END" * 99 + " AS v FROM s", [1, 7]),
}  # fmt: skip


@pytest.mark.parametrize("what", LONG)
def test_long_and_deep_queries_are_answered(what):
    query, values = LONG[what]
    assert sorted(asked().sql(query).to_arrow()["v"].to_pylist()) == values
    assert asked().explain(query)


def test_long_queries_run_however_deep_their_caller_is():
    def at(depth: int) -> list[int]:
        if depth:
            return at(depth - 1)
        session = asked()
        assert session.explain(nested(50))
        return session.sql(nested(50)).to_arrow()["v"].to_pylist()

    limit = sys.getrecursionlimit()
    assert at(600) == [1, 2]
    assert sys.getrecursionlimit() == limit


CTES = "WITH " + ", ".join(
    f"c{n} AS (SELECT x FROM {f'c{n - 1}' if n else 's'})" for n in range(300)
)
BOMB = "WITH " + ", ".join(
    f"c{n} AS (SELECT x FROM {f'c{n - 1}' if n else 's'} UNION ALL SELECT x FROM {f'c{n - 1}' if n else 's'})"
    for n in range(40)
)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT " + "(" * 5000 + "x" + ")" * 5000 + " AS v FROM s",
        "SELECT " + "(" * 5000,
        "SELECT " + "- " * 500 + "x AS v FROM s",
        "SELECT " + " + ".join(["x"] * (MOST_IN_A_ROW + 9)) + " AS v FROM s",
        nested(300),
        " EXCEPT ".join(["SELECT x FROM s [RANGE 5]"] * 300),
        f"{CTES} SELECT x FROM c299",
        f"{BOMB} SELECT x FROM c39",
        "SELECT CAST(x AS " + "ARRAY<" * 2000 + "INT" + ">" * 2000 + ") AS v FROM s",
        "SELECT CAST(x AS " + "STRUCT<a: MAP<INT, " * 2000,
    ],
    ids=[
        "parentheses",
        "unclosed",
        "signs",
        "sum",
        "subqueries",
        "except",
        "with",
        "bomb",
        "types",
        "unclosed types",
    ],
)
def test_what_is_too_deep_is_refused_with_its_place(query):
    for ask in (asked().sql, asked().explain):
        with pytest.raises(ParseError) as raised:
            ask(query)
        assert raised.value.condition == "too-deep"
        assert raised.value.span is not None


@pytest.mark.parametrize(
    "value",
    ["array(" * 90 + "x" + ")" * 90, "CAST(NULL AS " + "ARRAY<" * 90 + "INT" + ">" * 90 + ")"],
)
def test_types_nested_deeper_than_arrow_has_them_are_refused(value):
    with pytest.raises(WindrowError, match="does not take"):
        asked().sql(f"SELECT {value} AS v FROM s")


def test_where_calls_go_too_deep_even_so_the_error_is_ours():
    def without_end() -> None:
        without_end()

    limit = sys.getrecursionlimit()
    with pytest.raises(PlanError, match="nested too deeply"), deep_calls():
        without_end()
    assert sys.getrecursionlimit() == limit


def test_long_rows_of_union_keep_their_options_and_order_of_types():
    parts = ["SELECT CAST(x AS INT) AS v FROM s", *["SELECT x AS w FROM s"] * 20]
    found = asked().sql(" UNION ALL ".join(parts)).to_arrow()
    assert found.schema.names == ["v"]
    assert found.schema.field("v").type == pa.int64()
    with pytest.raises(WindrowError, match="hint"):
        asked().sql(" UNION ALL ".join([*parts, "SELECT /*+ seed(1) */ x FROM s"]))
