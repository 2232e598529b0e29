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
from windrow.kernels.tuple_at_a_time.machine import LoopMachine, Move, Stack
from windrow.kernels.tuple_at_a_time.tape import (
    ADMIT,
    DROP,
    DROPS,
    FOUND,
    KEY_TESTS,
    OUTPUT,
    PERIOD,
    PROBES,
    TOUCH,
    UPDATES,
    WINDOW_TESTS,
    Buffers,
    FoundCombinations,
    Int64s,
    Record,
    Tape,
    Trace,
    TupleConditions,
    Tuples,
    note,
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


class Windows(NamedTuple):
    """The two windows, and what the join keeps beside them.

    Attributes:
        first: the window of stream 0.
        second: the window of stream 1.
        words: the key words, as an array.
        offset: per stream, what a serial number lacks to a position.
        asked: the least and greatest key of the probe that is under way.
    """

    first: Store
    second: Store
    words: Int64s
    offset: Int64s
    asked: Int64s


Buffered = tuple[Buffers, Windows]


class Asymmetric(LoopMachine):
    """The join of two streams, each window in its structure.

    Args:
        conditions: the bounds and keys.
        first: where each stream begins on the tape, and after the last where it ends.
        words: what windows are kept by.
        structures: of window 0 and of window 1.
        trace: where steps are noted.
    """

    def __init__(
        self,
        conditions: TupleConditions,
        first: Int64s,
        words: KeyPlaces,
        structures: tuple[Structure, Structure],
        trace: Trace | None = None,
    ) -> None:
        super().__init__(conditions, first, np.array([[0, 1], [1, 0]], np.int64), trace)
        stores = [empty_store(STRUCTURES[name], size) for name, size in structures]
        numbers = np.array(words, np.int64)
        offset, asked = np.zeros(2, np.int64), np.zeros(2, np.int64)
        self._windows = Windows(stores[0], stores[1], numbers, offset, asked)

    @property
    def nbytes(self) -> int:
        """Bytes of the structures."""
        return sum(map(nbytes, self._stores))

    def adopt(self, tape: Tape, turns: Int64s) -> None:
        """Takes tuples whose combinations were all given before."""
        start = self.buffers.next.copy()
        super().adopt(tape, turns)
        column = self._windows.words[0]
        stores = []
        for store, at, stop, offset in zip(
            self._stores, start, self.buffers.next, self._windows.offset, strict=True
        ):
            words = (
                np.zeros(stop - at, np.uint64) if column == NONE else tape.words[at:stop, column]
            )
            stores.append(with_newest(store, writable(words).view(np.int64), at - offset))
        self._windows = self._windows._replace(first=stores[0], second=stores[1])

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether all arrivals are through."""
        while True:
            stopped = asymmetric(
                tape, self.conditions, self.arrivals, (self.buffers, self._windows),
                self.stack, found, (self.work, self.trace),
            )  # fmt: skip
            if stopped != WINDOW_IS_FULL:
                self._count()
                return stopped == THROUGH
            self._make_room()

    def trim(self, tape: Tape, coming: Int64s) -> None:
        """Drops the oldest of both windows that nothing to come can meet."""
        for stream in range(2):
            store, record = self._stores[stream], (self.work, self.trace)
            drop_old(tape, self.reach, coming, self.buffers, store, stream, record)

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions."""
        super().moved(move)
        self._windows.offset[:] += move.shift

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
    stack: Stack,
    found: FoundCombinations,
    record: Record,
) -> int:
    """Joins arrivals until all are through, or room is wanted; says which.

    The other algorithms that answer on arrival share functions for these steps. Here they are
    written out for two streams: with a tree, a tuple costs less than the calls would.
    """
    buffers, windows = buffered
    level, turns, coming = stack.level, arrivals.turns, arrivals.coming
    while True:
        if level[0] == 0:
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
            drop_old(tape, conditions.upper, coming, buffers, probed, 1 - start, record)
            insert(own, _word(tape, at, windows.words[0]), at - windows.offset[start])
            stack.chosen[0] = at
            _begin_probe(tape, conditions.upper, windows, probed, stack, start, record)
        if not _meet(tape, conditions, arrivals, windows, stack, found, record):
            return NO_ROOM_FOR_RESULTS
        level[0] = 0


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
    record: Record,
) -> None:
    """Expires the oldest tuples of a window while nothing to come can meet them."""
    work, trace = record
    least = minus(coming[1 - stream], reach[stream, 1 - stream])
    at, stop = buffers.head[stream], buffers.next[stream]
    while at < stop and tape.times[at] < least:
        expire(store)
        work[DROPS] += 1
        if len(trace.events) > 0:
            note(trace, DROP, stream, at)
        at += 1
    buffers.head[stream] = at


@lean_kernel_part
def _begin_probe(
    tape: Tape,
    upper: Int64s,
    windows: Windows,
    probed: Store,
    stack: Stack,
    start: int,
    record: Record,
) -> None:
    """The period and the range of keys that the new tuple asks for, and where they begin."""
    work, trace = record
    at = stack.chosen[0]
    time = tape.times[at]
    stack.low[1] = minus(time, upper[1 - start, start])
    stack.high[1] = plus(time, upper[start, 1 - start])
    windows.asked[0] = _word(tape, at, windows.words[1])
    windows.asked[1] = _word(tape, at, windows.words[2])
    stack.cursor[1] = first(probed, windows.asked[0], windows.asked[1])
    stack.level[0] = 1
    work[PROBES] += 1
    if len(trace.events) > 0:
        note(trace, ADMIT, start, at)
        note(trace, PERIOD, stack.low[1], stack.high[1])


@lean_kernel_part
def _meet(
    tape: Tape,
    conditions: TupleConditions,
    arrivals: Tuples,
    windows: Windows,
    stack: Stack,
    found: FoundCombinations,
    record: Record,
) -> bool:
    """Goes on through what the probe finds; whether it came to the end."""
    work, trace = record
    start = arrivals.turns[arrivals.taken[0] - 1]
    other = 1 - start
    store = windows.second if start == 0 else windows.first
    low, high = windows.asked[0], windows.asked[1]
    earliest, latest, chosen = stack.low[1], stack.high[1], stack.chosen[0]
    times, positions, is_traced = tape.times, found.positions, len(trace.events) > 0
    offset, has_keys = windows.offset[other], conditions.keyed.shape[1] > 0
    line, room = found.filled[0], len(positions)
    place, tested, before = stack.cursor[1], 0, found.filled[0]
    while place != NONE and line < room:
        at = entry_at(store, place) + offset
        tested += 1
        if is_traced:
            note(trace, TOUCH, other, at)
        if earliest <= times[at] <= latest and (
            not has_keys or same_keys(tape, conditions, start, chosen, other, at)
        ):
            if is_traced:
                note(trace, OUTPUT, -1, work[FOUND] + line - before)
            positions[line, start] = chosen
            positions[line, other] = at
            line += 1
        place = following(store, place, low, high)
    stack.cursor[1] = place
    found.filled[0] = line
    work[FOUND] += line - before
    work[WINDOW_TESTS] += tested
    return bool(place == NONE)


@lean_kernel_part
def _word(tape: Tape, at: int, column: int) -> int:
    """A word of a tuple, as the ordered number that it is; 0 where there is no key."""
    return 0 if column == NONE else int(np.int64(tape.words[at, column]))
