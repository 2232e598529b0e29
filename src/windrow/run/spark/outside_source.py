"""Sources of Windrow's protocol, read by Spark through its Python Data Source API.

    on the driver   initialOffset    Source.start
                    latestOffset     Source.latest
                    partitions       a range of offsets for each partition of the source
                    commit           Source.commit
    in tasks        read             Source.read: Arrow batches, in canonical types

Spark writes the offsets of a micro-batch into its checkpoint before it reads it, and reads it again by
the same offsets after a crash. So ranges have names, and what is no row in a range is kept aside in a
file of that name: written again, it is there once.

Where a query ends, or dies, between its last rows and the micro-batch that Spark runs behind them to
advance the watermark, Spark runs none when it goes on, until rows come. So a reader that goes on and
finds nothing new moves its offset once, by a count that is no partition: a micro-batch without rows.

    <dead letters>/<stream>/aside-<query>-<range>.parquet     partition, offset, why, content

A task has no way to count past Spark but such a file. Where no folder is named for it, what is no row
fails the query: it is never dropped in silence.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakSet

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import cloudpickle
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from windrow.errors import DataError
from windrow.io.protocol import Aside, Json, Offsets, Source, Unavailable
from windrow.operators.columns.arrow_types import arrow_schema, conform_rows, spark_schema
from windrow.run.aside import aside_table, open_folder
from windrow.run.course import PATIENCE_S, Patience
from windrow.run.progress import ProgressView
from windrow.run.spark.failures import told_first
from windrow.run.spark.frames import with_arrival
from windrow.run.spark.garbage import set_aside_modules
from windrow.schema import Field, Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

T = TypeVar("T")

FORMAT = "windrow-source"
READING = "secretReading"
"""The option that holds a source. Spark hides the values of options with such names: it may know passwords."""

BATCH_ROWS = 1 << 20
"""About so many rows of a stream make a micro-batch: one costs some tenths of a second, however small."""

ALL_ROWS = 1 << 62

RESUMED = "windrow-resumed"
"""Beside the partitions of an offset, how often it was moved without rows."""


@dataclass(frozen=True)
class OffsetRange(InputPartition):
    """The rows of a partition between two offsets."""

    partition: str
    start: Json | None
    end: Json


@dataclass(frozen=True)
class Reading:
    """How a source is read for a query.

    Attributes:
        source: where the rows are.
        stream: its name in the session.
        folder: where what is no row is kept; None for nowhere.
        query: a name of the query, for files there.
        patience_s: how long the source may be away.
        ranges: what a batch run reads, the same for each scan of it; None where Spark follows the source.
    """

    source: Source
    stream: str
    folder: str | None = None
    query: str = ""
    patience_s: float = PATIENCE_S
    ranges: tuple[OffsetRange, ...] | None = None

    @property
    def reading(self) -> Reading:
        """Itself: what Spark is given for its rows is how they are read."""
        return self

    def given(
        self,
        part: OffsetRange,
        schema: StructType,
        *,
        is_streaming: bool,  # noqa: ARG002  # what packs them has to know
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a range as Spark takes them, in a task."""
        with told_first():
            canonical = arrow_schema(spark_schema(self.source.columns()))
            wanted = to_arrow_schema(schema, timezone="UTC")
            try:
                for batch in self.batches(part):
                    # The parts of lists and maps have other names with Spark.
                    yield conform_rows(batch, canonical).cast(wanted)
            finally:
                self.source.close()
        set_aside_modules()

    def patiently(self, call: Callable[[], T]) -> T:
        """What a call of the source gives, as soon as it does."""
        return patiently(self.patience_s, call)

    def batches(self, part: OffsetRange) -> Iterator[pa.RecordBatch]:
        """The rows of a range. A source that goes away in the middle is read again, and goes on there.

        It gives the same rows again, in the same order: so many are passed over.
        """
        given = 0

        def begin() -> tuple[Iterator[pa.RecordBatch], pa.RecordBatch | None]:
            self.source.take_aside()  # of a try that was broken off
            rows = _without(self.source.read(part.partition, part.start, part.end), given)
            return rows, next(rows, None)

        rows, batch = self.patiently(begin)
        while batch is not None:
            given += batch.num_rows
            yield batch
            try:
                batch = next(rows, None)
            except Unavailable:
                rows, batch = self.patiently(begin)
        self._keep(part, self.source.take_aside())

    def _keep(self, part: OffsetRange, found: Sequence[Aside]) -> None:
        if not found:
            return
        if self.folder is None:
            first = found[0]
            raise DataError(
                "aside-without-folder",
                f"{self.stream} has a record that could not be read as a row, at"
                f" {json.dumps(first.offset)} of"
                f" partition {first.partition}, and no folder is set to keep it in",
                reason=first.why,
                hint="name one with the option dead_letters, a path or a URI that all workers reach",
            )
        files, base = open_folder(f"{self.folder.rstrip('/')}/{self.stream}")
        told = json.dumps([part.partition, part.start, part.end])
        name = f"aside-{self.query}-{digest(told)}.parquet"
        with files.open_output_stream(f"{base}/.{name}.part") as out:
            pq.write_table(aside_table(found), out)
        files.move(f"{base}/.{name}.part", f"{base}/{name}")


