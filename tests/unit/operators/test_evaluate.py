from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pytest

from windrow.errors import BindError, DataError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.expressions.evaluate import DuckdbTypes, Evaluator, connect
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.stateless import FilterRows, ProjectRows, RangeRows
from windrow.plan.exprs import Expr, Named, column
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

COLUMNS = Schema(
    (
        Field("s.item", "string"),
        Field("s.price", "double"),
        Field("s.quantity", "int"),
        Field("s.ts", "timestamp"),
        Field("s.day", "date"),
        Field("s.cost", "decimal(10,2)"),
        Field("s.tags", "array<string>"),
    )
)
SCAN = ScanStream("sales", "s", ("item",), COLUMNS, "s.ts", "timestamp", 0)


def sql(text: str, type_: str = "", *columns: str) -> Expr:
    return Expr(text, text, text, columns, type_)


def rows(**columns: list[object]) -> ChangeBatch:
    named = {f"s.{name}": values for name, values in columns.items()}
    size = len(next(iter(named.values())))
    return ChangeBatch(
        pa.record_batch(named),
        np.arange(size, dtype=np.int64) * 10,
        np.arange(size, dtype=np.int64) + 1_000,
        np.where(np.arange(size) % 2, -1, 1).astype(np.int8),
    )


def project(*items: Named) -> ProjectRows:
    schema = Schema(tuple(Field(item.name, item.expr.type) for item in items))
    return ProjectRows(SCAN, items, schema)


@pytest.fixture
def evaluator():
    made = Evaluator()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("text", "spark"),
    [
        ('"s.item"', "string"),
        ('"s.quantity" * 2', "int"),
        ('"s.quantity" + 3000000000', "bigint"),
        ('"s.quantity" / 2', "double"),
        ('"s.price" * "s.quantity"', "double"),
        ('"s.cost" + "s.cost"', "decimal(11,2)"),
        ('"s.price" > 4', "boolean"),
        ('"s.ts" - "s.ts"', "interval day to second"),
        ('"s.ts" + INTERVAL 1 HOUR', "timestamp"),
        ('CAST("s.ts" AS TIMESTAMP)', "timestamp_ntz"),
        ('"s.tags"[1]', "string"),
        ("[1, 2]", "array<int>"),
        ("{'x': 1}", "struct<x:int>"),
        ("NULL", "void"),
        ("CAST(1 AS HUGEINT)", "decimal(38,0)"),
    ],
)
def test_expressions_have_sparks_types(text, spark):
    assert DuckdbTypes().types(COLUMNS, [sql(text)]) == [spark]


def test_an_expression_that_duckdb_refuses_is_a_bind_error_with_the_reason():
    with pytest.raises(BindError) as error:
        DuckdbTypes().types(COLUMNS, [sql('"s.item"'), sql('frobnicate("s.item")')])
    first, reason, *_ = str(error.value).splitlines()
    assert first == (
        'BindError[bad-expression]: DuckDB does not take the expression frobnicate("s.item")'
    )
    assert "frobnicate does not exist" in reason


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('"s.item" + 1', "casting where needed: CAST(s.item AS ..)"),
        ('"s.item".z', "a value has fields only if it is a struct: name one that it has"),
        ('"s.item" +', "write it as Spark's SQL has it"),
    ],
)
def test_an_expression_that_duckdb_refuses_comes_with_what_to_write(text, hint):
    with pytest.raises(BindError) as error:
        DuckdbTypes().types(COLUMNS, [sql(text, "", "s.item")])
    assert error.value.hint.endswith(hint)


def test_a_filter_keeps_times_ends_and_signs_with_their_rows(evaluator):
    node = FilterRows(SCAN, (sql('"s.price" > 4', "boolean", "s.price"),))
    kept = evaluator.apply(node, rows(price=[5.0, 3.0, None, 9.0], item=["a", "b", "c", "d"]))
    assert kept.columns.column("s.item").to_pylist() == ["a", "d"]
    assert kept.times.tolist() == [0, 30]
    assert kept.ends.tolist() == [1_000, 1_003]
    assert kept.signs.tolist() == [1, -1]


