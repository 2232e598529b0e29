"""What EXPLAIN says of a query on Spark about who chooses its plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from golden.catalog import CATALOG

from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.optimize.planner import optimize
from windrow.physical.explain.explanation import explain
from windrow.physical.options import Options
from windrow.physical.query import Runner
from windrow.sql.compile import compile_query

HINTED = "SELECT f.x FROM fast f, slow s WHERE f.k = s.k WINDOW = INTERVAL '10' SECONDS"
UNKNOWN = "SELECT a.x FROM a, b WHERE a.k = b.k WINDOW = INTERVAL '10' SECONDS"
OUTER = "SELECT a.x FROM a LEFT JOIN b ON a.k = b.k WINDOW = INTERVAL '10' SECONDS"


def chosen(sql: str, runner: Runner, **options: str) -> list[str]:
    """The lines of the fact `chosen`."""
    logical = compile_query(sql, CATALOG, DuckdbTypes())
    text = explain(logical, replace(optimize(logical, Options(**options)), runner=runner))
    lines = iter(text.splitlines())
    first = next((line for line in lines if line.strip().startswith("chosen ")), None)
    if first is None:
        return []
    found = [first.strip().removeprefix("chosen").strip()]
    for line in lines:
        if not line.startswith(" " * first.index("in the" if "in the" in first else "for all")):
            break
        found.append(line.strip())
    return found


def test_while_streaming_it_is_the_worker_by_rows_held_and_come():
    assert chosen(HINTED, Runner.spark_streaming) == [
        "in the worker, for each bucket when a micro-batch begins: by the rates of rows held and new ones, and samples of their keys",
        "again once a rate, or the rows at once, are 4 times as many, or as few",
        "expected by hints, and run until rates are known: bew-hash",
        "workers add to the costs of all plans but bew the cost of laying out the rows held in every micro-batch",
        "the state is the same for every plan",
    ]


def test_in_a_batch_run_it_is_the_worker_by_the_first_rows():
    assert chosen(UNKNOWN, Runner.spark_batch) == [
        "in the worker, for each bucket by its first rows: their rates, and samples of their keys",
        "again once a rate, or the rows at once, are 4 times as many, or as few",
        "expected, and run until rates are known: bew-hash",
    ]


def test_a_plan_that_is_forced_is_not_left_to_the_worker():
    assert chosen(HINTED, Runner.spark_streaming, algorithm="few") == [
        "for all buckets, by the options given; the state is that of any plan"
    ]


def test_a_join_that_sheds_has_its_plan_from_the_driver():
    memory = {"memory": "100 tuples", "on_memory": "shed"}
    assert chosen(HINTED, Runner.spark_streaming, **memory) == [
        "for all buckets, by the rates known as the query starts; the state is that of any plan"
    ]


@pytest.mark.parametrize(
    ("sql", "runner"), [(HINTED, Runner.process), (OUTER, Runner.spark_streaming)]
)
def test_where_there_is_nothing_to_choose_nothing_is_said(sql, runner):
    assert chosen(sql, runner) == []
