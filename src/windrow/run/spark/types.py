"""Spark's answer to "what type is this expression?": it analyzes, and runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, ParseException

from windrow.errors import BindError
from windrow.operators.evaluate import DuckdbTypes
from windrow.plan.exprs import Expr
from windrow.plan.types import refused_expression
from windrow.run.spark.failures import within_sparks_stack
from windrow.run.spark.frames import type_text
from windrow.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


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
        except (AnalysisException, ParseException):
            # Asked one by one, Spark says which of them it does not take.
            return [self._type(columns, expression) for expression in expressions]

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
        if self._duckdb is None:
            self._duckdb = DuckdbTypes()
        try:
            return self._duckdb.types(columns, [expression]) == [expression.type]
        except BindError:
            return False

    def _has_usual_settings(self) -> bool:
        zone = self._spark.conf.get("spark.sql.session.timeZone")
        return zone in UTC and self._spark.conf.get("spark.sql.ansi.enabled") == "true"

    def _type(self, columns: Schema, expression: Expr) -> str:
        try:
            return self._analyze(columns, [expression])[0]
        except (AnalysisException, ParseException) as error:
            raise refused_expression("Spark", expression, first_line(error)) from error

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
