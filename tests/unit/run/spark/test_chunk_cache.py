"""The local cache of chunks: it may forget anything, and never lies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import Chunk
from windrow.run.spark.chunk_cache import (
    IDLE_BATCHES,
    BucketChunks,
    ChunkCache,
    Owner,
    content_name,
    order_of,
)


def chunk(*times: int, ends: list[int] | None = None) -> Chunk:
    batch = ChangeBatch(
        pa.record_batch({"v": pa.array(times, pa.int64())}),
        np.array(times, np.int64),
        None if ends is None else np.array(ends, np.int64),
    )
    return Chunk(batch, batch.times if ends is None else batch.ends)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


ROW = 16
"""Bytes of a chunk of one row."""

BUCKET = Owner("query", "stage", 0)


def cache(folder: Path | None, *, worker: int = 1 << 20, disk: int = 1 << 20) -> BucketChunks:
    """The chunks of one bucket in a worker of its own."""
    return ChunkCache(folder, worker, disk).turn_of(BUCKET, batch=0)


def names(*chunks: Chunk) -> set[str]:
    return {each.id for each in chunks}


def test_a_chunk_is_found_again_with_what_was_derived_from_it(folder: Path) -> None:
    kept, made = cache(folder), chunk(1, 2, 3)
    made.derived["index"] = "costly"
    kept.keep(made)
    assert kept.get(made.id, "time").derived == {"index": "costly"}


def test_another_worker_reads_the_file(folder: Path) -> None:
    made = chunk(1, 2, 3)
    cache(folder).keep(made)
    found = cache(folder).get(made.id, "time")
    assert found.batch.times.tolist() == [1, 2, 3]
    assert found.id == made.id == content_name(found.blob)


def test_rows_ordered_by_end_come_back_ordered_by_end(folder: Path) -> None:
    made = chunk(1, 2, 3, ends=[7, 8, 9])
    assert order_of(made) == "end"
    cache(folder).keep(made)
    assert cache(folder).get(made.id, "end").keys.tolist() == [7, 8, 9]


def test_a_file_that_is_not_what_its_name_says_is_ignored_and_removed(folder: Path) -> None:
    made = chunk(1, 2, 3)
    cache(folder).keep(made)
    (path,) = folder.iterdir()
    path.write_bytes(chunk(4).blob)
    assert cache(folder).get(made.id, "time") is None
    assert not path.exists()


def test_forgotten_chunks_are_gone_everywhere(folder: Path) -> None:
    kept, made = cache(folder), chunk(1)
    kept.keep(made)
    kept.forget(made.id)
    assert kept.get(made.id, "time") is None
    assert list(folder.iterdir()) == []


def test_the_least_recently_used_chunk_leaves_the_worker_first() -> None:
    first, second, third = chunk(1), chunk(2), chunk(3)
    kept = cache(None, worker=2 * ROW)
    kept.keep(first)
    kept.keep(second)
    kept.get(first.id, "time")
    kept.keep(third)
    assert kept.get(second.id, "time") is None
    assert kept.get(first.id, "time") is first


def test_files_above_the_limit_are_swept(folder: Path) -> None:
    size = len(chunk(0).blob)
    kept = cache(folder, disk=3 * size)
    for time in range(20):
        kept.keep(chunk(time))
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 4 * size


def test_a_folder_that_cannot_be_written_costs_speed_alone(tmp_path: Path) -> None:
    kept, made = cache(tmp_path / "missing"), chunk(1)
    kept.keep(made)
    assert kept.get(made.id, "time") is made


def test_no_more_is_kept_of_a_bucket_than_its_part_of_the_memory() -> None:
    worker = ChunkCache(None, 1 << 20, 0)
    kept = worker.turn_of(BUCKET, batch=0, most=3 * ROW)
    chunks = [chunk(time) for time in range(10)]
    for each in chunks:
        kept.keep(each)
        assert worker.nbytes <= 3 * ROW
    assert [each for each in chunks if kept.get(each.id, "time")] == chunks[-3:]


def test_a_bucket_whose_part_is_less_than_a_chunk_keeps_none() -> None:
    worker = ChunkCache(None, 1 << 20, 0)
    worker.turn_of(BUCKET, batch=0, most=1).keep(chunk(1))
    assert worker.nbytes == 0


def test_indexes_count_as_soon_as_the_turn_is_over() -> None:
    worker = ChunkCache(None, 1 << 20, 0)
    kept, first, second = worker.turn_of(BUCKET, batch=0, most=90), chunk(1), chunk(2)
    kept.keep(first)
    kept.keep(second)
    second.derived["index"] = np.zeros(8, np.int64)
    kept.settle(names(first, second))
    assert worker.nbytes == ROW + 64
    assert kept.get(first.id, "time") is None


def test_rows_on_disk_do_not_count(tmp_path: Path) -> None:
    worker = ChunkCache(None, 1 << 20, 0)
    kept, first, second = worker.turn_of(BUCKET, batch=0, most=2 * ROW), chunk(1), chunk(2)
    kept.keep(first)
    kept.keep(second)
    first.spill(tmp_path)
    kept.settle(names(first, second))
    assert worker.nbytes == ROW
    assert kept.get(first.id, "time") is first


def test_what_is_not_in_the_manifest_goes_when_a_bucket_comes_back() -> None:
    worker = ChunkCache(None, 1 << 20, 0)
    old, new = chunk(1), chunk(2)
    worker.turn_of(BUCKET, batch=0).keep(old)
    again = worker.turn_of(BUCKET, batch=2)
    again.keep(new)
    again.settle(names(new))
    assert again.get(old.id, "time") is None
    assert worker.nbytes == ROW


def test_a_bucket_that_does_not_come_back_is_let_go_of() -> None:
    worker = ChunkCache(None, 1 << 20, 0)
    for owner in (BUCKET, BUCKET._replace(query="another")):
        worker.turn_of(owner, batch=0).keep(chunk(1))
    other = BUCKET._replace(bucket=1)
    worker.turn_of(other, batch=IDLE_BATCHES)
    assert worker.nbytes == 2 * ROW
    worker.turn_of(other, batch=IDLE_BATCHES + 1)
    assert worker.nbytes == ROW  # the other query's, which counts batches of its own


def test_the_bucket_whose_turn_was_longest_ago_makes_room_first() -> None:
    worker = ChunkCache(None, 3 * ROW, 0)
    first, second = BUCKET, BUCKET._replace(bucket=1)
    for owner in (first, second, first):
        kept = worker.turn_of(owner, batch=0)
        kept.keep(chunk(owner.bucket))
        kept.keep(chunk(owner.bucket, 7))
    worker.settle()
    assert worker.nbytes <= 3 * ROW
    assert worker.turn_of(first, batch=0).get(chunk(0).id, "time") is not None
    assert worker.turn_of(second, batch=0).nbytes == 0
