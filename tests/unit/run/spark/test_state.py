"""The state of a bucket: what a manifest accepts, and how little a micro-batch reads."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from unit.run.spark.fake_handle import FakeHandle

from windrow.errors import InternalError, PlanError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.engine.base import Snapshot
from windrow.run.spark import state
from windrow.run.spark.chunk_cache import BucketChunks, ChunkCache, Owner
from windrow.run.spark.processor import declared
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


def test_the_state_of_a_query_that_makes_another_answer_of_it_is_refused() -> None:
    other = Manifest(replace(MINE, question="q2"))
    with pytest.raises(PlanError) as refused:
        manifest_from_json(other.to_json(), replace(MINE, question="q1"))
    assert str(refused.value) == (
        "PlanError[checkpoint-of-another-query]: the checkpoint was made by a different query\n"
        "  this stage is the same, but not what the query makes of its rows\n"
        "  hint: give this query a checkpointLocation of its own"
    )


def test_state_that_does_not_tell_its_query_is_taken() -> None:
    text = Manifest(MINE).to_json().replace(',"question":""', "")
    assert "question" not in text
    assert manifest_from_json(text, replace(MINE, question="q1")).identity == MINE


def test_an_unknown_version_is_refused() -> None:
    assert refusal(Manifest(MINE, version=99)) == (
        "PlanError[unknown-state-version]: the checkpoint holds state of version 99; this Windrow "
        "reads version 6\n"
        "  hint: run the version of Windrow that made it, or start with a new checkpointLocation"
    )


def test_counts_of_buckets_as_they_were_once_stored_are_refused() -> None:
    # Rows of all buckets and of this one; those of the buckets before it were not told yet.
    before = Manifest(MINE, "shedding-join", needs=[[0, 0, 10, 5, 2]], version=1)
    assert refusal(before).startswith("PlanError[unknown-state-version]: the checkpoint holds")


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


def cold() -> BucketChunks:
    """Cached chunks of a bucket that a worker has never seen."""
    return ChunkCache(None, 1 << 20, 0).turn_of(Owner("q", "s", 0), batch=0)


def saved(
    bucket: BucketState, buffer: ChunkBuffer, old: Manifest | None, near: BucketChunks
) -> Manifest:
    snapshot = Snapshot("window-join", {"0": tuple(buffer.slices)})
    return Manifest(MINE, snapshot.kind, bucket.write_chunks(snapshot, old, near))


def test_chunks_that_left_the_window_leave_the_state_store() -> None:
    handle = FakeHandle()
    bucket = BucketState(declared(handle), MINE)
    buffer, near = ChunkBuffer(), cold()
    buffer.append(rows(1, 2))
    first = saved(bucket, buffer, None, near)
    buffer.append(rows(7, 8))
    second = saved(bucket, buffer, first, near)
    assert len(handle.entries) == 2
    buffer.drop_below(5)
    saved(bucket, buffer, second, near)
    assert len(handle.entries) == 1


def test_rows_that_went_from_the_middle_of_a_chunk_stay_gone_and_the_chunk_as_it_was() -> None:
    handle = FakeHandle()
    bucket = BucketState(declared(handle), MINE)
    buffer, near = ChunkBuffer(), cold()
    buffer.append(rows(*range(20)))
    first = saved(bucket, buffer, None, near)
    before = dict(handle.entries)
    buffer.drop([np.array([3, 11])])
    second = saved(bucket, buffer, first, near)
    assert handle.entries == before
    (part,) = bucket.snapshot(manifest_from_json(second.to_json(), MINE), cold()).buffers["0"]
    assert part.rows().times.tolist() == [n for n in range(20) if n not in {3, 11}]


def test_a_warm_cache_reads_nothing_and_a_cold_one_the_same_rows(monkeypatch) -> None:
    monkeypatch.setattr(state, "PART_BYTES", 100)
    handle = FakeHandle()
    bucket = BucketState(declared(handle), MINE)
    buffer, warm = ChunkBuffer(), cold()
    buffer.append(rows(*range(50)))
    manifest = saved(bucket, buffer, None, warm)
    assert manifest.parts()[buffer.slices[0].chunk.id] > 1
    bucket.snapshot(manifest, warm)
    assert handle.reads == 0
    (part,) = bucket.snapshot(manifest, cold()).buffers["0"]
    assert part.rows().times.tolist() == list(range(50))
    assert handle.reads == manifest.parts()[part.chunk.id]


def test_a_missing_chunk_is_our_fault() -> None:
    handle = FakeHandle()
    bucket = BucketState(declared(handle), MINE)
    manifest = Manifest(MINE, "window-join", {"0": [state.ChunkEntry("gone", "time", 0, 1)]})
    with pytest.raises(InternalError, match="missing-chunk"):
        bucket.snapshot(manifest, cold())


def test_two_workers_that_take_turns_at_a_bucket_keep_its_window_alone() -> None:
    bucket = BucketState(declared(FakeHandle()), MINE)
    workers = [ChunkCache(None, 1 << 30, 0) for _ in range(2)]
    random, manifest, held = Random(1), None, []
    for batch in range(400):
        worker = random.choice(workers)
        near = worker.turn_of(Owner("q", "s", 0), batch)
        slices = bucket.snapshot(manifest, near).buffers["0"] if manifest is not None else ()
        buffer = ChunkBuffer("time", slices)
        buffer.append(rows(*range(batch * 10, batch * 10 + 10)))
        buffer.drop_below(batch * 10 - 100)
        manifest = saved(bucket, buffer, manifest, near)
        own = {id(part.chunk): part.chunk.memory_bytes for part in buffer.slices}
        assert worker.nbytes <= sum(own.values())
        held.append(sum(worker.nbytes for worker in workers))
    assert max(held[200:]) <= max(held[:200])