class Given(Protocol):
    """What Spark is given of a source, which reads the ranges of it in tasks: its rows, or blobs of them."""

    @property
    def reading(self) -> Reading:
        """How the source is read."""

    def given(
        self, part: OffsetRange, schema: StructType, *, is_streaming: bool
    ) -> Iterator[pa.RecordBatch]:
        """What there is of a range, in a task."""


def patiently(seconds: float, call: Callable[[], T]) -> T:
    """What a call outside gives, as soon as it does; in whatever process Spark makes it."""
    return Patience(seconds, ProgressView().warn)(call)


def digest(text: str) -> str:
    """A short name for a text."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _without(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches that have rows, without the first rows."""
    for batch in batches:
        if rows < batch.num_rows:
            yield batch.slice(rows)
        rows = max(0, rows - batch.num_rows)


def ranges(source: Source, start: Offsets, end: Offsets) -> list[OffsetRange]:
    """What lies between two offsets, by partition, and of a large partition in parts."""
    return [
        OffsetRange(partition, *part)
        for partition, reached in end.items()
        if reached != start.get(partition)
        for part in source.parts(partition, start.get(partition), reached)
    ]


def as_option(value: object) -> str:
    """A value that Spark carries to its Python processes."""
    return b64encode(cloudpickle.dumps(value)).decode()  # type: ignore[no-untyped-call]


def from_option(text: str) -> Any:
    """What `as_option` has made a text of."""
    return cloudpickle.loads(b64decode(text))


