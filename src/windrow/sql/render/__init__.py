"""Expressions as the texts that Spark and DuckDB evaluate."""
