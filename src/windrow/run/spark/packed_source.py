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

from windrow.run.spark.outside_source import OffsetRange, Reading, SourceRows

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from windrow.run.spark.port_packing import Packing

FORMAT = "windrow-packed"


@dataclass(frozen=True)
class Sealed:
    """How a stream is read, and what packs its rows, for those who need that alone; a `Given`."""

    reading: Reading
    packing: bytes

    @classmethod
    def of(cls, reading: Reading, packing: Packing) -> Sealed:
        """With the packing pickled."""
        return cls(reading, cloudpickle.dumps(packing))  # type: ignore[no-untyped-call]

    def given(
        self,
        part: OffsetRange,
        schema: StructType,  # noqa: ARG002  # that of blobs
        *,
        is_streaming: bool,
    ) -> Iterator[pa.RecordBatch]:
        """The blobs of a range, in a task."""
        packing: Packing = pickle.loads(self.packing)
        return packing.blobs(self.reading, part, is_streaming=is_streaming)


class PackedRows(SourceRows):
    """A stream packed for a stage, as Spark asks for it."""

    @classmethod
    def name(cls) -> str:
        """As `format` names it."""
        return FORMAT
