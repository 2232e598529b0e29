"""What Spark says of DataFrames and expressions (columns, types, whether they are endless), and the user's functions there.

Asked "what type is this expression?", Spark analyzes, and runs nothing.

Spark evaluates the SELECT list and the conditions on single streams; there a user's function is a
scalar Arrow UDF. The predicates of a join call it in the join's own worker.

A changelog in a DataFrame has its kinds of changes as signs, and gives the answer at an instant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from windrow.errors import BindError, UnsupportedError
from windrow.operators.columns.arrow_types import arrow_type, conform, spark_type
from windrow.operators.expressions.functions import call_function
from windrow.plan.changelogs import (
    SIGNS,
    Instant,
    check_changelog,
    instant_ticks,
    more_deletes,
    unknown_change,
)
from windrow.plan.exprs import Expr, quote_spark
from windrow.plan.functions import UserFunction
from windrow.plan.types import refused_expression
from windrow.run.spark.failures import told_first, within_sparks_stack
from windrow.run.spark.ticks import time_sql
from windrow.schema import CHANGE_TYPE, EVENT_TIME, Field, Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from windrow.operators.expressions.evaluate import DuckdbTypes


UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def describe(df: DataFrame) -> tuple[Schema, bool]:
    """The schema of a DataFrame and whether it is streaming.

    Raises:
        BindError: what was given is no DataFrame of Spark's.
    """
    if not (hasattr(df, "isStreaming") and isinstance(getattr(df, "schema", None), StructType)):
        raise BindError(
            "not-a-dataframe",
            f"a session on Spark takes Spark DataFrames, not {type(df).__name__}",
            hint="make one with spark.createDataFrame(..), or use windrow.Session() without Spark",
        )
    fields = tuple(Field(field.name, type_text(field.dataType)) for field in df.schema.fields)
    return Schema(fields), bool(df.isStreaming)


def with_arrival(df: DataFrame, column: str) -> DataFrame:
    """The rows with the instant of their arrival.

    Streaming, that is the instant at which Spark began their micro-batch. Spark notes it in its
    offset log before it runs the batch, so that a batch that is run again repeats it. A batch run
    has one instant, that of the run.
    """
    return df.withColumn(column, F.current_timestamp())


def type_text(data_type: DataType) -> str:
    """A type as Spark's DDL reads it back; names inside structs are quoted where they must be."""
    if isinstance(data_type, ArrayType):
        return f"array<{type_text(data_type.elementType)}>"
    if isinstance(data_type, MapType):
        return f"map<{type_text(data_type.keyType)},{type_text(data_type.valueType)}>"
    if isinstance(data_type, StructType):
        fields = [f"{quoted(f.name)}:{type_text(f.dataType)}" for f in data_type.fields]
        return f"struct<{','.join(fields)}>"
    return data_type.simpleString()


def quoted(name: str) -> str:
    """A name within a type, as Spark's DDL reads it."""
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


