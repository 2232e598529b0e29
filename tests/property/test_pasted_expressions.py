"""Any expression in any clause has the value that DuckDB gives it there, asked directly.

Expressions are drawn bare, as people write them (`NOT b`, `a OR b`, `x IS NULL`), and put into every
clause and argument. DuckDB is asked with each of them in a parenthesis, by another query.
"""

from __future__ import annotations

import os
import re
from collections import Counter

import duckdb
import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import session

pytestmark = pytest.mark.law

EXAMPLES = int(os.environ.get("WINDROW_PASTED", "5"))
"""Drawn per clause; set it higher to search longer."""

CONDITIONS = (
    "NOT b", "b OR c", "b AND c", "x = y", "x <> y", "x < y", "x IS NULL", "b IS NOT NULL", "NOT b OR c",
    "x BETWEEN 1 AND y", "x NOT BETWEEN y AND 3", "x IN (1, 2)", "x NOT IN (2, y)", "w LIKE 'a%'",
    "w NOT LIKE '%b'", "x = 1 OR y = 1 AND b", "NOT x = y", "CASE WHEN b THEN c ELSE x > 1 END", "x <=> y",
    "coalesce(b, c)", "x IS NULL OR y IS NULL", "NOT (b AND c)", "(b OR c) = (x > 1)", "b", "NOT NOT b",
    "CAST(x AS BOOLEAN)", "if(b, c, x = 2)",
)  # fmt: skip
NUMBERS = (
    "-x", "x + y", "x - y - 1", "x - (y - 1)", "x * y + 1", "- (x + y)", "x % 3", "CASE WHEN b THEN x ELSE y END",
    "CAST(x AS BIGINT) + 1", "coalesce(x, y, 0)", "x", "greatest(x, y) - 1", "length(w) * -1", "-x - -y",
    "CASE x WHEN 1 THEN y END", "x * (y + 1)", "abs(x - y)", "pmod(x - 2, 3)", "if(b, x, -y)",
    "size(filter(array(x, y), e -> e > 1))",
)  # fmt: skip
IN_DUCKDB = {
    "x <=> y": "x IS NOT DISTINCT FROM y",
    "x % 3": "x % 3",
    "pmod(x - 2, 3)": "((x - 2) % 3 + 3) % 3",
    "size(filter(array(x, y), e -> e > 1))": "len(list_filter([x, y], lambda e: e > 1))",
}