def test_a_predicate_is_asked_only_where_those_before_it_hold(evaluator):
    node = FilterRows(
        SCAN,
        (
            sql('"s.quantity" <> 0', "boolean", "s.quantity"),
            sql('"s.price" / "s.quantity" > 1', "boolean", "s.price", "s.quantity"),
        ),
    )
    kept = evaluator.apply(node, rows(price=[8.0, 8.0, 1.0, 8.0], quantity=[4, 0, 4, None]))
    assert kept.times.tolist() == [0]


def test_a_projection_computes_and_renames_in_the_specs_order(evaluator):
    node = project(
        Named("what", column("s.item", "string")),
        Named("total", sql('"s.price" * "s.quantity"', "double", "s.price", "s.quantity")),
        Named("again", sql('"s.price" * "s.quantity"', "double", "s.price", "s.quantity")),
        Named("one", sql("1", "int")),
    )
    first = evaluator.apply(node, rows(item=["a", "b"], price=[1.5, None], quantity=[2, 3]))
    assert first.columns.to_pylist() == [
        {"what": "a", "total": 3.0, "again": 3.0, "one": 1},
        {"what": "b", "total": None, "again": None, "one": 1},
    ]
    assert first.times.tolist() == [0, 10]
    second = evaluator.apply(node, rows(item=["c"], price=[2.0], quantity=[5]))
    assert second.columns.to_pylist() == [{"what": "c", "total": 10.0, "again": 10.0, "one": 1}]
    assert second.columns.schema == first.columns.schema


def test_rows_come_back_in_their_order_across_many_vectors(evaluator):
    count = 300_000
    batch = ChangeBatch(pa.record_batch({"s.n": np.arange(count)}), np.arange(count))
    node = project(Named("m", sql('"s.n" + 1', "bigint", "s.n")))
    assert np.array_equal(
        evaluator.apply(node, batch).columns.column(0).to_numpy(), np.arange(1, count + 1)
    )


def test_results_are_cast_to_the_expressions_type(evaluator):
    values = {
        "big": sql('"s.quantity"', "bigint", "s.quantity"),
        "dec": sql('"s.quantity"', "decimal(12,2)", "s.quantity"),
        "gap": sql("INTERVAL 90 MINUTES", "interval day to second"),
        "none": sql("NULL", "void"),
        "pair": sql("{'a b': \"s.quantity\"}", "struct<`a b`:int>", "s.quantity"),
        "keyed": sql("MAP {'k': \"s.quantity\"}", "map<string,int>", "s.quantity"),
        "clock": sql("TIME '01:02:03'", "time(6)"),
    }
    node = project(*(Named(name, expr) for name, expr in values.items()))
    found = evaluator.apply(node, rows(quantity=[7])).columns
    assert [str(kind) for kind in found.schema.types] == [
        "int64",
        "decimal128(12, 2)",
        "duration[us]",
        "null",
        "struct<a b: int32>",
        "map<string, int32>",
        "time64[ns]",
    ]
    assert found.column("gap").cast("int64").to_pylist() == [90 * 60 * 1_000_000]
    assert found.column("pair").to_pylist() == [{"a b": 7}]


