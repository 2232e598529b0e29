r"""The asymmetric binary window join: each window in a structure of its own.

Kang, Naughton and Viglas, section 4: a join of two streams is two one-way joins, and each may
look tuples up in its own way. A new tuple a of stream A

1. lets go of what no tuple of A to come can meet, from the old end of window B;
2. is inserted into window A;
3. probes window B by its key, or range of keys, and is tested against what is found there.

    A   ----a----->       insert      window A   (buffer, hash, B+tree or T-tree)
         \                              ^
          \  probe                      | probe
           v                             |
    window B   (any of the four)      b  <-----------   B

The windows hold tuples by serial numbers, which stay when the tape is laid out anew. Tuples are
dropped in order of arrival. Where that is not the order of time, a tuple behind the oldest may be
past its time; its own time is tested whenever it is found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.kernels.bew_period import minus, plus
from windrow.kernels.jit import lean_kernel, lean_kernel_part, writable
from windrow.kernels.structures.buckets import (
    AHEAD,
    is_far,
    read_free,
    read_head,
    read_oldest_heads,
    read_oldest_slots,
    read_slots,
)
from windrow.kernels.structures.store import COMPARED, MOVED, NONE, TOUCHED, Store, has_room, nbytes
from windrow.kernels.structures.window import (
    STRUCTURES,
    empty_store,
    entry_at,
    expire,
    first,
    following,
    grown,
    insert,
    with_newest,
)
from windrow.kernels.tuple_at_a_time.machine import Move
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    FOUND,
    KEY_TESTS,
    PROBES,
    UPDATES,
    WINDOW_TESTS,
    Buffers,
    FoundCombinations,
    Int64s,
    Tape,
    TupleConditions,
    Tuples,
    next_arrivals,
    no_arrivals,
    no_work,
    same_keys,
)
from windrow.kernels.tuple_at_a_time.tape import TOUCHED as TOUCHED_IN_ALL

THROUGH, NO_ROOM_FOR_RESULTS, WINDOW_IS_FULL = range(3)
"""Why the join stops: all arrivals are joined, or it must be given room first."""

Structure = tuple[str, int]
"""The name of a window structure, and its bucket or node size."""


class KeyPlaces(NamedTuple):
    """Which words of a tuple are its key, and the least and greatest key that it asks for.

    NONE for all three: there is no key.
    """

    key: int
    low: int
    high: int


NO_KEY = KeyPlaces(NONE, NONE, NONE)

IS_OPEN, CHOSEN, PLACE, LOW_KEY, HIGH_KEY, EARLIEST, LATEST = range(7)
"""The probe of the tuple taken last, an array of seven numbers.

