"""The branch of a stream with a read-ahead, without Spark: tasks tell, one key remembers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from unit.run.spark.fake_handle import FakeHandle

from windrow.run.spark import relations as read_ahead
from windrow.run.spark.relations import AheadProcessor, arrivals
from windrow.schema import MIN_TICK

AHEAD = 3


def task(*batches: list[int], files: str = "f") -> list[pa.RecordBatch]:
    """What one task tells of its times; the rows of batch n are of file n."""
    rows = [
        pa.record_batch(
            {"tick": pa.array(ticks, pa.int64()), "file": [files[n % len(files)]] * len(ticks)}
        )
        for n, ticks in enumerate(batches)
    ]
    return list(arrivals(AHEAD)(iter(rows)))


def promised(handle: FakeHandle, *told: list[pa.RecordBatch], stream: str = "x") -> list[int]:
    """What a micro-batch of these tasks promises; each time another process takes it."""
    processor = AheadProcessor(stream, AHEAD)
    processor.init(handle)
    frames: Any = [batch.to_pandas() for batches in told for batch in batches]
    if not frames:
        return []  # Spark does not call
    found = list(processor.handleInputRows((0,), iter(frames), None))
    processor.close()
    return [value for frame in found for value in frame[read_ahead.PROMISED]]


def test_the_last_times_are_remembered_from_micro_batch_to_micro_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_ahead, "ROWS_AT_ONCE", 2)
    handle = FakeHandle()
    assert promised(handle, task([12], [15])) == []
    assert promised(handle, task([MIN_TICK])) == []
    assert promised(handle, task([11, 14, 16], [13, 17]), task([])) == [13]
    assert promised(handle, task([12, 18])) == [13]
    assert promised(handle, task([19])) == [13]
    assert promised(handle, task([20])) == [18]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (
            [task([1]), task([2])],
            "x has a read-ahead, and a micro-batch of it came in 2 partitions\n"
            "  partitions are read at the same time: there is no order of arrival in which to count"
            " rows\n"
            "  hint: read a source of one partition, such as a topic of one or a file per"
            " micro-batch (with maxFilesPerTrigger 1 and spark.sql.files.minPartitionNum 1); or"
            " promise a lateness",
        ),
        (
            [task([1], [2], files="fg")],
            "x has a read-ahead, and a micro-batch of it came from 2 files\n"
            "  Spark reads the files of a micro-batch by their sizes, not as they arrived\n"
            "  hint: read one file per micro-batch: .option('maxFilesPerTrigger', 1); or promise a"
            " lateness",
        ),
    ],
    ids=["partitions", "files"],
)
def test_a_micro_batch_without_an_order_is_refused(
    told: list[list[pa.RecordBatch]], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")
    with pytest.raises(RuntimeError) as refused:
        promised(FakeHandle(), *told)
    assert type(refused.value).__name__ == "DataError[read-ahead-without-order]"
    assert str(refused.value) == f"the stream {message}"


def test_the_times_of_another_stream_are_not_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")
    handle = FakeHandle()
    promised(handle, task([1, 2, 3]))
    with pytest.raises(RuntimeError) as refused:
        promised(handle, task([4]), stream="y")
    assert type(refused.value).__name__ == "PlanError[checkpoint-of-another-query]"
    assert str(refused.value) == (
        "the checkpoint was made by a different query\n"
        "  it holds the read-ahead of x; this stage has that of y\n"
        "  hint: give this query a checkpointLocation of its own"
    )
