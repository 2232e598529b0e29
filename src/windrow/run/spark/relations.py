"""Stateless specs as DataFrame operations: Spark evaluates, and its optimizer sees, all of them.

A relation is a DataFrame with the flat columns of its spec, then `__time` (ticks), and `__end` and
`__sign` where the rows below have them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.filter_rows import FilterRows
from windrow.physical.nodes.project_rows import ProjectRows
from windrow.physical.nodes.range_rows import RangeRows
from windrow.physical.nodes.scan_stream import ScanStream
from windrow.physical.nodes.scan_table import ScanTable
from windrow.physical.nodes.table_join_rows import TableJoinRows
from windrow.physical.nodes.union_rows import UnionRows
from windrow.plan.exprs import embedded, quote_spark
from windrow.run.spark.change_kinds import sign_of
from windrow.run.spark.read_ahead import PROMISED, promised_ahead
from windrow.run.spark.ticks import lateness_text, ticks_sql, watermark_sql, whole_lateness
from windrow.schema import END, MAX_TICK, MIN_TICK, SIGN, TIME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WATERMARK = "__watermark"
_IS_DATA = "__is_data"
_NOTHING_TOLD = "CAST(NULL AS TIMESTAMP)"

JOINS = {"inner": "inner", "left": "left_outer", "semi": "left_semi", "anti": "left_anti"}
"""Kinds of joins with tables as Spark calls them; it runs each of them over a stream."""


def scan(
    spec: ScanStream,
    frame: DataFrame,
    metric: str,
    extra: tuple[str, ...],
    *,
    reads_ahead: bool = False,
) -> DataFrame:
    """The rows of one stream, with its own watermark where it is streaming.

    Args:
        spec: the scan.
        frame: the stream's DataFrame, with letters where late rows are kept.
        metric: the name under which Spark's progress shows how many rows it has delivered.
        extra: the columns that rows carry beside their own (here at most LETTER, the row as it
            arrived).
        reads_ahead: whether its watermark follows its read-ahead; nobody asks for it in a query
            without operators.
    """
    columns = [
        f"{quote_spark(source)} AS {quote_spark(name)}"
        for source, name in zip(spec.columns, spec.schema.names, strict=True)
    ]
    ticks = ticks_sql(quote_spark(spec.time), spec.time_type)
    is_data = "true"
    if spec.punctuation is not None:
        is_data = f"NOT coalesce({quote_spark(spec.punctuation)}, false)"
    if spec.changes is not None:
        sign = F.when(F.expr(is_data), sign_of(spec.changes))
        frame = frame.withColumn(SIGN, sign.cast("tinyint"))
    rows = frame.selectExpr(*columns, f"{ticks} AS {TIME}", f"{is_data} AS {_IS_DATA}", *extra)
    if frame.isStreaming:
        marked = rows.selectExpr("*", f"{_told(spec)} AS {_WATERMARK}")
        if reads_ahead and spec.read_ahead is not None:
            marked = marked.union(_told_ahead(spec, frame.filter(is_data), ticks, marked))
        marked = marked.withWatermark(_WATERMARK, lateness_text(spec.lateness or 0, spec.time_type))
        # Spark moves filters below a watermark, which would then follow the rows that pass them, not
        # the stream. It moves nothing below metrics.
        counted = F.count_if(_IS_DATA).alias("rows"), F.max(F.expr(TIME)).alias("newest")
        rows = marked.observe(metric, *counted).drop(_WATERMARK)
    if spec.punctuation is not None or reads_ahead:
        rows = rows.filter(_IS_DATA)
    return rows.drop(_IS_DATA)


def _told(spec: ScanStream) -> str:
    """What Spark's watermark follows, in SQL: it trails the newest of these by the lateness.

    A punctuation completes its own instant, at once and not when the lateness is over:

        row            t                           - lateness = what may still come
        punctuation    t + 1 tick + lateness       - lateness = what may still come
    """
    of_rows = _NOTHING_TOLD
    if spec.lateness is not None:
        of_rows = watermark_sql(TIME, spec.time_type, spec.stream)
    if spec.punctuation is None:
        return of_rows
    completed = f"IF({TIME} > {MIN_TICK}, {TIME} + 1L, {TIME})"
    return f"IF({_IS_DATA}, {of_rows}, {_told_at(completed, spec)})"


def _told_ahead(spec: ScanStream, frame: DataFrame, ticks: str, like: DataFrame) -> DataFrame:
    """Rows that are no data, and tell Spark what the stream promises by its read-ahead."""
    assert spec.read_ahead is not None
    ahead = promised_ahead(frame, ticks, spec.stream, spec.read_ahead)
    beside = {
        TIME: F.lit(MIN_TICK),
        _IS_DATA: F.lit(False),
        _WATERMARK: F.expr(_told_at(PROMISED, spec)),
    }
    return ahead.select(
        *(
            beside.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
            for field in like.schema.fields
        )
    )


def _told_at(completed: str, spec: ScanStream) -> str:
    """What tells Spark, in SQL, that nothing before these ticks follows, whatever the lateness."""
    lateness = whole_lateness(spec.lateness or 0, spec.time_type)
    later = f"least({completed}, {MAX_TICK - lateness}L) + {lateness}L"
    reached = f"IF({completed} > {MIN_TICK}, {later}, {completed})"
    return watermark_sql(reached, spec.time_type, spec.stream)


def scan_table(spec: ScanTable, frame: DataFrame) -> DataFrame:
    """The rows of one table: no time, and nothing beside its columns."""
    return frame.selectExpr(
        *(
            f"{quote_spark(source)} AS {quote_spark(name)}"
            for source, name in zip(spec.columns, spec.schema.names, strict=True)
        )
    )


def of_table(spec: PhysicalNode, frames: Mapping[str, DataFrame]) -> DataFrame:
    """The rows that a join with a table reads of it."""
    if isinstance(spec, ScanTable):
        return scan_table(spec, frames[spec.table])
    assert isinstance(spec, FilterRows | ProjectRows)
    rows = of_table(spec.input, frames)
    if isinstance(spec, FilterRows):
        return filter_rows(spec, rows)
    return rows.selectExpr(*_computed(spec))


def join_table(
    spec: TableJoinRows, rows: DataFrame, table: DataFrame, extra: tuple[str, ...]
) -> DataFrame:
    """The rows joined with a table; time and the extra columns pass through.

    Keys are computed below the join: there Spark evaluates functions of the user's too.
    """
    keys = [(f"__key{n}", f"__place{n}", key) for n, key in enumerate(spec.keys)]
    rows = rows.selectExpr("*", *(f"{embedded(key.row.spark)} AS {name}" for name, _, key in keys))
    table = table.selectExpr(
        "*", *(f"{embedded(key.table.spark)} AS {name}" for _, name, key in keys)
    )
    tests = [f"{left} {'<=>' if key.null_safe else '='} {right}" for left, right, key in keys]
    tests += [embedded(predicate.spark) for predicate in spec.predicates]
    joined = rows.join(table, F.expr(" AND ".join(tests) or "true"), JOINS[spec.kind])
    own = [quote_spark(name) for name in spec.schema.names]
    return joined.selectExpr(*own, TIME, *extra)


def filter_rows(spec: FilterRows, rows: DataFrame) -> DataFrame:
    """The rows for which every predicate is true."""
    for predicate in spec.predicates:
        rows = rows.filter(F.expr(predicate.spark))
    return rows


def project_rows(spec: ProjectRows, rows: DataFrame, extra: tuple[str, ...]) -> DataFrame:
    """Computed columns; time and the extra columns pass through."""
    return rows.selectExpr(*_computed(spec), TIME, *extra)


def _computed(spec: ProjectRows) -> list[str]:
    return [f"{embedded(item.expr.spark)} AS {quote_spark(item.name)}" for item in spec.items]


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
