"""Every aggregate, batch on Spark, against Spark's own over the rows alive at each instant."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sessions import session

pytestmark = pytest.mark.spark

WINDOW = 4

DOUBLES = [1.5, None, math.nan, -0.0, 0.0, math.inf, 2.5, 2.5, -math.inf, 7.0, None, 1e300]
TEXTS = ["b", "a", None, "é", "", "a longer text", "a longer one", "b", "z", "B", "\uffee", "a"]
CENTS = ["1.10", "2.20", None, "0.01", "2.20", "-3.30", "9.99", None, "0.02", "1.10", "5.00", "0.1"]
WHOLE = [3, None, 3, 7, -2, 7, 1, 0, None, 5, 5, 4]

AGGREGATES = {
    name: call.format(column)
    for column in ("x", "i", "d")
    for name, call in {
        f"least_{column}": "MIN({})",
        f"greatest_{column}": "MAX({})",
        f"middle_{column}": "MEDIAN({})",
        f"distinct_{column}": "COUNT(DISTINCT {})",
        f"once_{column}": "SUM(DISTINCT {})",
        f"var_{column}": "VARIANCE({})",
        f"pop_{column}": "VAR_POP({})",
        f"dev_{column}": "STDDEV({})",
        f"dev_pop_{column}": "STDDEV_POP({})",
    }.items()
} | {
    "first": "MIN(s)",
    "last": "MAX(s)",
    "bytes": "MAX(CAST(s AS BINARY))",
    "day": "MIN(date_add(DATE'2026-01-01', i))",
    "any": "MAX(i > 4)",
    "pairs": "COUNT(DISTINCT s, i)",
    "both": "COUNT(s, i)",
    "large": "COUNT_IF(i > 2)",
    "every": "BOOL_AND(i > 0)",
    "some": "SOME(i > 6)",
    "text_of_last": "MAX_BY(s, t)",
    "number_of_first": "MIN_BY(x, t) FILTER (WHERE i > 2)",
    "cents_by_text": "MAX_BY(d, concat(s, CAST(t AS STRING)))",
}
LISTED = ", ".join(f"{call} AS {name}" for name, call in AGGREGATES.items())


def rows() -> pa.Table:
    count = len(DOUBLES)
    return pa.table(
        {
            "t": pa.array(range(count), pa.int64()),
            "g": pa.array([n % 3 for n in range(count)], pa.int32()),
            "x": pa.array(DOUBLES, pa.float64()),
            "s": pa.array(TEXTS),
            "d": pa.array([None if c is None else Decimal(c) for c in CENTS], pa.decimal128(8, 2)),
            "i": pa.array(WHOLE, pa.int32()),
        }
    )


def comparable(value: Any) -> Any:
    """The value with NaN equal to itself, and doubles to twelve digits: Spark's own drift."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else float(f"{value + 0.0:.12g}")
    return bytes(value) if isinstance(value, bytearray) else value


def plain(row: Any) -> tuple[Any, ...]:
    return tuple(map(comparable, row))


def test_the_changelog_gives_what_spark_gives_over_the_rows_alive(
    spark: Any, tmp_path: Path
) -> None:
    pq.write_table(rows(), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    w = session({"r": frame}, time="t", spark=spark)
    sql = f"SELECT g, {LISTED} FROM r [RANGE {WINDOW}] GROUP BY g"
    answer = w.sql(sql)
    frame.createOrReplaceTempView("alive_rows")
    instants = range(len(DOUBLES) + WINDOW + 1)
    asked = spark.sql(
        f"SELECT id, g, {LISTED} FROM alive_rows JOIN range({len(instants)}) "
        f"ON t <= id AND id <= t + {WINDOW} GROUP BY id, g"
    )
    own_types = [f.dataType for f in asked.schema.fields[1:]]
    assert [f.dataType for f in answer.schema.fields[: len(own_types)]] == own_types
    expected: dict[int, Counter[Any]] = {instant: Counter() for instant in instants}
    for instant, *row in asked.collect():
        expected[instant][plain(row)] += 1
    changes = answer.collect()
    for instant in instants:
        standing: Counter[Any] = Counter()
        for *row, kind, time in changes:
            if time <= instant:
                standing[plain(row)] += 1 if kind == "insert" else -1
        assert {row: n for row, n in standing.items() if n} == expected[instant], instant
