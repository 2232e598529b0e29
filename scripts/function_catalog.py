"""Writes src/windrow/sql/grammar/function_catalog.json: what DuckDB and Spark say of their functions.

Run it with both engines installed, after one of them has a new version:

    JAVA_HOME="$(scripts/java)" python scripts/function_catalog.py
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.operators.expressions.evaluate import duckdb_kinds
from windrow.plan.functions import FunctionKinds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACE = Path(__file__).parents[1] / "src/windrow/sql/grammar/function_catalog.json"

_NONDETERMINISTIC = "org.apache.spark.sql.catalyst.expressions.Nondeterministic"
_OF_NOW = re.compile(r"\.(CurrentTimestamp|CurrentDate|CurrentTime|Now|LocalTimestamp)\"")
"""What Spark replaces by the time at which a query starts."""

_GROUPS_OF_VOLATILE = {"misc_funcs", "datetime_funcs", "math_funcs", "string_funcs"}
_EXAMPLE = re.compile(r"> (SELECT .*?);", re.DOTALL)


def spark_names(spark: SparkSession) -> frozenset[str]:
    """All functions that Spark has."""
    return frozenset(info.getName().lower() for info in _infos(spark))


def spark_kinds(spark: SparkSession) -> FunctionKinds:
    """The kinds of Spark's functions, by their groups, their classes and their own examples."""
    groups: dict[str, set[str]] = {}
    for info in _infos(spark):
        groups.setdefault(info.getGroup(), set()).add(info.getName().lower())
    volatile = {i.getName().lower() for i in _infos(spark) if _is_volatile(i, spark)}
    return FunctionKinds(
        spark.version,
        frozenset(groups["agg_funcs"]),
        frozenset(groups["window_funcs"]),
        frozenset(groups["generator_funcs"]),
        frozenset(volatile),
    )


def _infos(spark: SparkSession) -> list[Any]:
    utils = spark._jvm.org.apache.spark.sql.api.python.PythonSQLUtils
    return list(utils.listBuiltinFunctionInfos())


def _is_volatile(info: Any, spark: SparkSession) -> bool:
    """Whether its class is nondeterministic, or an example calls it for the present time.

    Examples that call nothing else are asked.
    """
    jvm: Any = spark._jvm
    loader = jvm.Thread.currentThread().getContextClassLoader()
    of_class = jvm.java.lang.Class.forName(info.getClassName(), False, loader)
    if jvm.java.lang.Class.forName(_NONDETERMINISTIC, True, loader).isAssignableFrom(of_class):
        return True
    if info.getGroup() not in _GROUPS_OF_VOLATILE:
        return False
    examples = _EXAMPLE.findall(info.getExamples() or "")
    own = re.compile(rf"SELECT {re.escape(info.getName())}\([^()]*\)")
    return any(_says_now(example, spark) for example in examples if own.match(example))


def _says_now(example: str, spark: SparkSession) -> bool:
    from pyspark.errors import PySparkException

    try:
        plan = spark.sql(example)._jdf.queryExecution().analyzed()
    except PySparkException:  # of data or modules that are not here
        return False
    return not plan.deterministic() or _OF_NOW.search(plan.toJSON()) is not None


def rendered(duckdb: FunctionKinds, spark: FunctionKinds, names: frozenset[str]) -> str:
    """The text of the catalog."""
    of_spark = spark.aggregates | spark.windows | spark.row_makers | spark.volatile
    of_duckdb = duckdb.aggregates | duckdb.windows | duckdb.row_makers | duckdb.volatile
    plain = (of_duckdb & names) - of_spark
    found = {"spark": asdict(spark), "duckdb": asdict(duckdb), "plain_in_spark": plain}
    return json.dumps(found, indent=1, default=sorted) + "\n"


def main() -> None:
    """Asks both engines and writes the catalog."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    PLACE.write_text(rendered(duckdb_kinds(), spark_kinds(spark), spark_names(spark)))
    print(f"wrote {PLACE}")


if __name__ == "__main__":
    main()
