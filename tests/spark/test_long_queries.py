"""Long and deep queries on Spark: they run, or are refused before anything runs."""

from __future__ import annotations

import pytest

import windrow
from windrow.errors import ParseError

pytestmark = pytest.mark.spark

LONG = {
    "a sum": ("SELECT " + " + ".join(["x"] * 100) + " AS v FROM s", [100, 200]),
    "AND": ("SELECT x AS v FROM s WHERE " + " AND ".join(f"x <> {n}" for n in range(2, 502)), [1]),
    "OR": ("SELECT x AS v FROM s WHERE " + " OR ".join(f"x = {n}" for n in range(2, 502)), [2]),
    "parentheses": ("SELECT " + "(" * 100 + "x" + ")" * 100 + " AS v FROM s", [1, 2]),
    "subqueries": ("SELECT x AS v FROM " + "(SELECT x FROM " * 60 + "s" + ") q" * 60, [1, 2]),
    "UNION ALL": (" UNION ALL ".join(["SELECT x AS v FROM s"] * 60), [1] * 60 + [2] * 60),
}  # fmt: skip


@pytest.mark.parametrize("what", LONG)
def test_long_queries_run_on_spark(spark, what):
    session = windrow.Session(spark=spark)
    session.stream("s", spark.createDataFrame([(1, 0), (2, 5)], "x bigint, t bigint"), time="t")
    query, values = LONG[what]
    assert sorted(row.v for row in session.sql(query).collect()) == values


def test_what_is_too_deep_is_refused_before_spark_sees_it(spark):
    session = windrow.Session(spark=spark)
    session.stream("s", spark.createDataFrame([(1, 0)], "x bigint, t bigint"), time="t")
    with pytest.raises(ParseError, match="levels"):
        session.sql("SELECT " + "(" * 500 + "x" + ")" * 500 + " AS v FROM s")