class SourceRows(DataSource):
    """The rows of a source, as Spark asks for them."""

    @classmethod
    def name(cls) -> str:
        """As `format` names it."""
        return FORMAT

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's name
        """What follows the source."""
        return FollowedRows(from_option(self.options[READING]), schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads the ranges of a batch run."""
        return RangedRows(from_option(self.options[READING]), schema)


class FollowedRows(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows a source, one micro-batch after the other."""

    def __init__(self, what: Given, schema: StructType) -> None:
        self._what = what
        self._reading = what.reading
        self._schema = schema
        self._until_dry = self._is_dry = False
        self._has_resumed = True  # unless it is asked where to begin

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Is told to read no further where there is nothing more."""
        self._until_dry = True

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """How much is read at a time, unless Spark wants all of it."""
        return ReadMaxRows(BATCH_ROWS)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a query begins that has no checkpoint yet."""
        self._has_resumed = False
        with told_first():
            return dict(self._reading.patiently(self._reading.source.start))

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far to read next."""
        if self._is_dry:
            return start
        source, since = self._reading.source, _partitions(start)
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else ALL_ROWS
        with told_first():
            end = self._reading.patiently(lambda: source.latest(since, rows))
        has_resumed, self._has_resumed = self._has_resumed, False
        resumed = {name: start[name] for name in (RESUMED,) if name in start}
        if end != since:
            return {**end, **resumed}
        if has_resumed:
            return {**start, RESUMED: start.get(RESUMED, 0) + 1}
        self._is_dry = self._until_dry
        return start  # Spark compares offsets as texts: partitions in the same order

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[OffsetRange]:
        """A task for each partition that has rows, more for one that has many."""
        return ranges(self._reading.source, _partitions(start), _partitions(end))

    def read(self, partition: OffsetRange) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """The rows of a range, in a task."""
        return self._what.given(partition, self._schema, is_streaming=True)

    def commit(self, end: dict[str, Any]) -> None:
        """Tells the source what will not be asked for again."""
        with told_first():
            self._reading.patiently(lambda: self._reading.source.commit(_partitions(end)))

    def stop(self) -> None:
        """Lets go of the source."""
        self._reading.source.close()


def _partitions(offsets: dict[str, Any]) -> dict[str, Any]:
    """What an offset says of the source's partitions."""
    return {name: own for name, own in offsets.items() if name != RESUMED}


class RangedRows(DataSourceReader):
    """Reads what was there when a batch run began."""

    def __init__(self, what: Given, schema: StructType) -> None:
        self._what = what
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        """A task for each partition that has rows; Spark makes one for none."""
        return list(self._what.reading.ranges or ())

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a range, in a task; there is none in a batch run without rows."""
        if not isinstance(partition, OffsetRange):
            return iter(())
        return self._what.given(partition, self._schema, is_streaming=False)


@dataclass(frozen=True)
class OutsideStream:
    """A stream of a source outside, before a query reads it.

    Attributes:
        reading: the source, and the name of the stream.
        arrival: the column that gets the time of arrival; None for none.
    """

    reading: Reading
    arrival: str | None = None

    @property
    def columns(self) -> Schema:
        """Those of the source, with Spark types."""
        return spark_schema(self.reading.source.columns())

    def followed(
        self,
        spark: SparkSession,
        *,
        folder: str | None,
        query: str,
        patience_s: float = PATIENCE_S,
        is_streaming: bool = True,
    ) -> OutsideFrame:
        """The stream as one query reads it: as it grows, or what there is now.

        Args:
            spark: the session.
            folder: where what is no row is kept; None for nowhere.
            query: a name of the query.
            patience_s: how long the source may be away.
            is_streaming: whether Spark follows it.
        """
        reading = replace(self.reading, folder=folder, query=query, patience_s=patience_s)
        if not is_streaming:
            reading = replace(reading, ranges=_all_ranges(reading))
        return OutsideFrame(spark, replace(self, reading=reading))


@dataclass(frozen=True)
class OutsideFrame:
    """A stream of a source outside for one query: its rows as a DataFrame, or what packs them.

    Attributes:
        spark: the session.
        stream: the source, and how this query reads it.
    """

    spark: SparkSession
    stream: OutsideStream

    @property
    def isStreaming(self) -> bool:  # noqa: N802  # as a DataFrame says it
        """Whether Spark follows it."""
        return self.stream.reading.ranges is None

    @property
    def columns(self) -> Schema:
        """Those of its rows, the time of arrival among them."""
        own, arrival = self.stream.columns, self.stream.arrival
        return own if arrival is None else Schema((*own.fields, Field(arrival, "timestamp")))

    @cached_property
    def rows(self) -> DataFrame:
        """Its rows as a DataFrame."""
        register(self.spark, SourceRows)
        reader = self.spark.readStream if self.isStreaming else self.spark.read
        rows: DataFrame = (
            reader.format(FORMAT)
            .schema(self.stream.columns.ddl())
            .option(READING, as_option(self.stream.reading))
            .load()
        )
        arrival = self.stream.arrival
        return rows if arrival is None else with_arrival(rows, arrival)


def _all_ranges(reading: Reading) -> tuple[OffsetRange, ...]:
    """All that there is now, once for all scans of a query, in steps as the source makes them."""
    source = reading.source
    since = reading.patiently(source.start)
    found: list[OffsetRange] = []
    while True:
        end = reading.patiently(lambda: source.latest(since, ALL_ROWS))  # noqa: B023
        if end == since:
            source.close()
            return tuple(found)
        found += ranges(source, since, end)
        since = end


def table_frame(spark: SparkSession, name: str, source: Source) -> DataFrame:
    """All rows of a source as a DataFrame: read here and now, as a table is in process."""
    reading = Reading(source, name)
    canonical = arrow_schema(spark_schema(source.columns()))
    batches = [
        conform_rows(batch, canonical)
        for part in _all_ranges(reading)
        for batch in reading.batches(part)
    ]
    source.close()
    return spark.createDataFrame(pa.Table.from_batches(batches, canonical))


_KNOWN: dict[str, WeakSet[Any]] = {}
"""The Spark sessions that know each of our formats."""


def register(spark: SparkSession, kind: type[DataSource]) -> None:
    """Lets a Spark session know a format of ours."""
    known = _KNOWN.setdefault(kind.name(), WeakSet())
    if spark not in known:
        spark.dataSource.register(kind)
        known.add(spark)
