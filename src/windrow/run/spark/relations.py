"""Nodes without state as DataFrame operations: Spark evaluates, and its optimizer sees, all of them.

A relation is a DataFrame with the flat columns of its node, then `__time` (ticks), and `__end` and
`__sign` where the rows below have them. One of a table has its columns alone. A node names the
function here that makes it.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple, Protocol

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
from windrow.run.spark.changelogs import sign_of
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


class Scanned(NamedTuple):
    """The DataFrame of one scan of a stream.

    Attributes:
        frame: the stream's rows, with letters where late rows are kept.
        metric: the name under which Spark's progress shows how many rows it has delivered.
        reads_ahead: whether its watermark follows its read-ahead; nobody asks for it in a query
            without operators.
    """

    frame: DataFrame
    metric: str
    reads_ahead: bool = False


class Building(Protocol):
    """A query on its way to a DataFrame."""

    @property
    def broadcasts_tables(self) -> bool:
        """Whether rows are to stay in order where they are joined with tables."""
        ...

    def relation(self, node: PhysicalNode) -> DataFrame:
        """The rows of a node."""
        ...

    def beside(self, node: PhysicalNode) -> tuple[str, ...]:
        """The columns that its rows have beside its own, time first; none where it is of a table."""
        ...

    def scanned(self, node: ScanStream) -> Scanned:
        """The DataFrame of the next scan, in the order in which they are made."""
        ...

    def table(self, name: str) -> DataFrame:
        """The DataFrame of a table."""
        ...


def scan_stream(spec: ScanStream, building: Building) -> DataFrame:
    """The rows of one stream, with its own watermark where it is streaming."""
    frame, metric, reads_ahead = building.scanned(spec)
    extra = building.beside(spec)[1:]
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
        marked = rows.selectExpr("*", f"{watermark_told(spec)} AS {_WATERMARK}")
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


def watermark_told(spec: ScanStream) -> str:
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


def scan_table(spec: ScanTable, building: Building) -> DataFrame:
    """The rows of one table."""
    return building.table(spec.table).selectExpr(
        *(
            f"{quote_spark(source)} AS {quote_spark(name)}"
            for source, name in zip(spec.columns, spec.schema.names, strict=True)
        )
    )


def join_table(spec: TableJoinRows, building: Building) -> DataFrame:
    """The rows joined with a table; what they have beside their columns passes through.

    Keys are computed below the join: there Spark evaluates functions of the user's too.
    """
    rows, table = building.relation(spec.input), building.relation(spec.table)
    if building.broadcasts_tables:
        table = F.broadcast(table)
    keys = [(f"__key{n}", f"__place{n}", key) for n, key in enumerate(spec.keys)]
    rows = rows.selectExpr("*", *(f"{embedded(key.row.spark)} AS {name}" for name, _, key in keys))
    table = table.selectExpr(
        "*", *(f"{embedded(key.table.spark)} AS {name}" for _, name, key in keys)
    )
    tests = [f"{left} {'<=>' if key.null_safe else '='} {right}" for left, right, key in keys]
    tests += [embedded(predicate.spark) for predicate in spec.predicates]
    joined = rows.join(table, F.expr(" AND ".join(tests) or "true"), JOINS[spec.kind])
    own = [quote_spark(name) for name in spec.schema.names]
    return joined.selectExpr(*own, *building.beside(spec.input))


def filter_rows(spec: FilterRows, building: Building) -> DataFrame:
    """The rows for which every predicate is true."""
    rows = building.relation(spec.input)
    for predicate in spec.predicates:
        rows = rows.filter(F.expr(predicate.spark))
    return rows


def project_rows(spec: ProjectRows, building: Building) -> DataFrame:
    """Computed columns; what rows have beside theirs passes through."""
    computed = [f"{embedded(item.expr.spark)} AS {quote_spark(item.name)}" for item in spec.items]
    return building.relation(spec.input).selectExpr(*computed, *building.beside(spec.input))


def range_rows(spec: RangeRows, building: Building) -> DataFrame:
    """Every row alive for the given ticks, or shorter where it already had an end.

    Time plus window plus one: the end is the first instant at which the row is gone, or never
    where BIGINT time comes to its own end before.
    """
    lasts, beside = spec.ticks + 1, building.beside(spec.input)
    end = f"IF({TIME} > {MAX_TICK - lasts}L, {MAX_TICK}L, {TIME} + {lasts}L)"
    if END in beside:
        end = f"least({END}, {end})"
    own = [quote_spark(name) for name in spec.schema.names]
    others = [name for name in beside if name not in {TIME, END}]
    rows = building.relation(spec.input)
    return rows.selectExpr(*own, TIME, f"{end} AS {END}", *others)


def union_rows(spec: UnionRows, building: Building) -> DataFrame:
    """The rows of all inputs; where one has no ends, or no signs, its rows never end, or come."""
    own = [quote_spark(name) for name in spec.schema.names]
    alike = {END: f"{MAX_TICK}L AS {END}", SIGN: f"CAST(1 AS TINYINT) AS {SIGN}"}
    below = [building.relation(child) for child in spec.inputs]
    beside = building.beside(spec)
    frames = [
        rows.selectExpr(*own, *(name if name in rows.columns else alike[name] for name in beside))
        for rows in below
    ]
    return reduce(lambda left, right: left.union(right), frames)