def test_picking_and_renaming_columns_never_touches_duckdb(evaluator, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    node = project(Named("x", column("s.item", "string")))
    assert evaluator.apply(node, rows(item=["a"])).columns.to_pylist() == [{"x": "a"}]
    assert evaluator.apply(FilterRows(SCAN, ()), rows(item=["a"])).times.tolist() == [0]


def test_an_empty_batch_keeps_its_schema(evaluator):
    node = project(Named("x", sql('upper("s.item")', "string", "s.item")))
    empty = rows(item=["a"]).slice(0, 0)
    assert evaluator.apply(node, empty).columns.schema == pa.schema([("x", pa.string())])


@pytest.mark.parametrize(
    ("text", "type_", "reason"),
    [
        ('"s.quantity" * "s.quantity"', "int", "Overflow in multiplication"),
        ('"s.quantity" / ("s.quantity" - 2000000000)', "double", "Division by zero"),
        ('CAST("s.item" AS INTEGER)', "int", "Could not convert string 'a'"),
    ],
)
def test_a_value_that_cannot_be_computed_names_its_expression(evaluator, text, type_, reason):
    node = project(
        Named("fine", sql('upper("s.item")', "string", "s.item")),
        Named("bad", sql(text, type_, "s.quantity", "s.item")),
    )
    batch = ChangeBatch(
        pa.RecordBatch.from_arrays(
            [pa.array(["a"]), pa.array([2_000_000_000], pa.int32())], ["s.item", "s.quantity"]
        ),
        np.array([0]),
    )
    with pytest.raises(DataError) as error:
        evaluator.apply(node, batch)
    first, why, hint = str(error.value).splitlines()
    assert first == f"DataError[bad-value]: the expression {text} cannot be computed for a row"
    assert reason in why
    assert "Use TRY" not in why
    assert hint == (
        "  hint: guard it with CASE WHEN, try_divide or try_cast, or filter such rows out"
    )


def test_an_evaluator_works_again_after_it_was_closed(evaluator):
    node = project(Named("x", sql('upper("s.item")', "string", "s.item")))
    evaluator.apply(node, rows(item=["a"]))
    evaluator.close()
    assert evaluator.apply(node, rows(item=["b"])).columns.to_pylist() == [{"x": "B"}]


def test_columns_that_change_their_type_are_bound_again(evaluator):
    keep = FilterRows(SCAN, (sql('"s.n" > 1', "boolean", "s.n"),))
    double = project(Named("m", sql('"s.n" * 2', "double", "s.n")))
    for numbers in ([1, 2], [1.5, 0.5], [3, 0]):
        batch = rows(n=numbers)
        assert evaluator.apply(keep, batch).columns.column(0).to_pylist() == [
            n for n in numbers if n > 1
        ]
        assert evaluator.apply(double, batch).columns.column(0).to_pylist() == [
            n * 2.0 for n in numbers
        ]


def test_evaluators_do_not_see_each_others_rows(evaluator):
    other = Evaluator()
    node = project(Named("x", sql('"s.n" + 1', "bigint", "s.n")))
    assert evaluator.apply(node, rows(n=[1])).columns.to_pylist() == [{"x": 2}]
    assert other.apply(node, rows(n=[5, 6])).columns.to_pylist() == [{"x": 6}, {"x": 7}]
    other.close()
    assert evaluator.apply(node, rows(n=[2])).columns.to_pylist() == [{"x": 3}]


def test_connections_compute_in_utc():
    settings = connect().execute("SELECT current_setting('TimeZone')").fetchone()
    assert settings == ("UTC",)


def test_a_range_ends_one_tick_after_the_last_instant_alive(evaluator):
    times = np.array([MIN_TICK, -5, 0, 7, MAX_TICK - 6, MAX_TICK - 5, MAX_TICK], np.int64)
    batch = ChangeBatch(pa.record_batch({"s.n": times}), times)
    ends = evaluator.apply(RangeRows(SCAN, 5), batch).ends
    assert ends.tolist() == [MIN_TICK + 6, 1, 6, 13, MAX_TICK, MAX_TICK, MAX_TICK]


def test_a_range_leaves_an_earlier_end(evaluator):
    batch = ChangeBatch(pa.record_batch({"s.n": [1, 2]}), np.array([0, 0]), np.array([3, 99]))
    assert evaluator.apply(RangeRows(SCAN, 9), batch).ends.tolist() == [3, 10]


def test_the_widest_range_does_not_overflow(evaluator):
    batch = ChangeBatch(pa.record_batch({"s.n": [1, 2]}), np.array([-4, 4]))
    ends = evaluator.apply(RangeRows(SCAN, MAX_TICK - 1), batch).ends
    assert ends.tolist() == [MAX_TICK - 4, MAX_TICK]
