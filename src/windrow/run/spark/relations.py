"""Stateless specs as DataFrame operations: Spark evaluates, and its optimizer sees, all of them.

A relation is a DataFrame with the flat columns of its spec, then `__time` (ticks), and `__end` and
`__sign` where the rows below have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from windrow.operators.changes import END, SIGN, TIME
from windrow.physical.specs import FilterRows, ProjectRows, RangeRows, ScanStream, UnionRows
from windrow.plan.exprs import quote_spark
from windrow.run.spark.ticks import lateness_text, ticks_sql, watermark_sql
from windrow.schema import MAX_TICK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WATERMARK = "__watermark"


def scan(spec: ScanStream, frame: DataFrame, metric: str, extra: tuple[str, ...]) -> DataFrame:
    """The rows of one stream, with its own watermark where it is streaming.

    Args:
        spec: the scan.
        frame: the stream's DataFrame, with letters where late rows are kept.
        metric: the name under which Spark's progress shows how many rows it has delivered.
        extra: the columns that rows carry beside their own (here at most LETTER, the row as it
            arrived).
    """
    columns = [
        f"{quote_spark(source)} AS {quote_spark(name)}"
        for source, name in zip(spec.columns, spec.schema.names, strict=True)
    ]
    ticks = ticks_sql(quote_spark(spec.time), spec.time_type)
    rows = frame.selectExpr(*columns, f"{ticks} AS {TIME}", *extra)
    if not frame.isStreaming:
        return rows
    told = watermark_sql(TIME, spec.time_type, spec.stream)
    marked = rows.selectExpr("*", f"{told} AS {_WATERMARK}").withWatermark(
        _WATERMARK, lateness_text(spec.lateness, spec.time_type)
    )
    # Spark moves filters below a watermark, which would then follow the rows that pass them, not
    # the stream. It moves nothing below metrics.
    observed = marked.observe(metric, F.count(F.lit(1)).alias("rows"))
    return observed.drop(_WATERMARK)


def filter_rows(spec: FilterRows, rows: DataFrame) -> DataFrame:
    """The rows for which every predicate is true."""
    for predicate in spec.predicates:
        rows = rows.filter(F.expr(predicate.spark))
    return rows


def project_rows(spec: ProjectRows, rows: DataFrame, extra: tuple[str, ...]) -> DataFrame:
    """Computed columns; time and the extra columns pass through."""
    computed = [f"{item.expr.spark} AS {quote_spark(item.name)}" for item in spec.items]
    return rows.selectExpr(*computed, TIME, *extra)


def range_rows(spec: RangeRows, rows: DataFrame, extra: tuple[str, ...]) -> DataFrame:
    """Every row alive for the given ticks, or shorter where it already had an end.

    Time plus window plus one: the end is the first instant at which the row is gone, or never
    where BIGINT time comes to its own end before.
    """
    lasts = spec.ticks + 1
    end = f"IF({TIME} > {MAX_TICK - lasts}L, {MAX_TICK}L, {TIME} + {lasts}L)"
    if END in extra:
        end = f"least({END}, {end})"
    own = [quote_spark(name) for name in spec.schema.names]
    others = [name for name in extra if name != END]
    return rows.selectExpr(*own, TIME, f"{end} AS {END}", *others)


def union_rows(spec: UnionRows, below: Sequence[DataFrame], extra: tuple[str, ...]) -> DataFrame:
    """The rows of all inputs; where one has no ends, or no signs, its rows never end, or come."""
    own = [quote_spark(name) for name in spec.schema.names]
    alike = {END: f"{MAX_TICK}L AS {END}", SIGN: f"CAST(1 AS TINYINT) AS {SIGN}"}
    frames = [
        rows.selectExpr(
            *own, TIME, *(name if name in rows.columns else alike[name] for name in extra)
        )
        for rows in below
    ]
    return reduce(lambda left, right: left.union(right), frames)
