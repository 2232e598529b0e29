"""The user's functions as functions of the Spark session, for what Spark itself evaluates.

Spark evaluates the SELECT list and the conditions on single streams; there a user's function is a
scalar Arrow UDF. The predicates of a join call it in the join's own worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.pandas.functions import arrow_udf

from windrow.operators.columns.arrow_types import arrow_type, conform, spark_type
from windrow.operators.expressions.functions import call_function
from windrow.plan.functions import UserFunction
from windrow.run.spark.failures import told_first

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_registered: WeakKeyDictionary[Any, dict[str, UserFunction]] = WeakKeyDictionary()
"""What each Spark session knows of ours: several sessions of Windrow may share one."""


def is_ours(spark: SparkSession, name: str) -> bool:
    """Whether the Spark session has the name from Windrow."""
    return name in _registered.get(spark, {})


def register(spark: SparkSession, functions: Mapping[str, UserFunction]) -> None:
    """Lets the Spark session know these functions, where it does not yet."""
    known = _registered.setdefault(spark, {})
    for name, function in functions.items():
        if known.get(name) != function:
            udf: Any = arrow_udf(_over_arrays(function), function.returns)  # type: ignore[call-overload]
            spark.udf.register(name, udf)
            known[name] = function


def send_whole(modules: Iterable[ModuleType]) -> None:
    """Has the code of modules sent to workers, which would not find them by name."""
    for module in modules:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _over_arrays(function: UserFunction) -> Any:
    def run(*arrays: pa.Array) -> pa.Array:
        with told_first():
            return call_function(function, _canonical(function, arrays), len(arrays[0]))

    return run


def _canonical(function: UserFunction, arrays: tuple[pa.Array, ...]) -> list[pa.Array]:
    """The arguments in the types that the function is called with everywhere."""
    types = function.arguments or tuple(spark_type(array.type) for array in arrays)
    return [
        conform(array, arrow_type(type_), function.name)
        for array, type_ in zip(arrays, types, strict=True)
    ]
