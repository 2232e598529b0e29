"""Expressions for DuckDB with the values that Spark gives them."""

from __future__ import annotations

from sqlglot import exp

from windrow.schema import Schema


def duckdb_text(node: exp.Expr, columns: Schema) -> str:
    """The expression as DuckDB reads it."""
    del columns
    return node.sql("duckdb", comments=False)
