"""The rows behind the tuples of a lane.

A machine names a tuple by its position; the row itself lies in a chunk of the input's buffer,
which merges chunks and drops rows as for every window join. So that a row can be found again, it
carries its serial number as one more column:

    lane     position -> place                             chunk number, row within the chunk
    chunk    rows with their serial numbers

Whenever chunks are new, the places of their rows are written into the lane; a row is written as
often as it is copied by merging. The chunks of a snapshot have no serial numbers: they are the
same for every algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from windrow.kernels.tuple_at_a_time.tape import Numbers
from windrow.operators.changes import ChangeBatch, select
from windrow.operators.chunks import Chunk, ChunkBuffer, ChunkSlice
from windrow.operators.gather import ROW_BITS, Places
from windrow.operators.key_columns import is_exact
from windrow.operators.tuple_at_a_time.lanes import Lanes

SERIAL = "__serial"
_NUMBER = "number among the chunks of its lane"


class LaneRows:
    """The rows of one input.

    Args:
        stream: the input.
        lanes: where its tuples are.
    """

    def __init__(self, stream: int, lanes: Lanes) -> None:
        self._stream = stream
        self._lanes = lanes
        self._buffer = ChunkBuffer("time")
        self._chunks: dict[int, Chunk] = {}
        self._stored: dict[int, tuple[ChangeBatch, Chunk]] = {}

    def __len__(self) -> int:
        return self._buffer.rows

    @property
    def buffer(self) -> ChunkBuffer:
        """The chunks, with serial numbers."""
        return self._buffer

    @property
    def first(self) -> int:
        """The least event time held; MAX_TICK for none."""
        return self._buffer.first

    @property
    def has_ends(self) -> bool:
        """Whether any row has an end of its own."""
        return any(chunk.batch.ends is not None for chunk in self._chunks.values())

    def append(self, rows: ChangeBatch, serials: Numbers) -> None:
        """Keeps new rows."""
        self._buffer.append(_numbered(rows, serials))
        self._note_chunks()

    def restore(self, slices: Sequence[ChunkSlice], serials: Sequence[Numbers]) -> None:
        """Takes over the chunks of a snapshot, with the serial numbers of their rows alive."""
        numbered = []
        for part, own in zip(slices, serials, strict=True):
            dead = np.full(part.skip, -1, np.int64)
            batch = _numbered(part.chunk.batch, np.concatenate([dead, own]))
            numbered.append(ChunkSlice(Chunk(batch, part.chunk.keys), part.skip))
        self._buffer = ChunkBuffer("time", numbered)
        self._note_chunks()
        for part, given in zip(numbered, slices, strict=True):
            self._stored[part.chunk.derived[_NUMBER]] = part.chunk.batch, given.chunk

    def drop_below(self, time: int) -> int:
        """Drops the rows before a time; gives their number."""
        dropped = self._buffer.drop_below(time)
        if dropped:
            self._note_chunks()
        return dropped

    def slices(self) -> Iterable[ChunkSlice]:
        """The chunks as a snapshot keeps them."""
        return [
            ChunkSlice(self._without_serials(part.chunk), part.skip) for part in self._buffer.slices
        ]

    def is_exact(self, column: str) -> bool:
        """Whether equal words of the column are equal values in every chunk."""
        columns = [chunk.batch.columns.column(column) for chunk in self._chunks.values()]
        return all(is_exact(values.type) and not values.null_count for values in columns)

    def columns(self, names: Sequence[str], places: Places) -> list[pa.Array]:
        """Some columns at some places."""
        if not names:
            return []
        taken = places.columns(lambda at: self._chunks[at].batch.columns.select(names))
        return list(taken.columns)

    def ends(self, places: Places) -> Numbers:
        """The ends of the rows at some places."""
        return places.numbers(lambda at: self._chunks[at].batch.ends_or_never())

    def _without_serials(self, chunk: Chunk) -> Chunk:
        """The chunk as a snapshot has it; made once, so that its name and bytes are too.

        A chunk that has gone to disk since has other arrays, and what held the old ones must go.
        """
        number = chunk.derived[_NUMBER]
        source, stored = self._stored.get(number, (None, None))
        if stored is None or source is not chunk.batch:
            columns, times = chunk.batch.columns, chunk.batch.times
            names = [name for name in columns.schema.names if name != SERIAL]
            stored = Chunk(ChangeBatch(select(columns, names), times, chunk.batch.ends), chunk.keys)
            self._stored[number] = chunk.batch, stored
        return stored

    def _note_chunks(self) -> None:
        """Numbers the chunks that are new, and writes the places of their rows into the lane."""
        known = [part.chunk for part in self._buffer.slices if _NUMBER in part.chunk.derived]
        self._chunks = {chunk.derived[_NUMBER]: chunk for chunk in known}
        self._stored = {at: own for at, own in self._stored.items() if at in self._chunks}
        number = 0
        for part in self._buffer.slices:
            if _NUMBER in part.chunk.derived:
                continue
            # The number of a chunk that is gone may be used again: its rows are gone too, or have
            # been copied to another new chunk, and their places are written anew.
            while number in self._chunks:
                number += 1
            part.chunk.derived[_NUMBER] = number
            self._chunks[number] = part.chunk
            serials = part.chunk.batch.columns.column(SERIAL).to_numpy()
            places = (number << ROW_BITS) + np.arange(part.skip, len(part.chunk))
            self._lanes.put(self._stream, serials[part.skip :], places)


def _numbered(rows: ChangeBatch, serials: Numbers) -> ChangeBatch:
    """Rows with their serial numbers as a last column."""
    arrays = [*rows.columns.columns, pa.array(serials)]
    fields = [*rows.columns.schema, pa.field(SERIAL, pa.int64())]
    columns = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
    return ChangeBatch(columns, rows.times, rows.ends)
