"""Joins by predicates and the user's functions on Spark: the answers of a session in process."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from bags import bag
from plans import planned
from pyspark.errors import PySparkException
from spark_runs import SingleRun, Streams, closed, draw

from windrow.physical.nodes.stateless import FilterRows
from windrow.physical.nodes.time_join import TimeJoin

MIXED = """
    SELECT x.ts, y.ts AS yts, x.v, y.v AS yv, gap(x.v, y.v) AS gap
    FROM x, y
    WHERE x.v < y.v AND x.k <> y.k AND close(x.v, y.v) AND x.v + y.v > 3
      AND close(y.v, 6) AND sqrt(x.v) < y.v + 1
    WINDOW = 4
"""


def register(session):
    # Here, so that cloudpickle sends them by value: workers do not see this module.
    def close(left: pa.Array, right: pa.Array) -> pa.Array:
        return pc.less_equal(pc.abs(pc.subtract(left, right)), 4)

    def gap(left: int | None, right: int | None) -> float | None:
        return None if left is None or right is None else abs(left - right) / 2

    session.function("close", close, arguments=["bigint", "bigint"])
    session.function("gap", gap, returns="double", vectorized=False)
    return session


@pytest.fixture(scope="module")
def streams(tmp_path_factory) -> Streams:
    tables = {name: closed(draw(seed, 2)) for seed, name in enumerate("xy")}
    found = Streams(tmp_path_factory.mktemp("streams"), tables)
    found.write_all()
    return found


def test_predicates_and_functions_give_one_answer_in_process_in_batch_and_streaming(
    spark, streams, tmp_path
):
    expected = bag(register(streams.in_process()).sql(MIXED))
    assert len(expected) > 5
    batch = register(streams.on_spark(spark, is_streaming=False))
    assert bag(batch.sql(MIXED).toArrow()) == expected
    run = SingleRun(tmp_path)
    run.finish(register(streams.on_spark(spark)).sql(MIXED))
    assert bag(run.rows(spark)) == expected


def test_what_duckdb_would_answer_otherwise_is_left_to_spark(spark, streams):
    session = register(streams.on_spark(spark, is_streaming=False))
    physical = planned(session, MIXED)
    above = physical.root.input
    assert isinstance(above, FilterRows)
    assert [predicate.text for predicate in above.predicates] == ["sqrt(x.v) < y.v + 1"]
    assert isinstance(above.input, TimeJoin)
    assert len(above.input.predicates) == 4
    assert [function.name for function in above.input.functions] == ["close"]


def test_a_function_that_fails_in_a_worker_is_named(spark, streams):
    session = streams.on_spark(spark, is_streaming=False)
    session.function("wrong", lambda left, _: left)
    for where in (
        "x.k < y.k AND wrong(x.v, y.v) WINDOW = 4",
        "wrong(x.v, x.v) AND x.k = y.k WINDOW = 4",
    ):
        with pytest.raises(
            PySparkException, match=r"DataError\[function-type\].*the function wrong gave"
        ):
            session.sql(f"SELECT x.v FROM x, y WHERE {where}").toArrow()


def test_a_function_that_fails_in_a_join_is_shown_where_the_query_calls_it(spark, streams):
    session = streams.on_spark(spark, is_streaming=False)
    session.function("wrong", lambda left, _: left)
    query = "SELECT x.v FROM x, y\nWHERE x.k < y.k AND wrong(x.v, y.v) WINDOW = 4"
    with pytest.raises(PySparkException, match=r"DataError\[function-type\]") as caught:
        session.sql(query).toArrow()
    shown = str(caught.value)
    assert "  2 | WHERE x.k < y.k AND wrong(x.v, y.v) WINDOW = 4\n" in shown
    assert f"    | {' ' * 20}{'^' * len('wrong(x.v, y.v)')}\n" in shown


def test_a_function_of_the_sessions_own_is_not_replaced(spark, streams):
    spark.udf.register("theirs", lambda x: x)
    session = streams.on_spark(spark, is_streaming=False)
    with pytest.raises(ValueError, match="function-name"):
        session.function("theirs", pc.equal)
