"""The lanes of a running query's tape, and the rows behind their tuples.

**Rows.** A machine names a tuple by its position; the row itself lies in a chunk of the input's
buffer, which merges chunks and drops rows as for every window join. So that a row can be found
again, it carries its serial number as one more column:

    lane     position -> place                             chunk number, row within the chunk
    chunk    rows with their serial numbers

Whenever chunks are new, the places of their rows are written into the lane; a row is written as
often as it is copied by merging. The chunks of a snapshot have no serial numbers: they are the
same for every algorithm.

**The tape** has one lane per input, which grows at its end and is cut at its front:

    position    first[0]                          first[1]
    tape        [ gone | tuples ....... | free    | gone | tuples ... | free ]
                        heads[0]         next[0]          heads[1]     next[1]

Tuples of an input have serial numbers, in order of arrival, for ever; a position is the serial
number plus the lane's offset. When a lane is full all lanes are laid out anew, each with as much
free room as it holds tuples: what an arrival costs does not depend on the window.

**Inputs.** What is pushed to an algorithm that takes tuple by tuple is laid out as tuples and kept
as rows:

    push      rows that can match, in time order  ->  lanes (time, words) and chunks (rows)
    turns     the inputs of the new tuples, merged by time; at one time, in the order of FROM

The tuples of a restored state are laid out in time order too, whichever order they came in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.tuple_at_a_time.machine import Move
from windrow.kernels.tuple_at_a_time.tape import Int64s, Tape
from windrow.operators.columns.changes import ROW_BITS, ChangeBatch, Places, select
from windrow.operators.columns.chunks import Chunk, ChunkBuffer, ChunkSlice
from windrow.operators.columns.key_columns import column_words, is_exact, mixed_words
from windrow.operators.engine.base import Counters
from windrow.operators.joins.join_inputs import can_match, first_drop, last_needed, only_inserts
from windrow.operators.joins.tuple_at_a_time.tuple_words import (
    compared_pairs,
    comparison_words,
    range_of,
    range_words,
)
from windrow.physical.nodes.time_join import TimeJoin

LEAST_ROOM = 64
"""Tuples that an empty lane has room for."""

ROOMY = 8
"""Times the tuples that are held, beyond which room is given back; new lanes have twice as much."""

Words = NDArray[np.uint64]


class Lanes:
    """The times and words of all tuples that a machine may need, and where their rows are.

    Attributes:
        tape: what machines read.
        next: per stream, the position after its last tuple.
        places: per position, where the tuple's row is.
    """

    def __init__(self, streams: int, classes: int) -> None:
        first = np.arange(streams + 1) * LEAST_ROOM
        times, words = np.zeros(first[-1], np.int64), np.zeros((first[-1], classes), np.uint64)
        self.tape = Tape(times, words, first)
        self.next: Int64s = first[:-1].copy()
        self.places: Int64s = np.zeros(first[-1], np.int64)
        self._offset: Int64s = first[:-1].copy()

    @property
    def nbytes(self) -> int:
        """Bytes of all lanes, free room included."""
        return self.tape.times.nbytes + self.tape.words.nbytes + self.places.nbytes

    def entries(self, heads: Int64s) -> int:
        """How many tuples of all streams lie from `heads` on."""
        return int((self.next - heads).sum())

    def is_roomy(self, held: int) -> bool:
        """Whether there is far more room than so many tuples of all streams need."""
        streams = len(self.next)
        return len(self.tape.times) > ROOMY * max(held, streams * LEAST_ROOM)

    def fits(self, counts: Int64s) -> bool:
        """Whether so many more tuples fit, per stream."""
        return bool(np.all(self.next + counts <= self.tape.first[1:]))

    def make_room(self, counts: Int64s, heads: Int64s) -> Move:
        """Lays out all lanes anew, so that so many more tuples fit.

        Args:
            counts: per stream, the tuples to come.
            heads: per stream, the first position that is still needed.
        """
        held = self.next - heads
        first = np.zeros(len(self.tape.first), np.int64)
        np.cumsum(np.maximum(2 * (held + counts), LEAST_ROOM), out=first[1:])
        move = Move(heads.copy(), self.next.copy(), first[:-1] - heads, int(first[-1]))
        self.tape = Tape(move.entries(self.tape.times, 0), move.entries(self.tape.words, 0), first)
        self.places = move.entries(self.places, 0)
        self.next = self.next + move.shift
        self._offset = self._offset + move.shift
        return move

    def append(self, stream: int, times: Int64s, words: Words) -> Int64s:
        """Adds tuples of one stream, room having been made; gives their serial numbers."""
        start = int(self.next[stream])
        stop = start + len(times)
        self.tape.times[start:stop] = times
        self.tape.words[start:stop] = words
        self.next[stream] = stop
        serials: Int64s = np.arange(start, stop) - self._offset[stream]
        return serials

    def put(self, stream: int, serials: Int64s, places: Int64s) -> None:
        """Notes where the rows of some tuples are; those that have left the lane are passed by."""
        positions = serials + self._offset[stream]
        held = positions >= self.tape.first[stream]
        self.places[positions[held]] = places[held]


SERIAL = "__serial"
_NUMBER = "number among the chunks of its lane"


class LaneRows:
    """The rows of one input; `buffer` has their chunks, with serial numbers."""

    def __init__(self, stream: int, lanes: Lanes) -> None:
        self._stream = stream
        self._lanes = lanes
        self.buffer = ChunkBuffer("time")
        self._chunks: dict[int, Chunk] = {}
        self._stored: dict[int, tuple[ChangeBatch, Chunk]] = {}

    def __len__(self) -> int:
        return self.buffer.rows

    @property
    def has_ends(self) -> bool:
        """Whether any row has an end of its own."""
        return any(chunk.batch.ends is not None for chunk in self._chunks.values())

    def append(self, rows: ChangeBatch, serials: Int64s) -> None:
        """Keeps new rows."""
        self.buffer.append(_numbered(rows, serials))
        self._note_chunks()

    def restore(self, slices: Sequence[ChunkSlice], serials: Sequence[Int64s]) -> None:
        """Takes over the chunks of a snapshot, with the serial numbers of their rows alive."""
        numbered = []
        for part, own in zip(slices, serials, strict=True):
            dead = np.full(part.skip, -1, np.int64)
            batch = _numbered(part.chunk.batch, np.concatenate([dead, own]))
            numbered.append(ChunkSlice(Chunk(batch, part.chunk.keys), part.skip))
        self.buffer = ChunkBuffer("time", numbered)
        self._note_chunks()
        for part, given in zip(numbered, slices, strict=True):
            self._stored[part.chunk.derived[_NUMBER]] = part.chunk.batch, given.chunk

    def drop_below(self, time: int) -> int:
        """Drops the rows before a time; gives their number."""
        dropped = self.buffer.drop_below(time)
        if dropped:
            self._note_chunks()
        return dropped

    def slices(self) -> Iterable[ChunkSlice]:
        """The chunks as a snapshot keeps them."""
        return [
            ChunkSlice(self._without_serials(part.chunk), part.skip) for part in self.buffer.slices
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

    def ends(self, places: Places) -> Int64s:
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
        known = [part.chunk for part in self.buffer.slices if _NUMBER in part.chunk.derived]
        self._chunks = {chunk.derived[_NUMBER]: chunk for chunk in known}
        self._stored = {at: own for at, own in self._stored.items() if at in self._chunks}
        number = 0
        for part in self.buffer.slices:
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


def _numbered(rows: ChangeBatch, serials: Int64s) -> ChangeBatch:
    """Rows with their serial numbers as a last column."""
    arrays = [*rows.columns.columns, pa.array(serials)]
    fields = [*rows.columns.schema, pa.field(SERIAL, pa.int64())]
    columns = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
    return ChangeBatch(columns, rows.times, rows.ends)


class LanedInputs:
    """All inputs of a join.

    Attributes:
        lanes: the tuples.
        rows: the rows behind them, per input.
    """

    def __init__(self, node: TimeJoin, counters: Counters) -> None:
        self._node = node
        self._counters = counters
        ports = range(len(node.inputs))
        self._columns = [node.columns_needed(port) for port in ports]
        self._retention = [node.retention(port) for port in ports]
        self._range = range_of(node)
        self._pairs = compared_pairs(node)
        words = len(node.classes) + len(self._pairs) + (0 if self._range is None else 3)
        self.lanes = Lanes(len(ports), words)
        self.rows = [LaneRows(port, self.lanes) for port in ports]

    def __len__(self) -> int:
        return sum(map(len, self.rows))

    def admitted(self, batches: Sequence[ChangeBatch | None]) -> list[ChangeBatch | None]:
        """Per input the rows that can match, in time order; None for none."""
        return [self._admitted(port, batch) for port, batch in enumerate(batches)]

    def fits(self, batches: Sequence[ChangeBatch | None]) -> bool:
        """Whether the lanes have room for rows."""
        return self.lanes.fits(_counts(batches))

    def make_room(self, batches: Sequence[ChangeBatch | None], heads: Int64s) -> Move:
        """Sees to it that rows fit, by moving all tuples from `heads` on."""
        return self.lanes.make_room(_counts(batches), heads)

    @property
    def is_roomy(self) -> bool:
        """Whether the lanes have far more room than the rows held need."""
        return self.lanes.is_roomy(len(self))

    def entries_beside(self, heads: Int64s) -> int:
        """The tuples from `heads` on whose rows are gone: a machine has not let go of them yet."""
        return max(0, self.lanes.entries(heads) - len(self))

    def append(self, batches: Sequence[ChangeBatch | None]) -> Int64s:
        """Takes rows for which there is room; gives the turns of their tuples."""
        for port, rows in enumerate(batches):
            if rows is not None:
                serials = self.lanes.append(port, rows.times, self._words(port, rows))
                self.rows[port].append(rows, serials)
        none = np.zeros(0, np.int64)
        return merged_turns([none if rows is None else rows.times for rows in batches])

    def restore(self, buffers: Sequence[Sequence[ChunkSlice]]) -> list[Int64s]:
        """Takes over the rows of a state, the lanes being empty; gives their times by input."""
        times, orders = [], []
        for slices in buffers:
            own = [part.chunk.keys[part.skip :] for part in slices]
            whole = np.concatenate([np.zeros(0, np.int64), *own])
            orders.append(np.argsort(whole, kind="stable"))
            times.append(whole[orders[-1]])
        self.lanes.make_room(np.array([len(own) for own in times]), self.lanes.next)
        for port, slices in enumerate(buffers):
            if not slices:
                continue
            parts = [self._words(port, part.rows()) for part in slices]
            words = np.concatenate(parts)[orders[port]]
            serials = np.empty(len(words), np.int64)
            serials[orders[port]] = self.lanes.append(port, times[port], words)
            cuts = np.cumsum([len(part) for part in slices])[:-1]
            self.rows[port].restore(slices, np.split(serials, cuts))
        return times

    def drop(self, watermark: int) -> None:
        """Drops the rows that no row from the watermark on can reach."""
        for rows, retention in zip(self.rows, self._retention, strict=True):
            self._counters.drops += rows.drop_below(last_needed(watermark, retention))

    def due(self) -> int:
        """The least watermark that drops a row."""
        return first_drop((rows.buffer for rows in self.rows), self._retention)

    def count(self) -> None:
        """Counts what is held."""
        self._counters.stored = len(self)
        self._counters.state_bytes = self.lanes.nbytes + sum(
            rows.buffer.nbytes for rows in self.rows
        )

    def _admitted(self, port: int, batch: ChangeBatch | None) -> ChangeBatch | None:
        if batch is None or not len(batch):
            return None
        self._counters.rows_in += len(batch)
        rows = only_inserts(self._node, port, batch, self._columns[port])
        possible = can_match(self._node, port, rows)
        if not possible.all():
            rows = rows.take(np.flatnonzero(possible))
        return rows.sorted_by(rows.times) if len(rows) else None

    def _words(self, port: int, rows: ChangeBatch) -> Words:
        """The mixed words of each key class, then those that loops compare; 0 for no column.

        Where structures are kept by something else, these are words of their own.
        """
        if self._range is not None:
            return range_words(self._range, port, rows)
        words = np.zeros((len(rows), len(self._node.classes) + len(self._pairs)), np.uint64)
        words[:, len(self._node.classes) :] = comparison_words(self._pairs, port, rows)
        for at, key in enumerate(self._node.classes):
            name = key.columns[port]
            if name is not None:
                words[:, at] = mixed_words(column_words(rows.columns.column(name)).words)
        return words


def _counts(batches: Sequence[ChangeBatch | None]) -> Int64s:
    return np.array([0 if rows is None else len(rows) for rows in batches], np.int64)


def merged_turns(times: Sequence[Int64s]) -> Int64s:
    """The inputs of tuples as time goes by, each input's times ascending."""
    inputs = np.repeat(np.arange(len(times)), [len(own) for own in times])
    return inputs[np.lexsort((inputs, np.concatenate(times)))]
