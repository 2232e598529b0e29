"""Decoded chunks kept near the work, named by their content.

Spark's state store is the only truth; reading a window back from it in every micro-batch would
cost more than the batch. A chunk never changes, so that its name, a hash of its content, says all:

    in this worker     decoded chunks with the indexes made from them, bucket by bucket: of each no
                       more than its part of the query's memory, least recently used go first
    on this machine    one file per chunk in a folder of this user, read by memory mapping
    the state store    always there; asked last

Files are written under another name and renamed, so that a reader sees a whole chunk or none, and
checked against their name once per worker. Any process may remove any file at any time.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections import OrderedDict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from windrow.operators.columns.chunks import Chunk, content_name, order_of, stored_chunk

if TYPE_CHECKING:
    from collections.abc import Collection

    from windrow.operators.engine.base import Left

MOST_BYTES_IN_WORKER = 1 << 30
MOST_BYTES_ON_DISK = 4 << 30
"""Limits; the environment variables WINDROW_CACHE_BYTES and WINDROW_CACHE_DIR change the second
and its place."""

IDLE_BATCHES = 4
"""Micro-batches of a query after which the chunks of a bucket go that had no turn here."""

_ABANDONED_S = 3600


class Owner(NamedTuple):
    """Whose chunks they are: a bucket of a stage of a query."""

    query: str
    stage: str
    bucket: int


class ChunkCache:
    """Chunks of every query that runs in this worker, bucket by bucket.

    A bucket may have its turn in another worker any time, and come back: what left its window
    meanwhile goes when it comes back, or when the query has gone on for some batches without it.

    Args:
        folder: where files go; None for none.
        most_in_worker: bytes of all chunks together.
        most_on_disk: bytes of all files.
    """

    def __init__(self, folder: Path | None, most_in_worker: int, most_on_disk: int) -> None:
        self._files = _ChunkFiles(folder, most_on_disk) if folder is not None else None
        self._most = most_in_worker
        self._buckets: OrderedDict[Owner, BucketChunks] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Bytes of all chunks, as they were when their bucket last had its turn."""
        return sum(bucket.nbytes for bucket in self._buckets.values())

    def turn_of(self, owner: Owner, batch: int, most: int | None = None) -> BucketChunks:
        """The chunks of the bucket that has its turn.

        Args:
            owner: the bucket.
            batch: the number of the micro-batch.
            most: bytes that may be kept of it, where the query's memory is bounded.
        """
        for other, bucket in list(self._buckets.items()):
            if other.query == owner.query and bucket.batch < batch - IDLE_BATCHES:
                del self._buckets[other]
        found = self._buckets.pop(owner, None) or BucketChunks(self._files)
        found.batch = batch
        found.most = self._most if most is None else min(most, self._most)
        self._buckets[owner] = found
        return found

    def settle(self) -> None:
        """Keeps to the limit: the buckets whose turn was longest ago lose their chunks first."""
        too_much = self.nbytes - self._most
        for bucket in self._buckets.values():
            if too_much <= 0:
                return
            before = bucket.nbytes
            bucket.shrink(max(0, before - too_much))
            too_much -= before - bucket.nbytes


