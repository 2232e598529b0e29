"""The state of a bucket: what a manifest accepts, and how little a micro-batch reads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from unit.run.spark.fake_handle import FakeHandle

from windrow.errors import InternalError, PlanError
from windrow.operators.base import Snapshot
from windrow.operators.changes import ChangeBatch
from windrow.operators.chunks import ChunkBuffer
from windrow.run.spark import state
from windrow.run.spark.chunk_cache import ChunkCache
from windrow.run.spark.state import BucketState, Identity, Manifest, manifest_from_json

MINE = Identity("f1", "window join of a, b", 4, 4)


def refusal(found: Manifest) -> str:
    with pytest.raises(PlanError) as refused:
        manifest_from_json(found.to_json(), MINE)
    return str(refused.value)


def test_a_manifest_survives_its_text() -> None:
    manifest = Manifest(MINE, "window-join", {"0": [state.ChunkEntry("c", "time", 3, 2)]}, {"n": 1})
    assert manifest_from_json(manifest.to_json(), MINE) == manifest


def test_the_state_of_another_query_is_refused() -> None:
    other = Identity("f2", "sliding aggregate of a", 4, 4)
    assert refusal(Manifest(other)) == (
        "PlanError[checkpoint-of-another-query]: the checkpoint was made by a different query\n"
        "  it holds the state of: sliding aggregate of a; this stage is: window join of a, b\n"
        "  hint: give this query a checkpointLocation of its own"
    )


def test_an_unknown_version_is_refused() -> None:
    assert refusal(Manifest(MINE, version=99)) == (
        "PlanError[unknown-state-version]: the checkpoint holds state of version 99; this Windrow "
        "reads version 1\n"
        "  hint: run the Windrow that made it, or start with a new checkpointLocation"
    )


def test_other_buckets_are_refused() -> None:
    assert refusal(Manifest(replace(MINE, buckets=8, partitions=2))) == (
        "PlanError[checkpoint-of-other-buckets]: the checkpoint has 8 buckets over 2 shuffle "
        "partitions, the query 4 over 4\n"
        "  rows would not find the state of their bucket\n"
        "  hint: set spark.sql.shuffle.partitions to 2 and the option buckets to 8, or give the "
        "query a checkpointLocation of its own"
    )


def rows(*times: int) -> ChangeBatch:
    column = pa.array(times, pa.int64())
    return ChangeBatch(pa.record_batch({"v": column}), np.array(times, np.int64))


def saved(bucket: BucketState, buffer: ChunkBuffer, old: Manifest | None) -> Manifest:
    snapshot = Snapshot("window-join", {"0": tuple(buffer.slices)})
    return Manifest(MINE, snapshot.kind, bucket.write_chunks(snapshot, old))


def test_chunks_that_left_the_window_leave_the_state_store() -> None:
    handle = FakeHandle()
    bucket = BucketState(handle, MINE, ChunkCache(None, 1 << 20, 0))
    buffer = ChunkBuffer()
    buffer.append(rows(1, 2))
    first = saved(bucket, buffer, None)
    buffer.append(rows(7, 8))
    second = saved(bucket, buffer, first)
    assert len(handle.entries) == 2
    buffer.drop_below(5)
    saved(bucket, buffer, second)
    assert len(handle.entries) == 1


def test_a_warm_cache_reads_nothing_and_a_cold_one_the_same_rows(monkeypatch) -> None:
    monkeypatch.setattr(state, "PART_BYTES", 100)
    handle = FakeHandle()
    warm = BucketState(handle, MINE, ChunkCache(None, 1 << 20, 0))
    buffer = ChunkBuffer()
    buffer.append(rows(*range(50)))
    manifest = saved(warm, buffer, None)
    assert manifest.parts()[buffer.slices[0].chunk.id] > 1
    warm.snapshot(manifest)
    assert handle.reads == 0
    cold = BucketState(handle, MINE, ChunkCache(None, 1 << 20, 0))
    (part,) = cold.snapshot(manifest).buffers["0"]
    assert part.rows().times.tolist() == list(range(50))
    assert handle.reads == manifest.parts()[part.chunk.id]


def test_a_missing_chunk_is_our_fault() -> None:
    handle = FakeHandle()
    bucket = BucketState(handle, MINE, ChunkCache(None, 1 << 20, 0))
    manifest = Manifest(MINE, "window-join", {"0": [state.ChunkEntry("gone", "time", 0, 1)]})
    with pytest.raises(InternalError, match="missing-chunk"):
        bucket.snapshot(manifest)
