"""A source of ours as Spark asks for it, its rows packed for a stage by the tasks that read them.

What follows the source on the driver, in a process of its own for each stream, reads no rows: it loads
nothing of the stage, whose packing travels pickled (`port_packing.py`).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

from windrow.run.spark.outside_source import (
    READING,
    FollowedRows,
    OffsetRange,
    RangedRows,
    Reading,
    from_option,
)

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from windrow.run.spark.port_packing import Packing

FORMAT = "windrow-packed"


@dataclass(frozen=True)
class Sealed:
    """How a stream is read, and what packs its rows, for those who need that alone."""

    reading: Reading
    packing: bytes

    @classmethod
    def of(cls, reading: Reading, packing: Packing) -> Sealed:
        """With the packing pickled."""
        return cls(reading, cloudpickle.dumps(packing))  # type: ignore[no-untyped-call]

    def blobs(self, part: object, *, is_streaming: bool) -> Iterator[pa.RecordBatch]:
        """The blobs of a range, in a task."""
        if isinstance(part, OffsetRange):  # there is none in a batch run without rows
            packing: Packing = pickle.loads(self.packing)
            yield from packing.blobs(self.reading, part, is_streaming=is_streaming)


class PackedRows(DataSource):
    """A stream packed for a stage, as Spark asks for it."""

    @classmethod
    def name(cls) -> str:
        """As `format` names it."""
        return FORMAT

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  # Spark's name
        """What follows the source."""
        return FollowedBlobs(from_option(self.options[READING]), schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads the ranges of a batch run."""
        return RangedBlobs(from_option(self.options[READING]), schema)


class FollowedBlobs(FollowedRows):
    """Follows a source, and packs what it reads."""

    def __init__(self, sealed: Sealed, schema: StructType) -> None:
        super().__init__(sealed.reading, schema)
        self._sealed = sealed

    def read(self, partition: OffsetRange) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """The blobs of a range, in a task."""
        return self._sealed.blobs(partition, is_streaming=True)


class RangedBlobs(RangedRows):
    """Reads what was there when a batch run began, and packs it."""

    def __init__(self, sealed: Sealed, schema: StructType) -> None:
        super().__init__(sealed.reading, schema)
        self._sealed = sealed

    def read(self, partition: OffsetRange) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """The blobs of a range, in a task."""
        return self._sealed.blobs(partition, is_streaming=False)
