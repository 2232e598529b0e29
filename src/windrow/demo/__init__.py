"""The demo: three questions over generated streams, run on Spark and checked by plain SQL in DuckDB."""
