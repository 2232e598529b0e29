"""Calls of the user's functions in a query, and predicates that are plain comparisons."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest
from unit.sql.conftest import CATALOG, stream

from windrow.errors import BindError
from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.plan.functions import UserFunction
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.window_aggregate import WindowAggregate
from windrow.sql.bind.calls import is_free_name
from windrow.sql.compile import compile_query

FUNCTIONS = {
    "similar": UserFunction("similar", pc.equal, ("string", "string"), "boolean"),
    "score": UserFunction("score", lambda left, right: left or right, None, "double"),
    "twice": UserFunction("twice", lambda x: x, ("bigint",), "bigint"),
}
RESOLVER = DuckdbTypes()


def compiled(sql: str):
    return compile_query(sql, CATALOG, RESOLVER, FUNCTIONS)


def predicates(condition: str):
    query = compiled(f"SELECT a.k FROM a, b WHERE {condition} WINDOW = INTERVAL '1' HOUR")
    return next(node for node in query.root.walk() if isinstance(node, Filter)).predicates


def test_a_call_carries_its_function_and_arguments_and_duckdb_reads_its_value():
    (predicate,) = predicates("similar(a.name, b.name)")
    assert predicate.is_call
    assert predicate.columns == ("a.name", "b.name")
    assert predicate.spark == "similar(`a.name`, `b.name`)"
    assert predicate.calls[0].function is FUNCTIONS["similar"]


def test_a_call_may_stand_anywhere_in_a_condition():
    (predicate,) = predicates("NOT SIMILAR(a.name, b.name) OR score(a.x + 1, b.x) > 0.5")
    assert [call.function.name for call in predicate.calls] == ["similar", "score"]
    assert predicate.type == "boolean"
    assert predicate.calls[1].arguments[0].text == "a.x + 1"


def test_argument_types_that_are_left_out_are_those_of_the_call():
    (predicate,) = predicates("score(a.x, b.k) > 1")
    assert predicate.calls[0].function.arguments == ("int", "bigint")


def test_an_argument_is_cast_to_a_type_that_holds_it():
    query = compiled("SELECT twice(a.x) AS y FROM a")
    (item,) = query.root.items
    assert item.expr.type == "bigint"
    assert item.expr.calls[0].arguments[0].type == "bigint"


def test_functions_may_be_keys_items_and_arguments_of_aggregates():
    query = compiled(
        "SELECT twice(k) AS k, SUM(twice(twice(x))) AS s FROM a [RANGE INTERVAL '1' HOUR]"
        " GROUP BY twice(k) HAVING SUM(twice(twice(x))) > 3"
    )
    aggregate = next(node for node in query.root.walk() if isinstance(node, WindowAggregate))
    assert aggregate.keys[0].expr.is_call
    joined = compiled(
        "SELECT a.k FROM a, b WHERE twice(a.x) = twice(b.x) WINDOW = INTERVAL '1' HOUR"
    )
    computed = [n for n in joined.root.walk() if isinstance(n, Project) and n is not joined.root]
    assert sum(item.expr.is_call for node in computed for item in node.items) == 2


@pytest.mark.parametrize("call", ["similar(a.name)", "score(a.x) > 1", "twice() > b.x"])
def test_a_call_with_too_few_arguments_is_told_what_to_write(call):
    with pytest.raises(BindError) as caught:
        compiled(f"SELECT a.k FROM a, b WHERE {call} WINDOW = INTERVAL '1' HOUR")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("condition", "found", "sentence"),
    [
        ("simlar(a.name, b.name)", "unknown-function", "there is no function 'simlar'"),
        ("similar(a.name)", "function-arguments", "similar is called with 1 arguments and takes 2"),
        (
            "score(a.x) > 1",
            "function-arguments",
            "score is called with 1 arguments and takes (left, right)",
        ),
        ("twice() > b.x", "function-arguments", "twice is called with 0 arguments and takes 1"),
        (
            "similar(a.x, b.name)",
            "function-argument-type",
            "similar takes string where it is given int",
        ),
        (
            "score(a.x, b.x)",
            "condition-type",
            "the condition score(a.x, b.x) is double, not boolean",
        ),
    ],
)
def test_a_call_that_does_not_fit_is_refused(condition, found, sentence):
    with pytest.raises(BindError) as caught:
        predicates(condition)
    assert caught.value.condition == found
    assert caught.value.sentence == sentence
    assert caught.value.span is not None


def test_an_unknown_function_names_the_nearest():
    with pytest.raises(BindError) as caught:
        predicates("simlar(a.name, b.name)")
    assert caught.value.hint == "there is similar"


@pytest.mark.parametrize(
    "name", ["abs", "SUM", "window", "dwindow", "select", "cast", "a b", "", "1x"]
)
def test_a_name_that_sql_has_is_not_free(name):
    assert not is_free_name(name)


@pytest.mark.parametrize("name", ["similar", "Score2", "my_distance"])
def test_any_other_name_is_free(name):
    assert is_free_name(name)


@pytest.mark.parametrize(
    ("condition", "sides"),
    [
        ("a.x < b.x", [("a.x", 0, "<", "b.x", 0)]),
        ("(a.x <> b.k)", [("a.x", 0, "<>", "b.k", 0)]),
        ("a.price >= b.x", [("a.price", 0, ">=", "b.x", 0)]),
        ("a.price + 0.5 > b.x", [("a.price", 0.5, ">", "b.x", 0)]),
        (
            "a.x BETWEEN b.x - 5 AND 7 + b.k",
            [("a.x", 0, ">=", "b.x", -5), ("a.x", 0, "<=", "b.k", 7)],
        ),
        ("a.price < b.x + 1", [("a.price", 0, "<", "b.x", 1)]),
        ("a.x < b.x * 2", []),
        ("a.name < b.name", []),
        ("NOT a.x < b.x", [("a.x", 0, ">=", "b.x", 0)]),
        ("a.x + b.x < b.k", []),
    ],
)  # fmt: skip
def test_plain_comparisons_are_told_apart(condition, sides):
    (predicate,) = predicates(condition)
    found = [
        (c.left.column, c.left.shift, c.operator, c.right.column, c.right.shift)
        for c in predicate.comparisons
    ]
    assert found == sides


@pytest.mark.parametrize(
    ("condition", "shift"),
    [
        ("p.d < q.d + INTERVAL '3' DAYS", 3),
        ("p.d < q.d + INTERVAL '24' HOURS", None),  # a timestamp
        ("p.at < q.at - INTERVAL '2' HOURS", -7_200_000_000),
        ("p.at < q.at - INTERVAL '2' DAYS", None),  # not always 48 hours
        ("p.n < q.n + INTERVAL '2' DAYS", 172_800_000_000),
        ("p.n < q.at", None),
    ],
)
def test_times_are_compared_where_an_interval_has_one_length(condition, shift):
    events = stream("events", "ts", "ts bigint, at timestamp, d date, n timestamp_ntz")
    sql = f"SELECT p.d FROM events p, events q WHERE {condition} WINDOW = 9"
    query = compile_query(sql, {"events": events}, RESOLVER)
    (predicate,) = next(n for n in query.root.walk() if isinstance(n, Filter)).predicates
    assert [c.right.shift for c in predicate.comparisons] == ([] if shift is None else [shift])
