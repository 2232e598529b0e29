"""A filter and a projection over Arrow batches: DuckDB by way of Windrow's evaluator, and Polars.

    python benchmarks/expressions.py

Prints the median CPU milliseconds per batch, of all threads, so that a busy machine does not blur
them. Polars needs to be installed; Windrow does not use it.
"""

from __future__ import annotations

import os
import statistics
import time

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # DuckDB runs on one thread too

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.expressions.evaluate import Evaluator
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.stateless import FilterRows, ProjectRows
from windrow.plan.exprs import Expr, Named, column
from windrow.schema import Field, Schema

SCAN = ScanStream("sales", "s", (), Schema(()), "ts", "timestamp", 0)
QUERY = (
    'SELECT "s.store", "s.price" * "s.quantity" AS total, upper("s.item") AS item '
    'FROM rows WHERE "s.price" > 4 AND "s.quantity" < 7'
)


def sales(count: int) -> pa.RecordBatch:
    random = np.random.default_rng(7)
    return pa.record_batch(
        {
            "s.store": random.integers(0, 100, count),
            "s.price": random.random(count) * 20,
            "s.quantity": random.integers(1, 9, count).astype(np.int32),
            "s.item": pa.array([f"item {i}" for i in random.integers(0, 1_000, count)]),
        }
    )


def expr(text: str, type_: str, *columns: str) -> Expr:
    return Expr(text, text, text, columns, type_)


FILTER = FilterRows(
    SCAN,
    (
        expr('"s.price" > 4', "boolean", "s.price"),
        expr('"s.quantity" < 7', "boolean", "s.quantity"),
    ),
)
PROJECT = ProjectRows(
    SCAN,
    (
        Named("store", column("s.store", "bigint")),
        Named("total", expr('"s.price" * "s.quantity"', "double", "s.price", "s.quantity")),
        Named("item", expr('upper("s.item")', "string", "s.item")),
    ),
    Schema((Field("store", "bigint"), Field("total", "double"), Field("item", "string"))),
)


def polars_frames(rows: pa.RecordBatch) -> int:
    kept = pl.DataFrame(rows).lazy()
    kept = kept.filter((pl.col("s.price") > 4) & (pl.col("s.quantity") < 7))
    table = kept.select(
        pl.col("s.store"),
        (pl.col("s.price") * pl.col("s.quantity")).alias("total"),
        pl.col("s.item").str.to_uppercase().alias("item"),
    ).collect()
    return table.to_arrow().num_rows


def polars_sql(rows: pa.RecordBatch) -> int:
    context = pl.SQLContext(rows=pl.DataFrame(rows).lazy())
    return context.execute(QUERY).collect().to_arrow().num_rows


def main() -> None:
    evaluator = Evaluator()
    connection = duckdb.connect(config={"threads": 1})

    def windrow(rows: pa.RecordBatch) -> int:
        batch = ChangeBatch(rows, np.arange(rows.num_rows))
        return len(evaluator.apply(PROJECT, evaluator.apply(FILTER, batch)))

    def duckdb_anew(rows: pa.RecordBatch) -> int:
        connection.register("rows", pa.Table.from_batches([rows]))
        return connection.sql(QUERY).to_arrow_table().num_rows

    ways = {
        "DuckDB, bound once (Windrow's evaluator)": windrow,
        "DuckDB, registered and parsed per batch": duckdb_anew,
        "Polars, expressions": polars_frames,
        "Polars, SQL": polars_sql,
    }
    sizes = (10, 1_000, 100_000)
    print("rows per batch".ljust(42), *(f"{size:>9,}" for size in sizes))
    for name, way in ways.items():
        figures = []
        for size in sizes:
            rows = sales(size)
            seconds = []
            for _ in range(40):
                started = time.process_time()
                way(rows)
                seconds.append(time.process_time() - started)
            figures.append(f"{statistics.median(seconds) * 1_000:>9.2f}")
        print(name.ljust(42), *figures)
    evaluator.close()
    connection.close()


if __name__ == "__main__":
    main()
