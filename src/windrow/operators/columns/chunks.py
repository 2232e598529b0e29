"""Windows kept as immutable chunks of rows in time order, in memory or on disk.

A buffer is a list of chunks. New rows become a new chunk; small neighbours are merged, so that the
number of chunks grows with the logarithm of the window; old rows leave from a chunk's front, and
from windows that count rows by key out of its middle:

    chunk     [ dead | alive .. x .... x .. ]
               0      skip    gone     gone  rows        order keys ascend

A chunk is never changed: `skip` and `gone`, a bit per row, live in the slice that refers to it, and
a chunk is rewritten only when more than half of it is dead. So a micro-batch costs what the batch
holds, whatever the window holds, and a chunk's content can be stored, hashed and cached once.

Merging is by tiers of four: a row is copied at most once per tier (log4 of the window in rows),
and at most three chunks of each tier stay.

**On disk** a chunk is the same, read by memory mapping: nothing changes but where its bytes are.
All of it goes, with what algorithms derived from it (an index is as large as the rows), into one
file without a name, which the system removes with the last reference, however the process ends:

    file   [ array ][ array ][ array ] ...        each at a multiple of 64 bytes
    chunk  the same arrays, over the mapped file

Pickle's out-of-band buffers find the arrays: Arrow's and numpy's alike.
"""

from __future__ import annotations

import hashlib
import mmap
import pickle
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.arrow_types import DTYPES
from windrow.operators.columns.changes import ChangeBatch, concat
from windrow.operators.columns.pieces import Pieces, pieces_of
from windrow.schema import MAX_TICK

Derived = TypeVar("Derived")

ALIGNMENT = 64
"""Arrow wants its buffers so."""


def spilled(value: Any, folder: Path | None) -> Any:
    """The same value, its arrays in a file of the folder (None: where temporary files go).

    Raises:
        OSError: the folder cannot be written, or the disk is full.
    """
    buffers: list[pickle.PickleBuffer] = []
    structure = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    places = _places([len(view) for view in views])
    if not places or places[-1][1] == 0:
        return value
    with tempfile.TemporaryFile(dir=folder) as file:
        for (start, _), view in zip(places, views, strict=True):
            file.seek(start)
            file.write(view)
        file.flush()
        # Kernels take arrays that they may write to, though they never do: a private mapping is
        # writable, and its pages stay the file's as long as nobody writes.
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return pickle.loads(structure, buffers=[mapped[start:stop] for start, stop in places])


