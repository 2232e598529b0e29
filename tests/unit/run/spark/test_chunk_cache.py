"""The local cache of chunks: it may forget anything, and never lies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from windrow.operators.changes import ChangeBatch
from windrow.operators.chunks import Chunk
from windrow.run.spark.chunk_cache import ChunkCache, content_name, order_of


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


def cache(folder: Path | None, *, worker: int = 1 << 20, disk: int = 1 << 20) -> ChunkCache:
    return ChunkCache(folder, worker, disk)


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
    kept = cache(None, worker=60)  # a chunk of one row counts 24 bytes
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
