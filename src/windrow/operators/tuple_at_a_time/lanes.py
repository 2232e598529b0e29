"""The tape of a running query: one lane per input, which grows at its end and is cut at its front.

    position    first[0]                          first[1]
    tape        [ gone | tuples ....... | free    | gone | tuples ... | free ]
                        heads[0]         next[0]          heads[1]     next[1]

Tuples of an input have serial numbers, in order of arrival, for ever; a position is the serial
number plus the lane's offset. When a lane is full all lanes are laid out anew, each with as much
free room as it holds tuples: what an arrival costs does not depend on the window.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.tuple_at_a_time.machine import Move
from windrow.kernels.tuple_at_a_time.tape import Numbers, Tape

LEAST_ROOM = 64
"""Tuples that an empty lane has room for."""

ROOMY = 8
"""Times the tuples that are held, beyond which room is given back; new lanes have twice as much."""

Words = NDArray[np.uint64]


class Lanes:
    """The times and words of all tuples that a machine may need, and where their rows are.

    Args:
        streams: the number of inputs.
        classes: the number of key classes.

    Attributes:
        tape: what machines read.
        next: per stream, the position after its last tuple.
        places: per position, where the tuple's row is (see `rows.py`).
    """

    def __init__(self, streams: int, classes: int) -> None:
        first = np.arange(streams + 1) * LEAST_ROOM
        self.tape = _empty_tape(first, classes)
        self.next: Numbers = first[:-1].copy()
        self.places: Numbers = np.zeros(first[-1], np.int64)
        self._offset: Numbers = first[:-1].copy()

    @property
    def nbytes(self) -> int:
        """Bytes of all lanes, free room included."""
        return self.tape.times.nbytes + self.tape.words.nbytes + self.places.nbytes

    def entries(self, heads: Numbers) -> int:
        """How many tuples of all streams lie from `heads` on."""
        return int((self.next - heads).sum())

    def is_roomy(self, held: int) -> bool:
        """Whether there is far more room than so many tuples of all streams need."""
        streams = len(self.next)
        return len(self.tape.times) > ROOMY * max(held, streams * LEAST_ROOM)

    def fits(self, counts: Numbers) -> bool:
        """Whether so many more tuples fit, per stream."""
        return bool(np.all(self.next + counts <= self.tape.first[1:]))

    def make_room(self, counts: Numbers, heads: Numbers) -> Move:
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

    def append(self, stream: int, times: Numbers, words: Words) -> Numbers:
        """Adds tuples of one stream, room having been made; gives their serial numbers."""
        start = int(self.next[stream])
        stop = start + len(times)
        self.tape.times[start:stop] = times
        self.tape.words[start:stop] = words
        self.next[stream] = stop
        serials: Numbers = np.arange(start, stop) - self._offset[stream]
        return serials

    def put(self, stream: int, serials: Numbers, places: Numbers) -> None:
        """Notes where the rows of some tuples are; those that have left the lane are passed by."""
        positions = serials + self._offset[stream]
        held = positions >= self.tape.first[stream]
        self.places[positions[held]] = places[held]


def _empty_tape(first: Numbers, classes: int) -> Tape:
    size = int(first[-1])
    return Tape(np.zeros(size, np.int64), np.zeros((size, classes), np.uint64), first)