def _places(sizes: list[int]) -> list[tuple[int, int]]:
    """Where each array starts and stops in the file."""
    places, at = [], 0
    for size in sizes:
        places.append((at, at + size))
        at += -(-size // ALIGNMENT) * ALIGNMENT
    return places


FANOUT = 4
MOST_ROWS = 1 << 20
"""A chunk that holds this many rows is not merged further."""


class Chunk:
    """Rows in ascending order of their order key, never changed.

    `derived` keeps what algorithms compute from the rows (an index, say); it is no part of the
    content. `pieces` says where its rows are kept on disk, as far as they are. `nbytes` are those of the
    rows and order keys as they came: read back from disk, NULLs may take a byte more or less.
    """

    def __init__(self, batch: ChangeBatch, keys: NDArray[np.int64], pieces: Pieces = ()) -> None:
        self.batch = batch
        self.pieces = pieces
        self.keys = _shared(batch, keys)
        self.nbytes = _row_bytes(batch, self.keys)
        self.derived: dict[str, Any] = {}
        self._spilled: frozenset[str] | None = None  # what was derived before it went to disk

    def __len__(self) -> int:
        return len(self.keys)

    def __reduce__(self) -> tuple[object, ...]:
        # By its content alone: what is derived is computed again where it is needed. The bytes are
        # the pickle's: kept here too, a checkpoint would leave a copy of all rows behind.
        blob = self.__dict__.get("blob") or encode(self.batch)
        return (_unpickled, (blob, self.keys))

    def derive(self, name: str, make: Callable[[], Derived]) -> Derived:
        """What is computed from the rows, once, and kept under a name as long as the chunk lives."""
        if name not in self.derived:
            self.derived[name] = make()
        found: Derived = self.derived[name]
        return found

    @property
    def memory_bytes(self) -> int:
        """Bytes held in memory: the rows unless they are on disk, and what was derived since."""
        rows = self.nbytes if self._spilled is None else 0
        on_disk = self._spilled or frozenset()
        return rows + sum(
            _array_bytes(value) for name, value in self.derived.items() if name not in on_disk
        )

    @property
    def is_spilled(self) -> bool:
        """Whether the rows are on disk."""
        return self._spilled is not None

    def spill(self, folder: Path | None) -> None:
        """Moves the rows and what was derived from them to disk.

        Raises:
            OSError: the folder cannot be written, or the disk is full.
        """
        self.batch, self.keys, self.derived = spilled((self.batch, self.keys, self.derived), folder)
        self._spilled = frozenset(self.derived)

    @cached_property
    def blob(self) -> bytes:
        """The rows as an Arrow IPC stream."""
        return encode(self.batch)

    @cached_property
    def id(self) -> str:
        """The name of the content: equal rows in equal order have equal names."""
        return content_name(self.blob)


def _shared(batch: ChangeBatch, keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order keys as the times or ends of the rows, which they most often are, and held once."""
    if keys is batch.times or keys is batch.ends:
        return keys
    for own in (batch.times, batch.ends):
        if own is not None and np.array_equal(own, keys):
            return own
    return keys


def _row_bytes(batch: ChangeBatch, keys: NDArray[np.int64]) -> int:
    """Bytes of rows and their order keys, an array that serves as both once."""
    arrays = {id(own): own for own in (batch.times, batch.ends, batch.signs, keys)}.values()
    own_bytes = sum([own.nbytes for own in arrays if own is not None])
    return own_bytes + sum(map(column_bytes, batch.columns.columns))


def column_bytes(column: pa.Array) -> int:
    """Bytes of a column, as Arrow counts them, which takes longer where values are of one width."""
    dtype = DTYPES.get(column.type.id)
    if dtype is not None and column.buffers()[0] is None:
        return len(column) * dtype.itemsize
    return int(column.nbytes)


def _array_bytes(value: Any) -> int:
    """Bytes of the arrays in a derived value."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, tuple | list):
        return sum(map(_array_bytes, value))
    return int(getattr(value, "nbytes", 0))


def _unpickled(blob: bytes, keys: NDArray[np.int64]) -> Chunk:
    return Chunk(decode(blob), keys)


@dataclass(frozen=True)
class ChunkSlice:
    """A chunk without its first `skip` rows, and without those that `gone` has a bit for.

    `gone` begins with the least bit of its first byte; empty, it says that no row has gone. The
    row behind the first `skip` is alive, so that whoever waits for it has something to take out.
    """

    chunk: Chunk
    skip: int = 0
    gone: bytes = b""

    def __len__(self) -> int:
        rows = len(self.chunk.keys) - self.skip
        return rows - self._gone_rows if self.gone else rows

    @cached_property
    def _gone_rows(self) -> int:
        """How many rows behind the first `skip` are gone."""
        return (int.from_bytes(self.gone, "little") >> self.skip).bit_count()

    @cached_property
    def span(self) -> tuple[int, int]:
        """The least order key alive, and the greatest."""
        return self.first, self.last

    @property
    def nbytes(self) -> int:
        """Bytes of the chunk, dead rows included, and of what says which have gone."""
        return self.chunk.nbytes + len(self.gone)

    @property
    def first(self) -> int:
        """The least order key alive."""
        return int(self.chunk.keys[self.skip])

    @property
    def last(self) -> int:
        """The greatest order key."""
        return int(self.chunk.keys[-1])

    def rows(self) -> ChangeBatch:
        """The rows alive."""
        return self.rows_until(len(self.chunk))

    def rows_until(self, stop: int) -> ChangeBatch:
        """The rows alive among the first `stop` of the chunk."""
        if not self.gone:
            return self.chunk.batch.slice(self.skip, stop)
        rows = np.arange(self.skip, stop)
        return self.chunk.batch.take(rows[~self.is_gone(rows)])

    def since(self, start: int) -> ChunkSlice:
        """The slice without the rows before one of the chunk."""
        return ChunkSlice(self.chunk, _first_alive(self.gone, start), self.gone)

    def without(self, rows: NDArray[np.int64]) -> ChunkSlice:
        """The slice without some more rows of the chunk."""
        bits = bytearray(self.gone or -(-len(self.chunk) // 8))
        np.bitwise_or.at(np.frombuffer(bits, np.uint8), rows >> 3, _bit(rows))
        gone = bytes(bits)
        return ChunkSlice(self.chunk, _first_alive(gone, self.skip), gone)

    def is_gone(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which rows of the chunk are gone; those skipped may count as either."""
        if not self.gone:
            return np.zeros(len(rows), np.bool_)
        is_set: NDArray[np.bool_] = (
            np.frombuffer(self.gone, np.uint8)[rows >> 3] & _bit(rows)
        ).astype(np.bool_)
        return is_set


def _first_alive(gone: bytes, start: int) -> int:
    """The first row from `start` on that has no bit in `gone`."""
    bits = int.from_bytes(gone, "little") >> start
    return start + (~bits & (bits + 1)).bit_length() - 1


def _bit(rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The bit of each row in its byte."""
    bits: NDArray[np.uint8] = np.left_shift(1, rows & 7).astype(np.uint8)
    return bits


class ChunkBuffer:
    """The rows of one input that may still be needed, in chunks ordered by `order`.

    Args:
        order: "time" or "end": which of the two the rows leave by.
        slices: chunks to start with, as a snapshot kept them.

    Attributes:
        rows: how many rows are alive.
        nbytes: bytes of the chunks, dead rows included.
    """

    def __init__(self, order: str = "time", slices: Iterable[ChunkSlice] = ()) -> None:
        self.order = order
        self.slices = slices

    @property
    def slices(self) -> list[ChunkSlice]:
        """The chunks, to be read: whoever has others sets all of them."""
        return self._slices

    @slices.setter
    def slices(self, slices: Iterable[ChunkSlice]) -> None:
        self._slices = list(slices)
        self.rows = sum(map(len, self._slices))
        self.nbytes = sum([part.nbytes for part in self._slices])
        self._first: int | None = None

    @property
    def first(self) -> int:
        """The least order key alive; MAX_TICK when empty."""
        if self._first is None:
            self._first = min([part.first for part in self._slices], default=MAX_TICK)
        return self._first

    def append(self, batch: ChangeBatch) -> None:
        """Adds rows as a new chunk, and merges small neighbours."""
        if len(batch):
            self.put(self._chunk(batch))

    def put(self, chunk: Chunk) -> None:
        """Adds a chunk of this order, with what was derived from it, and merges small neighbours."""
        parts = self._slices
        first = int(chunk.keys[0])
        self._first = first if not parts else min(self.first, first)
        parts.append(ChunkSlice(chunk))
        self.rows += len(chunk)
        self.nbytes += chunk.nbytes
        while tail_to_merge([len(part) for part in parts[-FANOUT:]]) is not None:
            start = tail_to_merge([len(part) for part in parts])
            tail = parts[start:]
            rows = concat([part.rows() for part in tail])
            merged = ChunkSlice(self._chunk(rows, pieces_of(tail)))
            self.nbytes += merged.nbytes - sum([part.nbytes for part in tail])
            parts[start:] = [merged]

    def drop_below(self, bound: int) -> int:
        """Drops the rows whose order key is below the bound; gives their number."""
        before = self.rows
        self._cut(bound)
        return before - self.rows

    def pop_below(self, bound: int) -> ChangeBatch | None:
        """Takes out the rows whose order key is below the bound, in order."""
        taken = self.pop_parts_below(bound)
        return concat(taken) if taken else None

    def pop_parts_below(self, bound: int) -> list[ChangeBatch]:
        """The same in parts, one after the other: as they lie, where nothing is to be sorted."""
        cut = [part.rows_until(stop) for part, stop in self._cut(bound)]
        taken = [rows for rows in cut if len(rows)]
        keys = [self._keys(rows) for rows in taken]
        if all(before[-1] <= after[0] for before, after in pairwise(keys)):
            return taken
        rows = concat(taken)
        return [rows.sorted_by(self._keys(rows))]

    def drop(self, rows: Sequence[NDArray[np.int64]]) -> int:
        """Drops rows from anywhere: per slice, which of its chunk's; gives their number."""
        before = self.rows
        self.slices = [
            self._compact(part.without(own)) if len(own) else part
            for part, own in zip(self.slices, rows, strict=True)
        ]
        self.slices = [part for part in self.slices if len(part)]
        return before - self.rows

    def keep(self, is_kept: NDArray[np.bool_]) -> int:
        """Keeps the rows marked, of all rows alive in their order; gives how many went.

        Unlike `drop`, it rewrites each chunk that loses a row: nobody who reads it needs to look
        for rows that are gone.
        """
        kept, start, before = [], 0, self.rows
        for part in self.slices:
            marks = is_kept[start : start + len(part)]
            start += len(part)
            if marks.all():
                kept.append(part)
            elif marks.any():
                kept.append(ChunkSlice(self._chunk(part.rows().take(np.flatnonzero(marks)))))
        self.slices = kept
        return before - self.rows

    def sweep(self) -> None:
        """Rewrites chunks of which a part is dead, so that no memory is held for it."""
        self.slices = [
            ChunkSlice(self._chunk(part.chunk.batch.take(np.arange(part.skip, len(part.chunk)))))
            if part.skip
            else part
            for part in self.slices
        ]

    def _cut(self, bound: int) -> list[tuple[ChunkSlice, int]]:
        """Moves every skip up to the bound; gives the slices as they were, with their new skip."""
        if self.first >= bound:
            return []
        cut: list[tuple[ChunkSlice, int]] = []
        kept: list[ChunkSlice] = []
        for part in self._slices:
            if part.first >= bound:
                kept.append(part)
                continue
            stop = int(part.chunk.keys.searchsorted(bound))
            cut.append((part, stop))
            self.rows -= len(part)
            self.nbytes -= part.nbytes
            if stop < len(part.chunk) and len(rest := part.since(stop)):
                rest = self._compact(rest)
                self.rows += len(rest)
                self.nbytes += rest.nbytes
                kept.append(rest)
        self._slices, self._first = kept, None
        return cut

    def _compact(self, part: ChunkSlice) -> ChunkSlice:
        """The slice, its chunk rewritten if more than half of it is dead."""
        if 2 * len(part) >= len(part.chunk):
            return part
        # A take, not a slice, so that the dead rows' memory goes too.
        alive = np.arange(part.skip, len(part.chunk))
        rows = part.chunk.batch.take(alive[~part.is_gone(alive)])
        return ChunkSlice(self._chunk(rows, pieces_of([part])))

    def _keys(self, batch: ChangeBatch) -> NDArray[np.int64]:
        return order_keys(batch, self.order)

    def _chunk(self, batch: ChangeBatch, pieces: Pieces = ()) -> Chunk:
        ordered = batch.sorted_by(self._keys(batch))
        return Chunk(ordered, self._keys(ordered), pieces)


def bound_of_step(buffers: Iterable[ChunkBuffer], watermark: int, rows: int) -> int:
    """The watermark, or an earlier order key with fewer rows of each chunk below it: about `rows`."""
    large = [buffer for buffer in buffers if buffer.rows > rows]
    parts = [part for buffer in large for part in buffer.slices if len(part) > rows]
    return min([watermark, *(int(part.chunk.keys[part.skip + rows]) + 1 for part in parts)])


def tail_to_merge(sizes: Sequence[int]) -> int | None:
    """Where the newest parts of a window begin that make FANOUT or more of one tier; None for none."""
    if not sizes:
        return None
    tier = _tier(sizes[-1])
    start = len(sizes)
    while start > 0 and _tier(sizes[start - 1]) <= tier:
        start -= 1
    enough = len(sizes) - start >= FANOUT
    return start if enough and sizes[-1] < MOST_ROWS else None


def _tier(rows: int) -> int:
    """The tier of a chunk: 0 for 1 to 3 rows, 1 for 4 to 15, and so on."""
    return (rows.bit_length() - 1) // 2


def encode(batch: ChangeBatch) -> bytes:
    """A change batch as an Arrow IPC stream."""
    return bytes(encoded(batch))


def encoded(batch: ChangeBatch) -> memoryview:
    """The same, without a copy, for who writes it at once."""
    table = batch.to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_batch(table)
    return memoryview(sink.getvalue())


def decode(blob: bytes | pa.Buffer) -> ChangeBatch:
    """The inverse of `encode`, reading in place."""
    with pa.ipc.open_stream(blob) as reader:
        batches: Sequence[pa.RecordBatch] = list(reader)
    return concat([ChangeBatch.from_arrow(batch) for batch in batches])


def content_name(blob: bytes | pa.Buffer) -> str:
    """The name of a chunk with this content."""
    return hashlib.blake2b(blob, digest_size=16).hexdigest()


def order_of(chunk: Chunk) -> str:
    """What the rows of a chunk are ordered by: "time" or "end"."""
    times = chunk.batch.times
    return "time" if chunk.keys is times or np.array_equal(chunk.keys, times) else "end"


def stored_chunk(order: str, blob: bytes | pa.Buffer) -> Chunk:
    """A chunk from its rows as they were stored, and what they are ordered by."""
    batch = decode(blob)
    return Chunk(batch, order_keys(batch, order))


def order_keys(batch: ChangeBatch, order: str) -> NDArray[np.int64]:
    """What the rows leave by: their times, or their ends."""
    return batch.times if order == "time" else batch.ends_or_never()