class SparkTypes:
    """A `plan.types.TypeResolver` that asks a Spark session.

    Examples:
        >>> SparkTypes(spark).types(Schema((Field("a.x", "int"),)), [twice])  # doctest: +SKIP
        ['int']
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._empty: dict[Schema, DataFrame] = {}
        self._duckdb: DuckdbTypes | None = None

    def types(self, columns: Schema, expressions: Sequence[Expr]) -> list[str]:
        """The type of each expression; one that Spark refuses is a BindError."""
        if not expressions:
            return []
        try:
            return self._analyze(columns, expressions)
        except (AnalysisException, ParseException) as error:
            if len(expressions) > 1:  # asked one by one, Spark says which of them it does not take
                return [self.types(columns, [one])[0] for one in expressions]
            raise refused_expression("Spark", expressions[0], first_line(error)) from error

    def has_function(self, name: str) -> bool:
        """Whether the session has a function of that name, its own or Spark's."""
        return self._spark.catalog.functionExists(name)

    def volatile_parts(self, columns: Schema, expression: Expr) -> frozenset[str]:
        """The expression itself, where Spark says that it is not deterministic.

        Of functions that the user has registered with Spark, Spark alone knows. Over Spark Connect
        it does not tell.
        """
        frame = getattr(self._selected(columns, [expression]), "_jdf", None)
        is_known = frame is None or frame.queryExecution().analyzed().deterministic()
        return frozenset() if is_known else frozenset({expression.text})

    def agrees_with_duckdb(
        self, columns: Schema, expression: Expr, *, may_differ: bool, depends_on_settings: bool
    ) -> bool:
        """Whether DuckDB, in a worker, gives what this session gives.

        DuckDB works in UTC and raises on errors, as Spark's ANSI mode does.
        """
        if may_differ or (depends_on_settings and not self._has_usual_settings()):
            return False
        from windrow.operators.expressions.evaluate import DuckdbTypes  # noqa: PLC0415  # loads DuckDB

        if self._duckdb is None:
            self._duckdb = DuckdbTypes()
        try:
            return self._duckdb.types(columns, [expression]) == [expression.type]
        except BindError:
            return False

    def _has_usual_settings(self) -> bool:
        zone = self._spark.conf.get("spark.sql.session.timeZone")
        return zone in UTC and self._spark.conf.get("spark.sql.ansi.enabled") == "true"

    def _analyze(self, columns: Schema, expressions: Sequence[Expr]) -> list[str]:
        fields = self._selected(columns, expressions).schema.fields
        return [type_text(field.dataType) for field in fields]

    def _selected(self, columns: Schema, expressions: Sequence[Expr]) -> DataFrame:
        """The expressions over no rows; one that is no value of one row is refused."""
        if columns not in self._empty:
            self._empty[columns] = self._spark.createDataFrame([], columns.ddl())
        named = [f"({expr.spark}) AS `{number}`" for number, expr in enumerate(expressions)]
        of_one_row = " AND ".join(f"(({expr.spark}) IS NULL)" for expr in expressions)
        # Spark refuses aggregates, functions for OVER and makers of rows in a condition.
        with within_sparks_stack():
            return self._empty[columns].where(of_one_row).selectExpr(*named)


def first_line(error: Exception) -> str:
    """What Spark says, without the plan and the SQLSTATE that it adds."""
    text = str(error).strip().splitlines()[0]
    return text.split(" SQLSTATE:")[0].removesuffix(";")


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


_COPIES = "__copies"


def sign_of(column: str) -> Column:
    """Whether the change in a column makes a row come or go; one of no known kind fails the query."""
    kind = F.col(quote_spark(column))
    sign = F.when(kind.isNull(), F.raise_error(F.lit(str(unknown_change(None, column)))))
    for name, value in SIGNS.items():
        sign = sign.when(kind == name, F.lit(value))
    # The text is that of the error for some change, with the one at hand in its place.
    before, after = str(unknown_change("?", column)).split("'?'")
    told = F.concat(F.lit(f"{before}'"), kind, F.lit(f"'{after}"))
    return sign.otherwise(F.raise_error(told))


def state_at(changelog: DataFrame, instant: Instant) -> DataFrame:
    """The rows whose inserts outnumber their deletes up to the instant, each as often as that.

    The condition on time is one that Spark pushes down to files.
    """
    schema, is_streaming = describe(changelog)
    time_type = check_changelog(schema)
    if is_streaming:
        raise UnsupportedError(
            "streaming-changelog",
            "the changelog is a streaming DataFrame, which has no last change",
            hint="write it to a table, and give that: state_at(spark.read.parquet(..), T)",
        )
    last = time_sql(f"{instant_ticks(instant, time_type)}L", time_type)
    names = [name for name in schema.names if name not in {CHANGE_TYPE, EVENT_TIME}]
    own = [quote_spark(name) for name in names]
    counted = (
        changelog.where(f"{EVENT_TIME} <= {last}")
        .groupBy(*own)
        .agg(F.sum(sign_of(CHANGE_TYPE)).alias(_COPIES))
    )
    copies = F.col(_COPIES)
    checked = F.when(copies < 0, F.raise_error(F.lit(str(more_deletes())))).otherwise(copies)
    repeated = F.explode(F.array_repeat(F.lit(0), checked.cast("int"))).alias(_COPIES)
    return counted.select(*own, repeated).select(*own)
