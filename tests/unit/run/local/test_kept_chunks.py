"""Windows in checkpoints: each row is written once, and what is read back is what was held."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

import windrow
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.columns.chunks import ChunkBuffer
from windrow.operators.engine.base import Snapshot
from windrow.run.local import chunk_files, kept_chunks
from windrow.run.local.checkpoint import Checkpoint
from windrow.run.local.checkpoint_store import FILE, CheckpointStore, Stored


def batch(draw: random.Random, start: int, rows: int, *, has_ends: bool = False) -> ChangeBatch:
    """Rows some ticks around a start, not in order."""
    times = np.array([start + draw.randrange(-20, 20) for _ in range(rows)], np.int64)
    numbers = pa.record_batch({"n": pa.array(draw.choices(range(1_000_000), k=rows), pa.int64())})
    return ChangeBatch(numbers, times, times + draw.randrange(9, 99) if has_ends else None)


def keep(store: CheckpointStore, epoch: int, *buffers: ChunkBuffer) -> None:
    held = {str(at): tuple(buffer.slices) for at, buffer in enumerate(buffers)}
    checkpoint = Checkpoint("", {}, 0, (Snapshot("rows", held),), ({},), streams={})
    store.write(Stored(epoch, epoch, {}, checkpoint), epoch - 1)


def held(slices) -> list[tuple[int, list[dict[str, int]]]]:
    """The rows alive of each slice in their order, and how many rows of its chunk are not."""
    return [(part.skip, part.rows().to_arrow().to_pylist()) for part in slices]


def kept(store: CheckpointStore, at: int = 0):
    stored = store.read(None)
    assert stored is not None
    return stored.checkpoint.snapshots[0].buffers[str(at)]


def bytes_in(folder) -> int:
    return sum(file.stat().st_size for file in folder.glob("chunks-*.bin"))


@pytest.mark.law
@pytest.mark.parametrize("seed", range(12))
def test_what_is_read_back_is_what_was_held(tmp_path, monkeypatch, seed):
    """Whatever was merged, dropped, written over and moved, and wherever the run was started again."""
    monkeypatch.setattr(kept_chunks, "LEAST_PIECE_BYTES", seed % 3 * 40)
    monkeypatch.setattr(chunk_files, "SPARE_BYTES", 2_000)
    monkeypatch.setattr(chunk_files, "LEAST_BYTES", 4_000)
    monkeypatch.setattr(chunk_files, "MOVED_BYTES", 2_000)
    draw = random.Random(seed)
    orders = ("time", "end")
    buffers = [ChunkBuffer(order) for order in orders]
    store = CheckpointStore(tmp_path)
    merged = 0
    for epoch in range(150):
        for buffer in buffers:
            for _ in range(draw.choice((0, 1, 1, 1, 3))):
                rows = draw.choice((1, 7, 10, 10, 10, 40))
                buffer.append(batch(draw, epoch * 5, rows, has_ends=buffer.order == "end"))
            buffer.drop_below(epoch * 5 - draw.choice((100, 300, 301)))
            if buffer.slices and draw.random() < 0.2:
                part = draw.choice(buffer.slices)
                gone = [np.array([], np.int64) for _ in buffer.slices]
                gone[buffer.slices.index(part)] = np.array([part.skip])
                buffer.drop(gone)
        keep(store, epoch, *buffers)
        if draw.random() < 0.1:
            store.close()
            with closing(sqlite3.connect(tmp_path / FILE)) as opened:
                merged += opened.execute("SELECT count(*) FROM merged").fetchone()[0]
            store = CheckpointStore(tmp_path)
            for at, buffer in enumerate(buffers):
                found = kept(store, at)
                assert held(found) == held(buffer.slices)
                buffer.slices = list(found)
    assert merged > 0
    alive = sum(buffer.nbytes for buffer in buffers)
    store.close()
    # Of what is needed twice, of what is alive twice; and a chunk of few rows has a schema beside them.
    assert bytes_in(tmp_path) < 4 * alive + 60_000


def test_a_row_is_written_once_however_chunks_are_merged(tmp_path):
    draw, buffer, brought = random.Random(0), ChunkBuffer(), 0
    with CheckpointStore(tmp_path) as store:
        for epoch in range(65):
            rows = batch(draw, epoch * 100, 5_000)
            buffer.append(rows)
            brought += rows.columns.nbytes + rows.times.nbytes
            keep(store, epoch, buffer)
        assert len(buffer.slices) < 8
    assert bytes_in(tmp_path) < 1.1 * brought


def test_files_of_a_window_that_moves_are_not_copied(tmp_path, monkeypatch):
    """What came first goes first: its files go as a whole, and nothing in them is moved."""
    monkeypatch.setattr(chunk_files, "LEAST_BYTES", 200_000)
    monkeypatch.setattr(chunk_files, "SPARE_BYTES", 0)
    moved = []
    scattered = chunk_files.ChunkFiles.scattered

    def watched(*given: object):
        moved.append(len(found := scattered(*given)))
        return found

    monkeypatch.setattr(chunk_files.ChunkFiles, "scattered", watched)
    draw, buffer = random.Random(0), ChunkBuffer()
    with CheckpointStore(tmp_path) as store:
        for epoch in range(150):
            buffer.append(batch(draw, epoch * 100, 5_000))
            buffer.drop_below(epoch * 100 - 3_000)
            keep(store, epoch, buffer)
    assert sum(moved[40:]) == 0
    assert bytes_in(tmp_path) < 2.2 * buffer.nbytes


def test_a_merged_chunk_whose_piece_is_gone_is_refused(tmp_path):
    draw, buffer = random.Random(0), ChunkBuffer()
    with CheckpointStore(tmp_path) as store:
        for epoch in range(5):
            buffer.append(batch(draw, epoch * 100, 5_000))
            keep(store, epoch, buffer)
    with closing(sqlite3.connect(tmp_path / FILE)) as opened, opened:
        assert opened.execute("SELECT count(*) FROM merged").fetchone()[0] == 1
        opened.execute("DELETE FROM chunks WHERE number = 1")
    with (
        CheckpointStore(tmp_path) as store,
        pytest.raises(windrow.ResourceError, match="chunk 1 is gone") as refused,
    ):
        store.read(None)
    assert refused.value.condition == "damaged-checkpoint"


def test_a_list_of_pieces_that_was_changed_is_refused(tmp_path):
    draw, buffer = random.Random(0), ChunkBuffer()
    with CheckpointStore(tmp_path) as store:
        for epoch in range(5):
            buffer.append(batch(draw, epoch * 100, 5_000))
            keep(store, epoch, buffer)
    with closing(sqlite3.connect(tmp_path / FILE)) as opened, opened:
        opened.execute("UPDATE merged SET text = '[]'")
    with pytest.raises(windrow.ResourceError, match=r"the text of chunk \d+ is not"):
        CheckpointStore(tmp_path)


def test_without_checkpoints_no_chunk_outlives_its_merging():
    draw, buffer = random.Random(0), ChunkBuffer()
    for epoch in range(16):
        buffer.append(batch(draw, epoch * 100, 10))
    assert len(buffer.slices) == 1
    assert buffer.slices[0].chunk.pieces == ()