IS_OPEN            whether it has not come to its end
CHOSEN             the tuple
PLACE              where in the other window it goes on
LOW_KEY, HIGH_KEY  the least and the greatest key that it asks for
EARLIEST, LATEST   the first and the last tick of its period
"""


class Windows(NamedTuple):
    """The two windows, and what the join keeps beside them.

    Attributes:
        first: the window of stream 0.
        second: the window of stream 1.
        words: the key words, as an array.
        offset: per stream, what a serial number lacks to a position.
        probe: how far the probe of the tuple taken last has come.
    """

    first: Store
    second: Store
    words: Int64s
    offset: Int64s
    probe: Int64s


Buffered = tuple[Buffers, Windows]


class Asymmetric:
    """The join of two streams, each window in its structure; a `machine.ArrivalMachine`.

    Args:
        conditions: the bounds and keys.
        first: where each stream begins on the tape, and after the last where it ends.
        words: what windows are kept by.
        structures: of window 0 and of window 1.
    """

    def __init__(
        self,
        conditions: TupleConditions,
        first: Int64s,
        words: KeyPlaces,
        structures: tuple[Structure, Structure],
    ) -> None:
        self.work = no_work()
        self._conditions = conditions
        self._buffers = Buffers(first[:-1].copy(), first[:-1].copy())
        self._arrivals = no_arrivals(2)
        stores = [empty_store(STRUCTURES[name], size) for name, size in structures]
        offset, probe = np.zeros(2, np.int64), np.zeros(LATEST + 1, np.int64)
        self._windows = Windows(stores[0], stores[1], np.array(words, np.int64), offset, probe)

    @property
    def nbytes(self) -> int:
        """Bytes of the structures."""
        return sum(map(nbytes, self._stores))

    def adopt(self, tape: Tape, turns: Int64s) -> None:
        """Takes tuples whose combinations were all given before."""
        start = self._buffers.next.copy()
        self._buffers.next[:] += np.bincount(turns, minlength=2)
        column = self._windows.words[0]
        stores = []
        for store, at, stop, offset in zip(
            self._stores, start, self._buffers.next, self._windows.offset, strict=True
        ):
            words = (
                np.zeros(stop - at, np.uint64) if column == NONE else tape.words[at:stop, column]
            )
            stores.append(with_newest(store, writable(words).view(np.int64), at - offset))
        self._windows = self._windows._replace(first=stores[0], second=stores[1])

    def begin(self, tape: Tape, turns: Int64s, coming: Int64s | None = None) -> None:  # noqa: ARG002
        """Hands over the next arrivals."""
        self._arrivals = next_arrivals(self._arrivals, turns, coming)

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether all arrivals are through."""
        while True:
            stopped = asymmetric(
                tape, self._conditions, self._arrivals, (self._buffers, self._windows),
                found, self.work,
            )  # fmt: skip
            if stopped != WINDOW_IS_FULL:
                self._count()
                return stopped == THROUGH
            self._make_room()

    def trim(self, tape: Tape, coming: Int64s) -> None:
        """Drops the oldest of both windows that nothing to come can meet."""
        for stream in range(2):
            store = self._stores[stream]
            drop_old(tape, self._conditions.upper, coming, self._buffers, store, stream, self.work)

    def heads(self) -> Int64s:
        """Per stream, the first position that is still needed."""
        return self._buffers.head

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions."""
        for positions in (*self._buffers, self._windows.offset):
            positions[:] += move.shift

    @property
    def _stores(self) -> tuple[Store, Store]:
        return self._windows.first, self._windows.second

    def _make_room(self) -> None:
        """Gives room to the window that has none."""
        first, second = (own if has_room(own) else grown(own) for own in self._stores)
        self._windows = self._windows._replace(first=first, second=second)

    def _count(self) -> None:
        """Takes over what the structures have counted."""
        numbers = [store.numbers for store in self._stores]
        for name, counted in (
            (TOUCHED_IN_ALL, TOUCHED),
            (KEY_TESTS, COMPARED),
            (UPDATES, MOVED),
        ):
            self.work[name] = sum(int(own[counted]) for own in numbers)


@lean_kernel
def asymmetric(
    tape: Tape,
    conditions: TupleConditions,
    arrivals: Tuples,
    buffered: Buffered,
    found: FoundCombinations,
    work: Int64s,
) -> int:
    """Joins arrivals until all are through, or room is wanted; says which."""
    buffers, windows = buffered
    probe, turns, coming = windows.probe, arrivals.turns, arrivals.coming
    while True:
        if not probe[IS_OPEN]:
            taken = arrivals.taken[0]
            if taken == len(turns):
                return THROUGH
            start = turns[taken]
            own, probed = windows.first, windows.second
            if start == 1:
                own, probed = probed, own
            if not has_room(own):
                return WINDOW_IS_FULL
            if taken % AHEAD == 0 and (is_far(own) or is_far(probed)):
                _read_ahead(tape, arrivals, buffers, windows)
            at = buffers.next[start]
            arrivals.taken[0] = taken + 1
            buffers.next[start] = at + 1
            if arrivals.is_ordered:
                coming[start] = max(coming[start], tape.times[at])
            drop_old(tape, conditions.upper, coming, buffers, probed, 1 - start, work)
            insert(own, _word(tape, at, windows.words[0]), at - windows.offset[start])
            _begin_probe(tape, conditions.upper, windows, probed, start, at)
            work[PROBES] += 1
        if not _meet(tape, conditions, arrivals, windows, found, work):
            return NO_ROOM_FOR_RESULTS
        probe[IS_OPEN] = 0


@lean_kernel
def _read_ahead(tape: Tape, arrivals: Tuples, buffers: Buffers, windows: Windows) -> None:
    """Asks for what the next arrivals are going to look at, to wait for memory once for all of them."""
    turns, taken = arrivals.turns, arrivals.taken[0]
    for is_second_pass in (False, True):
        positions = buffers.next[0], buffers.next[1]
        for n in range(taken, min(taken + AHEAD, len(turns))):
            start = turns[n]
            at = positions[start]
            positions = (at + 1, positions[1]) if start == 0 else (positions[0], at + 1)
            own, probed = windows.first, windows.second
            if start == 1:
                own, probed = probed, own
            key, asked = _word(tape, at, windows.words[0]), _word(tape, at, windows.words[1])
            if is_far(own):
                read_free(own, key) if is_second_pass else read_head(own, key)
            if is_far(probed):
                read_slots(probed, asked) if is_second_pass else read_head(probed, asked)
        for store in (windows.first, windows.second):
            if is_far(store) and is_second_pass:
                read_oldest_slots(store, AHEAD)
            elif is_far(store):
                read_oldest_heads(store, AHEAD)


@lean_kernel_part
def drop_old(
    tape: Tape,
    reach: Int64s,
    coming: Int64s,
    buffers: Buffers,
    store: Store,
    stream: int,
    work: Int64s,
) -> None:
    """Expires the oldest tuples of a window while nothing to come can meet them."""
    least = minus(coming[1 - stream], reach[stream, 1 - stream])
    at, stop = buffers.head[stream], buffers.next[stream]
    while at < stop and tape.times[at] < least:
        expire(store)
        work[DROPS] += 1
        at += 1
    buffers.head[stream] = at


@lean_kernel_part
def _begin_probe(
    tape: Tape, upper: Int64s, windows: Windows, probed: Store, start: int, at: int
) -> None:
    """The period and the range of keys that the new tuple asks for, and where they begin."""
    probe, time = windows.probe, tape.times[at]
    probe[IS_OPEN], probe[CHOSEN] = 1, at
    probe[EARLIEST] = minus(time, upper[1 - start, start])
    probe[LATEST] = plus(time, upper[start, 1 - start])
    probe[LOW_KEY] = _word(tape, at, windows.words[1])
    probe[HIGH_KEY] = _word(tape, at, windows.words[2])
    probe[PLACE] = first(probed, probe[LOW_KEY], probe[HIGH_KEY])


@lean_kernel_part
def _meet(
    tape: Tape,
    conditions: TupleConditions,
    arrivals: Tuples,
    windows: Windows,
    found: FoundCombinations,
    work: Int64s,
) -> bool:
    """Goes on through what the probe finds; whether it came to the end."""
    probe = windows.probe
    start = arrivals.turns[arrivals.taken[0] - 1]
    other = 1 - start
    store = windows.second if start == 0 else windows.first
    low, high = probe[LOW_KEY], probe[HIGH_KEY]
    earliest, latest, chosen = probe[EARLIEST], probe[LATEST], probe[CHOSEN]
    times, positions = tape.times, found.positions
    offset, has_keys = windows.offset[other], conditions.keyed.shape[1] > 0
    line, room = found.filled[0], len(positions)
    place, tested, before = probe[PLACE], 0, found.filled[0]
    while place != NONE and line < room:
        at = entry_at(store, place) + offset
        tested += 1
        if earliest <= times[at] <= latest and (
            not has_keys or same_keys(tape, conditions, start, chosen, other, at)
        ):
            positions[line, start] = chosen
            positions[line, other] = at
            line += 1
        place = following(store, place, low, high)
    probe[PLACE] = place
    found.filled[0] = line
    work[FOUND] += line - before
    work[WINDOW_TESTS] += tested
    return bool(place == NONE)


@lean_kernel_part
def _word(tape: Tape, at: int, column: int) -> int:
    """A word of a tuple, as the ordered number that it is; 0 where there is no key."""
    return 0 if column == NONE else int(np.int64(tape.words[at, column]))
