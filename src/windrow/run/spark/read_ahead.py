"""Read-ahead on Spark: what a stream promises by the order in which its rows arrive.

Spark keeps no order between the tasks of a micro-batch, but a stream may come in one ordered
partition: a topic of one partition, one file per micro-batch. Its times are read once more, beside
its rows:

    the stream --> rows -----------------------------------------------+
        |                                                              union --> withWatermark
        +--> times --mapInArrow--> what a read-ahead needs of them      |
                   --one key, transformWithStateInPandas-->  what is promised, one row per batch

The stateful step has no watermark of its own. It remembers the last times of the micro-batches
before. A micro-batch that comes in several partitions, or from several files, has no order in which
to count rows: it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from windrow.errors import DataError, PlanError
from windrow.operators.read_ahead import ReadAhead
from windrow.run.spark.failures import told_first
from windrow.schema import MIN_TICK

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

    Mapper = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

PROMISED = "promised"
"""The least time, in ticks, that the stream may still deliver."""

ROWS_AT_ONCE = 1 << 20
"""Times that a task gathers before it looks at them."""

_ARROW_ARRIVED = pa.schema(
    [
        ("all", pa.int32()),
        ("files", pa.int64()),
        ("reached", pa.int64()),
        ("first", pa.binary()),
        ("last", pa.binary()),
    ]
)
_ARRIVED = "all INT, files BIGINT, reached BIGINT, first BINARY, last BINARY"
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
    arrived = times.mapInArrow(arrivals(ahead), _ARRIVED)
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
            yield pa.RecordBatch.from_arrays(
                [pa.array([v], f.type) for v, f in zip(told, _ARROW_ARRIVED, strict=True)],
                schema=_ARROW_ARRIVED,
            )

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
            yield frame_of(now.reached)

    def close(self) -> None:
        """Ends the task."""

    def _before(self) -> ReadAhead:
        """What is remembered of the micro-batches before."""
        found = self._remembered.get()
        if not found:
            return ReadAhead()
        stream, reached, last = found
        if stream != self._stream:
            raise _of_another_stream(stream, self._stream)
        return ReadAhead(reached, last=_from_bytes(last))


def frame_of(promised: int) -> pd.DataFrame:
    """What is promised, as Spark takes it."""
    import pandas as pd  # noqa: PLC0415  # not on the driver

    return pd.DataFrame({PROMISED: [promised]})


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


def _of_another_stream(found: str, expected: str) -> PlanError:
    return PlanError(
        "checkpoint-of-another-query",
        "the checkpoint was made by a different query",
        reason=f"it holds the read-ahead of {found}; this stage has that of {expected}",
        hint="give this query a checkpointLocation of its own",
    )
