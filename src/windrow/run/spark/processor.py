"""What Spark is given to run a stage: it declares the state, and loads the rest where rows are.

Spark starts a process on the driver for every stage of a query that starts, only to hear which
state it declares. This page and what it imports is all that such a process loads; the worker, with
compiled kernels, pandas and DuckDB behind it, travels pickled until the first rows come: a query
starts a second earlier per stage.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import (
        ExpiredTimerInfo,
        MapState,
        StatefulProcessorHandle,
        TimerValues,
        ValueState,
    )

    from windrow.run.spark.bucket_worker import BucketWorker

_MANIFEST = StructType([StructField("json", StringType())])
_CHUNK_KEY = StructType([StructField("name", StringType()), StructField("part", IntegerType())])
_CHUNK = StructType([StructField("blob", BinaryType())])


class Declared(NamedTuple):
    """The state that every stage has, of the bucket that Spark is at."""

    manifest: ValueState
    chunks: MapState


def declared(handle: StatefulProcessorHandle) -> Declared:
    """Declares the state of a stage."""
    return Declared(
        handle.getValueState("manifest", _MANIFEST),
        handle.getMapState("chunks", _CHUNK_KEY, _CHUNK),
    )


class StageProcessor(StatefulProcessor):
    """Hands what Spark says to the worker of a stage, loaded when there is something to do."""

    def __init__(self, worker: BucketWorker) -> None:
        self._pickled: bytes = cloudpickle.dumps(worker)  # type: ignore[no-untyped-call]
        self._opened: BucketWorker | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declares the state; called in every task, and once on the driver."""
        self._handle = handle
        self._declared = declared(handle)

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Takes the blobs of one bucket."""
        millis = int(timerValues.getCurrentWatermarkInMs())
        return self.worker.take(int(key[0]), rows, millis)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803, ARG002
    ) -> Iterator[pd.DataFrame]:
        """Advances a bucket that got no rows."""
        return self.worker.wake(int(key[0]), int(timerValues.getCurrentWatermarkInMs()))

    def close(self) -> None:
        """Ends the task."""
        if self._opened is not None:
            self._opened.close()

    @property
    def worker(self) -> BucketWorker:
        """The worker, loaded where it was not yet."""
        if self._opened is None:
            opened: BucketWorker = pickle.loads(self._pickled)
            opened.open(self._handle, self._declared)
            self._opened = opened
        return self._opened
