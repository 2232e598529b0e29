"""Expressions, as the two engines that evaluate them will read them.

Windrow does not evaluate SQL expressions itself: Spark does on Spark, DuckDB does in process. An
expression is therefore carried as the text for either engine, with the columns it reads. Column
names inside the texts are the flat names of the plan (`a.price` is one quoted name).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expr:
    """One SQL expression over the columns of one relation.

    Attributes:
        text: what the user wrote, for EXPLAIN.
        spark: the expression for Spark's `selectExpr` and `filter`.
        duckdb: the same for DuckDB.
        columns: the flat column names it reads, each once, in order of appearance.
        type: the Spark type of its value.
    """

    text: str
    spark: str
    duckdb: str
    columns: tuple[str, ...]
    type: str

    @property
    def is_column(self) -> bool:
        """Whether it only names a column."""
        return len(self.columns) == 1 and self.spark == quote_spark(self.columns[0])


@dataclass(frozen=True)
class Named:
    """An expression with the name of the column it makes."""

    name: str
    expr: Expr


def quote_spark(name: str) -> str:
    """A flat column name as Spark reads it."""
    return "`" + name.replace("`", "``") + "`"


def quote_duckdb(name: str) -> str:
    """A flat column name as DuckDB reads it."""
    return '"' + name.replace('"', '""') + '"'


def column(name: str, type_: str) -> Expr:
    """The expression that names a column."""
    return Expr(name, quote_spark(name), quote_duckdb(name), (name,), type_)
