"""Nodes that Spark evaluates itself, as DataFrame operations, and what streams promise ahead.

**Relations.** Nodes without state are Spark's to evaluate, and its optimizer sees them. A relation
is a DataFrame with the flat columns of its node, then `__time` (ticks), and `__end` and `__sign`
where the rows below have them. One of a table has its columns alone. A node names the function here
that makes it.

**Read-ahead** is what a stream promises by the order in which its rows arrive. Spark keeps no order
between the tasks of a micro-batch, but a stream may come in one ordered partition: a topic of one
partition, one file per micro-batch. Its times are read once more, beside its rows:

    the stream --> rows -----------------------------------------------+
        |                                                              union --> withWatermark
        +--> times --mapInArrow--> what a read-ahead needs of them      |
                   --one key, transformWithStateInPandas-->  what is promised, one row per batch

The stateful step has no watermark of its own. It remembers the last times of the micro-batches
before. A micro-batch that comes in several partitions, or from several files, has no order in which
to count rows: it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from windrow.errors import DataError
from windrow.operators.columns.arrow_types import arrow_schema
from windrow.operators.feeds.promises import ReadAhead
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.scans import ScanStream, ScanTable
from windrow.physical.nodes.stateless import (
    FilterRows,
    ProjectRows,
    RangeRows,
    TableJoinRows,
    UnionRows,
)
from windrow.plan.exprs import embedded, quote_spark
from windrow.run.spark.failures import of_another_query, told_first
from windrow.run.spark.frames import sign_of
from windrow.run.spark.ticks import lateness_text, ticks_sql, watermark_sql, whole_lateness
from windrow.schema import END, MAX_TICK, MIN_TICK, SIGN, TIME, Schema

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

    from windrow.run.spark.query import Builder

    Mapper = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


PROMISED = "promised"
"""The least time, in ticks, that the stream may still deliver."""

ROWS_AT_ONCE = 1 << 20
"""Times that a task gathers before it looks at them."""

_ARRIVED = Schema.of(all="int", files="bigint", reached="bigint", first="binary", last="binary")
"""What a task tells of its times. `all` is the same everywhere, so that those of all tasks meet."""

_REMEMBERED = StructType(
    [
        StructField("stream", StringType()),
        StructField("reached", LongType()),
        StructField("last", BinaryType()),
    ]
)


def promised_ahead(rows: DataFrame, time: str, stream: str, ahead: int) -> DataFrame:
    """What a stream promises by read-ahead: a row per micro-batch with PROMISED.

    Args:
        rows: those of the stream that are data.
        time: their event time in ticks, in SQL.
        stream: its name.
        ahead: how many rows in a row beyond an instant promise that it is complete.
    """
    times = rows.selectExpr(f"{time} AS tick", f"{_file_sql(rows)} AS file")
    arrived = times.mapInArrow(arrivals(ahead), _ARRIVED.ddl())
    return arrived.groupBy("all").transformWithStateInPandas(
        AheadProcessor(stream, ahead), f"{PROMISED} BIGINT", "Append", "None"
    )


def _file_sql(rows: DataFrame) -> str:
    """The file that a row is read from, in SQL; always the same one where Spark cannot say."""
    name = "input_file_name()"
    try:
        _ = rows.selectExpr(name).schema  # asks now, through Connect too
    except AnalysisException:  # rows are joined, or of several sources
        return "''"
    return name


def arrivals(ahead: int) -> Mapper:
    """The function that cuts the times of a task down to what a read-ahead needs of them."""

    def tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrived, files = ReadAhead(), set()
        for times, names in _gathered(batches):
            arrived = arrived.then_times(times, ahead)
            files |= names
        if arrived.has_times:
            told = (0, len(files), arrived.reached, *map(_to_bytes, (arrived.first, arrived.last)))
            row = dict(zip(_ARRIVED.names, told, strict=True))
            yield pa.RecordBatch.from_pylist([row], schema=arrow_schema(_ARRIVED))

    return tell


class AheadProcessor(StatefulProcessor):
    """Remembers the last times of a stream from micro-batch to micro-batch."""

    def __init__(self, stream: str, ahead: int) -> None:
        self._stream = stream
        self._ahead = ahead

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declares the state; called in every task, and once on the driver."""
        self._remembered = handle.getValueState("ahead", _REMEMBERED)

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Takes what the tasks of a micro-batch tell, and says what is promised after it."""
        with told_first():
            told = [arrived for frame in rows for arrived in frame.itertuples(index=False)]
            if len(told) > 1:
                raise _unordered(self._stream, f"came in {len(told)} partitions", _BY_TASKS)
            if told[0].files > 1:
                raise _unordered(self._stream, f"came from {told[0].files} files", _BY_SIZE)
            first, last = _from_bytes(told[0].first), _from_bytes(told[0].last)
            now = self._before().then(ReadAhead(told[0].reached, first, last), self._ahead)
        self._remembered.update((self._stream, now.reached, _to_bytes(now.last)))
        if now.reached > MIN_TICK:
            import pandas as pd  # noqa: PLC0415  # not on the driver

            yield pd.DataFrame({PROMISED: [now.reached]})

    def close(self) -> None:
        """Ends the task."""

    def _before(self) -> ReadAhead:
        """What is remembered of the micro-batches before."""
        found = self._remembered.get()
        if not found:
            return ReadAhead()
        stream, reached, last = found
        if stream != self._stream:
            raise of_another_query(
                f"it holds the read-ahead of {stream}; this stage has that of {self._stream}"
            )
        return ReadAhead(reached, last=_from_bytes(last))


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[NDArray[np.int64], set[str]]]:
    """The times of a task in the order of their arrival, many at a time, and their files."""
    times: list[NDArray[np.int64]] = []
    names: set[str] = set()
    rows = 0
    for batch in batches:
        times.append(batch.column(0).to_numpy())
        names |= set(batch.column(1).unique().to_pylist())
        rows += batch.num_rows
        if rows >= ROWS_AT_ONCE:
            yield np.concatenate(times), names
            times, rows = [], 0
    if times:
        yield np.concatenate(times), names


def _to_bytes(times: tuple[int, ...]) -> bytes:
    return np.array(times, "<i8").tobytes()


def _from_bytes(times: bytes) -> tuple[int, ...]:
    return tuple(np.frombuffer(times, "<i8").tolist())


_BY_TASKS = (
    "partitions are read at the same time: there is no order of arrival in which to count rows",
    "read a source of one partition, such as a topic of one or a file per micro-batch (with"
    " maxFilesPerTrigger 1 and spark.sql.files.minPartitionNum 1); or promise a lateness",
)
_BY_SIZE = (
    "Spark reads the files of a micro-batch by their sizes, not as they arrived",
    "read one file per micro-batch: .option('maxFilesPerTrigger', 1); or promise a lateness",
)


def _unordered(stream: str, how: str, why: tuple[str, str]) -> DataError:
    return DataError(
        "read-ahead-without-order",
        f"the stream {stream} has a read-ahead, and a micro-batch of it {how}",
        reason=why[0],
        hint=why[1],
    )


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


def _read(columns: Sequence[str], node: PhysicalNode) -> list[str]:
    """Columns of data, in SQL, under the names that a scan gives them."""
    names = zip(columns, node.schema.names, strict=True)
    return [f"{quote_spark(source)} AS {quote_spark(name)}" for source, name in names]


def scan_stream(node: ScanStream, builder: Builder) -> DataFrame:
    """The rows of one stream, with its own watermark where it is streaming."""
    frame, metric, reads_ahead = builder.scanned(node)
    extra = builder.beside(node)[1:]
    columns = _read(node.columns, node)
    ticks = ticks_sql(quote_spark(node.time), node.time_type)
    is_data = "true"
    if node.punctuation is not None:
        is_data = f"NOT coalesce({quote_spark(node.punctuation)}, false)"
    if node.changes is not None:
        sign = F.when(F.expr(is_data), sign_of(node.changes))
        frame = frame.withColumn(SIGN, sign.cast("tinyint"))
    rows = frame.selectExpr(*columns, f"{ticks} AS {TIME}", f"{is_data} AS {_IS_DATA}", *extra)
    if frame.isStreaming:
        marked = rows.selectExpr("*", f"{watermark_told(node)} AS {_WATERMARK}")
        if reads_ahead and node.read_ahead is not None:
            marked = marked.union(_told_ahead(node, frame.filter(is_data), ticks, marked))
        marked = marked.withWatermark(_WATERMARK, lateness_text(node.lateness or 0, node.time_type))
        # Spark moves filters below a watermark, which would then follow the rows that pass them, not
        # the stream. It moves nothing below metrics.
        counted = F.count_if(_IS_DATA).alias("rows"), F.max(F.expr(TIME)).alias("newest")
        rows = marked.observe(metric, *counted).drop(_WATERMARK)
    if node.punctuation is not None or reads_ahead:
        rows = rows.filter(_IS_DATA)
    return rows.drop(_IS_DATA)


def watermark_told(node: ScanStream) -> str:
    """What Spark's watermark follows, in SQL: it trails the newest of these by the lateness.

    A punctuation completes its own instant, at once and not when the lateness is over:

        row            t                           - lateness = what may still come
        punctuation    t + 1 tick + lateness       - lateness = what may still come
    """
    of_rows = _NOTHING_TOLD
    if node.lateness is not None:
        of_rows = watermark_sql(TIME, node.time_type, node.stream)
    if node.punctuation is None:
        return of_rows
    completed = f"IF({TIME} > {MIN_TICK}, {TIME} + 1L, {TIME})"
    return f"IF({_IS_DATA}, {of_rows}, {_told_at(completed, node)})"


def _told_ahead(node: ScanStream, frame: DataFrame, ticks: str, like: DataFrame) -> DataFrame:
    """Rows that are no data, and tell Spark what the stream promises by its read-ahead."""
    assert node.read_ahead is not None
    ahead = promised_ahead(frame, ticks, node.stream, node.read_ahead)
    beside = {
        TIME: F.lit(MIN_TICK),
        _IS_DATA: F.lit(False),
        _WATERMARK: F.expr(_told_at(PROMISED, node)),
    }
    return ahead.select(
        *(
            beside.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
            for field in like.schema.fields
        )
    )


def _told_at(completed: str, node: ScanStream) -> str:
    """What tells Spark, in SQL, that nothing before these ticks follows, whatever the lateness."""
    lateness = whole_lateness(node.lateness or 0, node.time_type)
    later = f"least({completed}, {MAX_TICK - lateness}L) + {lateness}L"
    reached = f"IF({completed} > {MIN_TICK}, {later}, {completed})"
    return watermark_sql(reached, node.time_type, node.stream)


def scan_table(node: ScanTable, builder: Builder) -> DataFrame:
    """The rows of one table."""
    return builder.table(node.table).selectExpr(*_read(node.columns, node))


def join_table(node: TableJoinRows, builder: Builder) -> DataFrame:
    """The rows joined with a table; what they have beside their columns passes through.

    Keys are computed below the join: there Spark evaluates functions of the user's too.
    """
    rows, table = builder.relation(node.input), builder.relation(node.table)
    if builder.broadcasts_tables:
        table = F.broadcast(table)
    keys = [(f"__key{n}", f"__place{n}", key) for n, key in enumerate(node.keys)]
    rows = rows.selectExpr("*", *(f"{embedded(key.row.spark)} AS {name}" for name, _, key in keys))
    table = table.selectExpr(
        "*", *(f"{embedded(key.table.spark)} AS {name}" for _, name, key in keys)
    )
    tests = [f"{left} {'<=>' if key.null_safe else '='} {right}" for left, right, key in keys]
    tests += [embedded(predicate.spark) for predicate in node.predicates]
    joined = rows.join(table, F.expr(" AND ".join(tests) or "true"), JOINS[node.kind])
    own = [quote_spark(name) for name in node.schema.names]
    return joined.selectExpr(*own, *builder.beside(node.input))


def filter_rows(node: FilterRows, builder: Builder) -> DataFrame:
    """The rows for which every predicate is true."""
    rows = builder.relation(node.input)
    for predicate in node.predicates:
        rows = rows.filter(F.expr(predicate.spark))
    return rows


def project_rows(node: ProjectRows, builder: Builder) -> DataFrame:
    """Computed columns; what rows have beside theirs passes through."""
    computed = [f"{embedded(item.expr.spark)} AS {quote_spark(item.name)}" for item in node.items]
    return builder.relation(node.input).selectExpr(*computed, *builder.beside(node.input))


def range_rows(node: RangeRows, builder: Builder) -> DataFrame:
    """Every row alive for the given ticks, or shorter where it already had an end.

    Time plus window plus one: the end is the first instant at which the row is gone, or never
    where BIGINT time comes to its own end before.
    """
    lasts, beside = node.ticks + 1, builder.beside(node.input)
    end = f"IF({TIME} > {MAX_TICK - lasts}L, {MAX_TICK}L, {TIME} + {lasts}L)"
    if END in beside:
        end = f"least({END}, {end})"
    own = [quote_spark(name) for name in node.schema.names]
    others = [name for name in beside if name not in {TIME, END}]
    rows = builder.relation(node.input)
    return rows.selectExpr(*own, TIME, f"{end} AS {END}", *others)


def union_rows(node: UnionRows, builder: Builder) -> DataFrame:
    """The rows of all inputs; where one has no ends, or no signs, its rows never end, or come."""
    own = [quote_spark(name) for name in node.schema.names]
    alike = {END: f"{MAX_TICK}L AS {END}", SIGN: f"CAST(1 AS TINYINT) AS {SIGN}"}
    below = [builder.relation(child) for child in node.inputs]
    beside = builder.beside(node)
    frames = [
        rows.selectExpr(*own, *(name if name in rows.columns else alike[name] for name in beside))
        for rows in below
    ]
    return reduce(lambda left, right: left.union(right), frames)