ONE = (
    # what Windrow is asked, what DuckDB is asked; {b} a condition, {n} and {m} numbers
    ("SELECT {b} AS v, {n} AS w FROM s", "SELECT {b}, {n} FROM s"),
    ("SELECT x FROM s WHERE {b}", "SELECT x FROM s WHERE {b}"),
    ("SELECT x FROM s WHERE NOT {B} AND {n} > 1", "SELECT x FROM s WHERE NOT {b} AND {n} > 1"),
    ("SELECT q.v FROM (SELECT {n} AS v, {b} AS c FROM s) q WHERE q.c AND q.v * 2 > 1", "SELECT {n} FROM s WHERE {b} AND {n} * 2 > 1"),
    ("SELECT q.v FROM (SELECT {n} AS v, {b} AS c FROM s) q WHERE NOT q.c", "SELECT {n} FROM s WHERE NOT {b}"),
)  # fmt: skip
GROUPED = (
    ("SELECT COUNT(k, {b}) AS v FROM s [RANGE 5]", "SELECT COUNT(CASE WHEN k IS NOT NULL AND {b} IS NOT NULL THEN 1 END) FROM s"),
    ("SELECT COUNT({n}, {b}) AS v FROM s [RANGE 5]", "SELECT COUNT(CASE WHEN {n} IS NOT NULL AND {b} IS NOT NULL THEN 1 END) FROM s"),
    ("SELECT COUNT(DISTINCT k, {b}) AS v FROM s [RANGE 5]", "SELECT COUNT(*) FROM (SELECT DISTINCT k, {b} AS c FROM s WHERE k IS NOT NULL AND {b} IS NOT NULL)"),
    ("SELECT COUNT(DISTINCT {n}, {m}) AS v FROM s [RANGE 5]", "SELECT COUNT(*) FROM (SELECT DISTINCT {n} AS c, {m} AS d FROM s WHERE {n} IS NOT NULL AND {m} IS NOT NULL)"),
    ("SELECT SUM({n}) AS v, MAX({b}) AS w FROM s [RANGE 5]", "SELECT CAST(SUM({n}) AS BIGINT), MAX({b}) FROM s"),
    ("SELECT SUM({n}) FILTER (WHERE {b}) AS v FROM s [RANGE 5]", "SELECT CAST(SUM({n}) FILTER (WHERE {b}) AS BIGINT) FROM s"),
    ("SELECT SUM(CASE WHEN {b} THEN {n} END) AS v FROM s [RANGE 5]", "SELECT CAST(SUM(CASE WHEN {b} THEN {n} END) AS BIGINT) FROM s"),
    ("SELECT COUNT_IF({b}) AS v, BOOL_OR({b}) AS w, EVERY({b}) AS u FROM s [RANGE 5]", "SELECT COUNT(*) FILTER (WHERE {b}), BOOL_OR({b}), BOOL_AND({b}) FROM s"),
    ("SELECT COUNT_IF({b}) FILTER (WHERE {n} > 1) AS v FROM s [RANGE 5]", "SELECT COUNT(*) FILTER (WHERE {b} AND {n} > 1) FROM s"),
    ("SELECT {n} AS v, COUNT(*) AS c FROM s [RANGE 5] GROUP BY {n}", "SELECT {n}, COUNT(*) FROM s GROUP BY {n}"),
    ("SELECT v, v + 1 AS w, COUNT(*) AS c FROM (SELECT {n} AS v FROM s) q [RANGE 5] GROUP BY v, v + 1", "SELECT {n}, {n} + 1, COUNT(*) FROM s GROUP BY ALL"),
    ("SELECT {n} AS v, COUNT(*) AS c FROM s [RANGE 5] GROUP BY v, v * 2", "SELECT {n}, COUNT(*) FROM s GROUP BY {n}"),
    ("SELECT k, COUNT(*) AS c FROM s [RANGE 5] GROUP BY k HAVING MAX({n}) * 2 > 1", "SELECT k, COUNT(*) FROM s GROUP BY k HAVING MAX({n}) * 2 > 1"),
    ("SELECT DISTINCT {b} AS v FROM s [RANGE 5]", "SELECT DISTINCT {b} FROM s"),
)  # fmt: skip
JOINED = (
    ("SELECT l.i AS v, r.i AS w FROM s l JOIN s r ON {ln} = {rn} WINDOW = 5", "SELECT l.i, r.i FROM s l, s r WHERE {ln} = {rn}"),
    ("SELECT l.i AS v, r.i AS w FROM s l JOIN s r ON l.k = r.k AND ({lb}) WINDOW = 5", "SELECT l.i, r.i FROM s l, s r WHERE l.k = r.k AND {lb}"),
    ("SELECT l.i AS v, r.i AS w FROM s l LEFT JOIN s r ON l.k = r.k AND ({rb}) WINDOW = 5", "SELECT l.i, r.i FROM s l LEFT JOIN s r ON l.k = r.k AND {rb}"),
    ("SELECT l.i AS v, r.i AS w FROM s l LEFT JOIN d r ON {ln} = {rn} AND ({rb})", "SELECT l.i, r.i FROM s l LEFT JOIN s r ON {ln} = {rn} AND {rb}"),
    ("SELECT l.i AS v, r.i AS w FROM s l, d r WHERE {ln} - {RN} > 1 AND ({lb})", "SELECT l.i, r.i FROM s l, s r WHERE {ln} - {rn} > 1 AND {lb}"),
    ("SELECT l.i AS v, r.i AS w FROM s l ASOF JOIN s r MATCH_CONDITION (l.t >= r.t) ON {ln} = {rn} AND l.i = r.i", "SELECT l.i, r.i FROM s l, s r WHERE {ln} = {rn} AND l.i = r.i"),
    ("SELECT l.i AS v, r.i AS w FROM s l LEFT OUTER BESTMATCH JOIN s r ON {ln} MINDIST {rn} WINDOW = 5",
     "SELECT l.i, r.i FROM s l, s r WHERE abs({ln} - {rn}) = (SELECT min(abs({ln} - o.n)) FROM (SELECT {rn} AS n FROM s r) o)"),
)  # fmt: skip


