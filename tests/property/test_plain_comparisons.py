"""A comparison with a constant that numpy computes is what DuckDB answers."""

from __future__ import annotations

import math
from dataclasses import replace

import pyarrow as pa
import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.expressions.duckdb_engine import BoundExprs, conjunction, connect
from windrow.operators.expressions.plain_comparisons import PlainComparison, PlainComparisons
from windrow.plan.exprs import Expr

pytestmark = pytest.mark.law

EDGES = [0.0, -0.0, 0.1, 0.5, 1.0, -1.5, 1e15, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan]
WHOLE = {pa.int8(): 7, pa.int16(): 15, pa.int32(): 31, pa.int64(): 63}
NUMBERS = [
    "0",
    "-0",
    "0.0",
    "-0.0",
    "0.1",
    "0.5",
    "1",
    "-1.5",
    "127",
    "-128",
    "128",
    "300",
    "32768",
]
NUMBERS += [
    "-2147483649",
    "3000000000",
    "999999999999999999",
    "-999999999999999999",
    "123456789.012345",
]
texts = st.one_of(
    st.sampled_from(NUMBERS),
    st.decimals(-1000, 1000, places=3).map(lambda d: f"{d:f}"),
    st.integers(-(10**18) + 1, 10**18 - 1).map(str),
    st.tuples(st.integers(0, 10**7), st.integers(1, 10**8 - 1)).map(lambda p: f"{p[0]}.{p[1]:08d}"),
)


def values_of(kind: pa.DataType) -> st.SearchStrategy[object]:
    if kind == pa.float64():
        return st.one_of(st.none(), st.sampled_from(EDGES), st.floats())
    bits = WHOLE[kind]
    edges = st.sampled_from([-(1 << bits), (1 << bits) - 1, 0, 1, -1])
    return st.one_of(st.none(), edges, st.integers(-(1 << bits), (1 << bits) - 1))


@st.composite
def cases(draw):
    kind = draw(st.sampled_from([pa.float64(), *WHOLE]))
    values = draw(st.lists(values_of(kind), min_size=1, max_size=12))
    number, operator = draw(texts), draw(st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]))
    near = [float(number), math.nextafter(float(number), math.inf)] if kind == pa.float64() else []
    text = f'{number} {operator} "a.v"' if draw(st.booleans()) else f'"a.v" {operator} {number}'
    skipped = draw(st.integers(0, len(values)))
    return pa.array([*values, *near], kind).slice(skipped), text


def expr(text: str) -> Expr:
    return Expr(text, text, text, ("a.v",), "boolean")


def by_duckdb(predicates: tuple[Expr, ...], rows: pa.RecordBatch) -> list[bool]:
    bound = BoundExprs(connect(), "compared", (conjunction(predicates),))
    return list(bound.verdicts(rows, rows.num_rows))


@given(cases())
@settings(max_examples=share_of(600), deadline=None)
def test_numpy_answers_as_duckdb_does(case):
    values, text = case
    rows = pa.record_batch({"a.v": values})
    found = PlainComparisons((expr(text),)).verdicts(rows)
    if found is not None:
        assert found.tolist() == by_duckdb((expr(text),), rows)
    else:
        is_whole = values.type in WHOLE
        assert ("." in text if is_whole else sum(map(str.isdigit, text)) > 15) or len(text) > 24


def test_several_hold_together():
    rows = pa.record_batch({"a.v": pa.array([1.0, 2.0, math.nan, None, 3.0])})
    both = expr('"a.v" > 1.5'), expr('2.5 >= "a.v"')
    assert PlainComparisons(both).verdicts(rows).tolist() == by_duckdb(both, rows)


@pytest.mark.parametrize(
    "text", ['"a.v" > 1e3', '"a.v" > "a.w"', '"a.v" + 1 > 2', '"a.v" > 1 OR "a.v" < 0', "1 > 2"]
)
def test_anything_else_is_left_to_duckdb(text):
    assert PlainComparison.of(expr(text)) is None


def test_what_a_function_gives_is_left_to_duckdb():
    given = expr('"$f(""a.v"")" > 1')
    assert PlainComparison.of(replace(given, columns=("a.v",))) is None


@pytest.mark.parametrize("kind", [pa.float32(), pa.decimal128(10, 2), pa.string(), pa.date32()])
def test_other_types_are_left_to_duckdb(kind):
    rows = pa.record_batch({"a.v": pa.nulls(2, kind)})
    assert PlainComparisons((expr('"a.v" > 1'),)).verdicts(rows) is None
