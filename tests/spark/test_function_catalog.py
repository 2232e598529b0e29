"""What the catalog of functions says of Spark is what the installed Spark says."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import windrow
from windrow.errors import BindError, UnsupportedError
from windrow.plan.exprs import Expr
from windrow.run.spark.frames import SparkTypes
from windrow.schema import Field, Schema
from windrow.sql.grammar.functions import DUCKDB, PLAIN_IN_SPARK, SPARK

pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).parents[2] / "scripts/function_catalog.py"
COLUMNS = Schema((Field("x", "bigint"), Field("l", "array<bigint>")))


def test_the_catalog_is_what_the_installed_spark_says(spark):
    spec = spec_from_file_location("function_catalog_script", SCRIPT)
    script = module_from_spec(spec)
    sys.modules[spec.name] = script
    spec.loader.exec_module(script)
    assert script.spark_kinds(spark) == SPARK, "make it anew with scripts/function_catalog.py"
    names = script.spark_names(spark)
    assert names >= PLAIN_IN_SPARK
    of_duckdb = DUCKDB.aggregates | DUCKDB.windows | DUCKDB.row_makers | DUCKDB.volatile
    of_spark = SPARK.aggregates | SPARK.windows | SPARK.row_makers | SPARK.volatile
    assert (of_duckdb & names) - of_spark == PLAIN_IN_SPARK


@pytest.mark.parametrize(
    "text", ["mean(x)", "sum(x) + 1", "explode(l)", "rank() OVER (ORDER BY x)"]
)
def test_spark_itself_refuses_what_a_list_of_names_would_let_through(spark, text):
    with pytest.raises(BindError):
        SparkTypes(spark).types(COLUMNS, [Expr(text, text, text, ("x",), "")])


def test_spark_itself_says_that_a_function_of_its_own_users_is_volatile(spark):
    from pyspark.sql.functions import udf

    spark.udf.register("dice", udf(lambda: 4, "int").asNondeterministic())
    rows = spark.createDataFrame([(1, 5)], "x bigint, t bigint")
    session = windrow.Session(spark=spark)
    session.stream("s", rows, time="t")
    assert session.sql("SELECT x + dice() AS v FROM s").toPandas().v.tolist() == [5]
    with pytest.raises(UnsupportedError, match="changelog"):
        session.sql("SELECT x + dice() AS v FROM s [RANGE 5] EMIT CHANGES")


def test_names_of_one_aggregate_have_one_answer_on_spark(spark):
    rows = spark.createDataFrame(
        [(1, True, 0), (3, False, 5), (10, None, 5)], "x int, b boolean, t bigint"
    )
    session = windrow.Session(spark=spark)
    session.stream("s", rows, time="t")
    asked = "SELECT mean(x) AS m, AVG(x) AS a, count_if(b) AS c, some(b) AS o, MAX(b) AS g, every(b) AS e FROM s [RANGE 5]"
    found = session.sql(asked).toPandas()
    inserts = found[found._change_type == "insert"].sort_values("_event_time")
    assert inserts.m.tolist()[:3] == inserts.a.tolist()[:3] == [1.0, 14 / 3, 6.5]
    assert inserts.c.tolist() == [1, 1, 0, 0]
    assert inserts.o.tolist() == inserts.g.tolist() == [True, True, False, None]
    assert inserts.e.tolist() == [True, False, False, None]