class BucketChunks:
    """Chunks of one bucket; the least recently used go first where they are too many bytes.

    Attributes:
        batch: the micro-batch of the bucket's last turn.
        most: bytes that may be kept.
        nbytes: bytes that are.
    """

    def __init__(self, files: _ChunkFiles | None) -> None:
        self.batch = 0
        self.most = 0
        self.nbytes = 0
        self._files = files
        self._held: OrderedDict[tuple[str, str], Chunk] = OrderedDict()
        self._left: Left | None = None

    def leave(self, left: Left | None) -> None:
        """Keeps what the bucket's operator leaves to the one of its next turn."""
        self._left = left
        self.shrink(self.most)

    def taken(self) -> Left | None:
        """What the operator of the last turn left; it is given once."""
        left, self._left = self._left, None
        return left

    def get(self, name: str, order: str) -> Chunk | None:
        """The chunk of that name, or None; `order` is what its rows are ordered by."""
        chunk = self._held.get((name, order))
        if chunk is not None:
            self._held.move_to_end((name, order))
            return chunk
        blob = self._files.read(name) if self._files is not None else None
        return None if blob is None else self._hold(_named(name, order, blob))

    def add(self, name: str, order: str, blob: bytes) -> Chunk:
        """Keeps a chunk that came from the state store."""
        if self._files is not None:
            self._files.write(name, blob)
        return self._hold(_named(name, order, blob))

    def keep(self, chunk: Chunk) -> None:
        """Keeps a chunk that an operator made."""
        if self._files is not None:
            self._files.write(chunk.id, chunk.blob)
        self._hold(chunk)

    def forget(self, name: str) -> None:
        """Drops a chunk that the bucket's state does not refer to any more."""
        for order in ("time", "end"):
            self._held.pop((name, order), None)
        if self._files is not None:
            self._files.remove(name)

    def settle(self, names: Collection[str]) -> None:
        """Drops all chunks but those of some names, and of these what is too much.

        Counted anew: an operator may have made indexes, or moved rows to disk.
        """
        self._held = OrderedDict(item for item in self._held.items() if item[0][0] in names)
        self.shrink(self.most)

    def shrink(self, most: int) -> None:
        """Drops the least recently used chunks until no more bytes are left than that."""
        beside = 0 if self._left is None else self._left.nbytes
        self.nbytes = beside + sum(chunk.memory_bytes for chunk in self._held.values())
        while self.nbytes > most and self._held:
            _, oldest = self._held.popitem(last=False)
            self.nbytes -= oldest.memory_bytes
        if self.nbytes > most:
            self._left, self.nbytes = None, 0

    def _hold(self, chunk: Chunk) -> Chunk:
        held = self._held.setdefault((chunk.id, order_of(chunk)), chunk)
        self._held.move_to_end((chunk.id, order_of(chunk)))
        if held is chunk:
            self.nbytes += chunk.memory_bytes
            if self.nbytes > self.most:
                self.shrink(self.most)
        return held


@cache
def worker_cache() -> ChunkCache:
    """The one cache of this worker process."""
    most = int(os.environ.get("WINDROW_CACHE_BYTES", MOST_BYTES_ON_DISK))
    return ChunkCache(_folder(), MOST_BYTES_IN_WORKER, most)


class _ChunkFiles:
    """One file per chunk."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most = most_bytes
        self._written_since_sweep = most_bytes  # the first write sweeps what others left

    def read(self, name: str) -> pa.Buffer | None:
        path = self._path(name)
        try:
            with pa.memory_map(str(path)) as file:
                blob = file.read_buffer()
            os.utime(path)
        except OSError:
            return None
        # A file that is not what its name says is of no use to anyone.
        if content_name(blob) != name:
            self.remove(name)
            return None
        return blob

    def write(self, name: str, blob: bytes) -> None:
        path = self._path(name)
        if path.exists():
            return
        # A full or read-only disk costs speed, not answers.
        with contextlib.suppress(OSError):
            handle, part = tempfile.mkstemp(prefix=name, suffix=".part", dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(blob)
            Path(part).replace(path)
        self._written_since_sweep += len(blob)
        if self._written_since_sweep * 8 > self._most:
            self._written_since_sweep = 0
            self._sweep()

    def remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            self._path(name).unlink()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.arrow"

    def _sweep(self) -> None:
        """Removes the least recently used files above the limit, and abandoned parts."""
        found: list[tuple[float, int, Path]] = []
        with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    status = entry.stat()
                    found.append((status.st_mtime, status.st_size, Path(entry.path)))
        total = sum(size for _, size, _ in found)
        long_ago = time.time() - _ABANDONED_S
        for used, size, path in sorted(found):
            is_abandoned = path.suffix == ".part" and used < long_ago
            if total > self._most or is_abandoned:
                with contextlib.suppress(OSError):
                    path.unlink()
                total -= size


def _named(name: str, order: str, blob: bytes | pa.Buffer) -> Chunk:
    chunk = stored_chunk(order, blob)
    chunk.id = name
    return chunk


def _folder() -> Path | None:
    """A folder that only this user can write to, or None where there is none."""
    base = os.environ.get("WINDROW_CACHE_DIR", tempfile.gettempdir())
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(base) / f"windrow-chunks-{user}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    is_private = status.st_uid == user and status.st_mode & 0o077 == 0
    return folder if is_private and not folder.is_symlink() else None