@st.composite
def tables(draw) -> pa.Table:
    rows = draw(st.integers(1, 6))

    def some(values):
        return draw(st.lists(st.one_of(st.none(), values), min_size=rows, max_size=rows))

    small = st.integers(0, 3)
    columns = {"k": some(small), "x": some(small), "y": some(small)}
    types = dict.fromkeys(columns, pa.int32())
    columns |= {"b": some(st.booleans()), "c": some(st.booleans())}
    columns["w"] = some(st.sampled_from(["a", "ab", "b", ""]))
    types |= {"b": pa.bool_(), "c": pa.bool_(), "w": pa.string()}
    arrays = {name: pa.array(values, types[name]) for name, values in columns.items()}
    return pa.table({**arrays, "i": pa.array(range(rows)), "t": pa.array([0] * rows, pa.int64())})


def answer(data: pa.Table, query: str) -> Counter:
    w = session({"s": data}, time="t", tables={"d": data.drop_columns(["t"])})
    found = w.sql(query).to_arrow()
    if "_event_time" in found.column_names:
        now = [e == 0 for e in found["_event_time"].to_pylist()]
        found = found.filter(pa.array(now, pa.bool_())).drop_columns(
            ["_change_type", "_event_time"]
        )
    return bag(zip(*(column.to_pylist() for column in found.columns), strict=True))


def truth(data: pa.Table, query: str) -> Counter:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("s", data)
        return bag(connection.execute(query).fetchall())


def of_alias(text: str, alias: str) -> str:
    """The expression over the columns of one alias."""
    words = {"b", "c", "x", "y", "w", "k"}
    pieces = [f"{alias}.{word}" if word in words else word for word in _words(text)]
    return "".join(pieces)


def _words(text: str) -> list[str]:
    return re.findall(r"'[^']*'|\w+|\W", text)


def both(ours: str, theirs: str, condition: str, one: str, other: str) -> tuple[str, str]:
    drawn = {"b": condition, "n": one, "m": other}
    drawn |= {f"{a}{kind}": of_alias(drawn[kind], a) for a in "lr" for kind in "bn"}
    plain = {**drawn, "B": f"({condition})", "RN": f"({drawn['rn']})"}
    direct = {key: f"({_in_duckdb(key, drawn, text)})" for key, text in drawn.items()}
    return ours.format(**plain), theirs.format(**direct)


def _in_duckdb(key: str, drawn: dict[str, str], text: str) -> str:
    base = drawn[key[-1]]
    known = IN_DUCKDB.get(base)
    if known is None:
        return text.replace("<=>", "IS NOT DISTINCT FROM")
    return known if len(key) == 1 else of_alias(known, key[0])


@pytest.mark.parametrize("asked", [*ONE, *GROUPED, *JOINED], ids=lambda asked: asked[0])
@settings(max_examples=share_of(EXAMPLES), deadline=None)
@given(
    data=tables(),
    condition=st.sampled_from(CONDITIONS),
    one=st.sampled_from(NUMBERS),
    other=st.sampled_from(NUMBERS),
)
def test_an_expression_in_a_clause_has_the_value_it_has_by_itself(
    asked, data, condition, one, other
):
    ours, theirs = both(*asked, condition, one, other)
    assert answer(data, ours) == truth(data, theirs), (ours, theirs)
