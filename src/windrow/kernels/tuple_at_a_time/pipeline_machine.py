"""A left-deep pipeline of window joins as a machine: arrivals from a tape, combinations in blocks.

The loops of one level (`level_loops`) work on rooms of fixed size. Here the buffers grow and shrink,
and blocks of tuples are handed from level to level, pulled from above (the papers' GetNext):

    results  <-  level 3  <-  level 2  <-  level 1  <-  arrivals of one push, in order

A level that runs out of room hands up what it has, and with it how far that reaches: the level
above then takes its own stream's arrivals up to there, and no further.

Once a tuple has been taken the pipeline holds its time stamp and words itself, alone and in every
m-tuple that it is part of; the tape only says what its position means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.bew_period import LEAST
from windrow.kernels.tuple_at_a_time.machine import Move, PartialTest
from windrow.kernels.tuple_at_a_time.pipeline import (
    FILLED,
    HELD,
    LEFT,
    NEXT_LEFT,
    NEXT_RIGHT,
    NONE,
    NUMBER,
    RIGHT,
    SEEN,
    SIDE,
    Entries,
    Flow,
    Level,
    LevelLoops,
    LevelStore,
    Words,
    in_list_order,
    relink,
    remove_all_old,
)
from windrow.kernels.tuple_at_a_time.tape import (
    FoundCombinations,
    Int64s,
    Tape,
    TupleConditions,
    no_work,
)

SMALLEST_STORE = 64
SLOTS_PER_BUCKET = 4
SMALLEST_ROOM = 64
"""Tuples that there is room for at first, where a level hands up what it has found."""


@dataclass(frozen=True)
class Pipeline:
    """What a pipeline joins and how.

    Attributes:
        loops: what makes the loops of each level.
        conditions: the closed bounds and the keys.
        order: the streams from the bottom of the pipeline to its top.
        is_path: every stated window joins two streams that follow one another in `order`.
        room: how many tuples leave a level at once, at most; there is room for as many as did.
    """

    loops: Callable[[], LevelLoops]
    conditions: TupleConditions
    order: tuple[int, ...]
    is_path: bool = False
    room: int = 1 << 14


@dataclass(frozen=True, eq=False)
class Push:
    """Tuples of all streams on their way through the levels, in the order in which they are taken.

    Attributes:
        streams: the stream of each.
        places: where it is, as results will name it.
        times: its time stamp.
        words: one word per key class.
        first: the number of the first arrival.
        coming: per stream, the least time that may still come; None: the newest time stamp seen in
            each stream, as published.
        is_replay: whether the results were given before; only the buffers are filled.
    """

    streams: Int64s
    places: Int64s
    times: Int64s
    words: Words
    first: int
    coming: Int64s | None
    is_replay: bool

    @property
    def end(self) -> int:
        """The number after the last arrival."""
        return self.first + len(self.streams)

    @cached_property
    def stamps(self) -> Int64s:
        """The stream and time stamp of each arrival, where they move the vectors."""
        if self.coming is not None:
            return np.empty((0, 2), np.int64)
        return np.column_stack((self.streams, self.times)).astype(np.int64)

    def of(self, stream: int) -> Entries:
        """One stream's tuples."""
        own = np.flatnonzero(self.streams == stream)
        return Entries(
            own + self.first,
            self.places[own].reshape(-1, 1),
            self.times[own].reshape(-1, 1),
            self.words[own],
        )


class PipelineMachine:
    """The levels of one join, from the bottom up; a `machine.PipelinedMachine`.

    Args:
        plan: what is joined and how.
        first: where each stream begins on the tape.

    Attributes:
        work: what was done since the beginning.
    """

    def __init__(self, plan: Pipeline, first: Int64s) -> None:
        self.work = no_work()
        self._plan = plan
        self._test: PartialTest | None = None
        self._levels = [_Level(plan, depth, self.work) for depth in range(1, len(plan.order))]
        self._arrived = 0
        self._next = first[: len(plan.order)].copy()
        self._results: Iterator[Entries] = iter(())
        self._waiting = np.empty((0, len(plan.order)), np.int64)

    @property
    def intermediate(self) -> int:
        """How many m-tuples of two streams or more are held."""
        return sum(level.held(LEFT) for level in self._levels[1:])

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers, free slots included."""
        return sum(level.nbytes for level in self._levels)

    def test_with(self, test: PartialTest) -> None:
        """Lets only those m-tuples climb that a test picks."""
        self._test = test

    def adopt(self, tape: Tape, turns: Int64s) -> None:
        """Takes tuples whose combinations were all given before: builds their m-tuples anew."""
        anything = np.full(len(self._plan.order), LEAST, np.int64)
        for _ in self._joined(self._taken(tape, turns, anything, is_replay=True)):
            pass  # the last level stores and gives nothing

    def begin(self, tape: Tape, turns: Int64s, coming: Int64s | None = None) -> None:
        """Hands over the next arrivals."""
        self._results = self._joined(self._taken(tape, turns, coming, is_replay=False))

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:  # noqa: ARG002  (the protocol's)
        """Adds combinations while there is room; whether all arrivals are through."""
        while found.filled[0] < len(found.positions):
            if not len(self._waiting):
                block = next(self._results, None)
                if block is None:
                    self._waiting = self._waiting.copy()  # empty; as a part it would hold its block
                    return True
                # A column per stream as the query numbers them.
                self._waiting = np.empty_like(block.places)
                self._waiting[:, list(self._plan.order)] = block.places
            start = int(found.filled[0])
            given = self._waiting[: len(found.positions) - start]
            found.positions[start : start + len(given)] = given
            found.filled[0] = start + len(given)
            self._waiting = self._waiting[len(given) :]
        return False

    def trim(self, tape: Tape, coming: Int64s) -> None:  # noqa: ARG002  (the protocol's)
        """Lets go of the tuples and m-tuples that nothing to come can meet."""
        for level in self._levels:
            level.drop(coming)

    def heads(self) -> Int64s:
        """Per stream, the first position that is still needed."""
        least = self._next.copy()
        for level in self._levels:
            level.lower(least)
        return least

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions."""
        for level in self._levels:
            level.move(move.shift)
        self._next = self._next + move.shift

    def _taken(self, tape: Tape, turns: Int64s, coming: Int64s | None, *, is_replay: bool) -> Push:
        """The tuples of the next turns, read from the tape."""
        positions = np.empty(len(turns), np.int64)
        for stream in range(len(self._next)):
            own = np.flatnonzero(turns == stream)
            positions[own] = self._next[stream] + np.arange(len(own))
            self._next[stream] += len(own)
        times, words = tape.times[positions], tape.words[positions]
        push = Push(turns, positions, times, words, self._arrived, coming, is_replay)
        self._arrived = push.end
        return push

    def _joined(self, push: Push) -> Iterator[Entries]:
        """The complete combinations in blocks, their streams in pipeline order.

        A block is overwritten by the next.
        """
        for found, _ in self._climbing(len(self._levels), push):
            if len(found.numbers):
                yield found
        for level in self._levels:
            level.end()

    def _climbing(self, depth: int, push: Push) -> Iterator[tuple[Entries, int]]:
        """The tuples that leave a level, in blocks, and up to which arrival each is complete."""
        if depth == 0:
            yield push.of(self._plan.order[0]), push.end
            return
        level = self._levels[depth - 1]
        level.begin(push)
        for left, until in self._climbing(depth - 1, push):
            for found, reached in level.joined(left, until):
                if self._test is not None and len(found.numbers):
                    kept = self._test(self._plan.order[: depth + 1], found.places)
                    yield _lines(found, kept), reached
                else:
                    yield found, reached


class _Level:
    """One level: its buffers, and how far it came in a push."""

    def __init__(self, plan: Pipeline, depth: int, work: Int64s) -> None:
        upper, keyed = plan.conditions
        left, right = list(plan.order[:depth]), plan.order[depth]
        self._plan, self._work = plan, work
        self._loops = plan.loops()
        self._is_last = depth + 1 == len(plan.order)
        self._streams = np.array([*left, right], np.int64)
        self._reach_back = np.ascontiguousarray(upper[right, left])
        self._reach_on = np.ascontiguousarray(upper[left, right])
        self._from_left: NDArray[np.bool_] = np.logical_or.reduce(keyed[left], axis=0)
        self._shared = self._from_left & keyed[right]
        self._stores = [
            _store(SMALLEST_STORE, width, keyed.shape[1], self._buckets(SMALLEST_STORE))
            for width in (depth, 1)
        ]
        for store in self._stores:
            relink(store, self._shared, 0)
        self._out = _room(min(SMALLEST_ROOM, plan.room), depth + 1, keyed.shape[1])
        self._newest = np.full(len(upper), LEAST, np.int64)
        self._loops.resized(self._most_buckets)
        self._progress = np.full(9, NONE, np.int64)
        self._push: Push | None = None
        self._right = _room(0, 1, keyed.shape[1])

    def held(self, side: int) -> int:
        """How many tuples one side holds."""
        return int(self._stores[side].free[HELD])

    @property
    def nbytes(self) -> int:
        """Bytes of both buffers and of the room for what climbs."""
        arrays = [array for store in self._stores for array in store]
        return sum(array.nbytes for array in [*arrays, *self._out])

    def begin(self, push: Push) -> None:
        """Prepares for the arrivals of a push."""
        self._push = push
        self._right = push.of(int(self._streams[-1]))
        self._make_room(RIGHT, len(self._right.numbers))
        self._progress[NEXT_RIGHT] = self._progress[SEEN] = 0
        if push.coming is not None:
            self._newest = push.coming.copy()  # each level moves its own

    def joined(self, left: Entries, until: int) -> Iterator[tuple[Entries, int]]:
        """Joins a block of m-tuples and the right tuples before `until`."""
        assert self._push is not None
        push, progress = self._push, self._progress
        self._make_room(LEFT, len(left.numbers))
        progress[NEXT_LEFT] = 0
        flow = Flow(
            left, self._right, until, self._newest, push.stamps, push.first,
            push.is_replay and self._is_last,
        )  # fmt: skip
        while True:
            progress[FILLED] = 0
            self._loops.join(self._level, flow, self._out, progress, self._work)
            filled = int(progress[FILLED])
            is_through = progress[SIDE] == NONE
            reached = until if is_through else int(progress[NUMBER])
            yield _lines(self._out, slice(filled)), reached
            if is_through:
                return
            self._change_room(min(2 * len(self._out.numbers), self._plan.room))

    def drop(self, coming: Int64s) -> None:
        """Removes what nothing to come can meet; gives memory back where much is free.

        Not so where the loops keep all until they clean by themselves.
        """
        self._newest = coming.copy()
        if self._loops.cleans_itself:
            return
        remove_all_old(self._level, coming)
        for side, store in enumerate(self._stores):
            fitting = max(SMALLEST_STORE, 2 * self.held(side))
            if len(store.links) > 2 * fitting:
                self._resize(side, fitting)

    def end(self) -> None:
        """Ends a push: all its arrivals have moved the vector, and nothing is held for it."""
        assert self._push is not None
        stamps = self._push.stamps[self._progress[SEEN] :]
        np.maximum.at(self._newest, stamps[:, 0], stamps[:, 1])
        self._push = None
        self._right = _room(0, 1, self._right.words.shape[1])
        self._change_room(min(SMALLEST_ROOM, self._plan.room))

    def move(self, shifts: Int64s) -> None:
        """Adds a stream's shift to all its places."""
        for store, streams in self._sides():
            store.places[:] += shifts[streams]

    def lower(self, least: Int64s) -> None:
        """Lowers the least place of each stream to the least one held here."""
        for store, streams in self._sides():
            held = store.places[in_list_order(store)]
            if len(held):
                least[streams] = np.minimum(least[streams], held.min(axis=0))

    def _sides(self) -> list[tuple[LevelStore, Int64s]]:
        """Both buffers, each with its streams."""
        left, right = self._stores
        return [(left, self._streams[:-1]), (right, self._streams[-1:])]

    @property
    def _level(self) -> Level:
        return Level(
            self._stores[LEFT], self._stores[RIGHT],
            self._streams, self._reach_back, self._reach_on,
            len(self._reach_on) - 1 if self._plan.is_path else 0,
            self._shared, self._from_left, self._is_last,
        )  # fmt: skip

    def _change_room(self, tuples: int) -> None:
        """Makes room for so many tuples to climb at once; what is there now has been taken."""
        if tuples != len(self._out.numbers):
            self._out = _room(tuples, len(self._streams), self._out.words.shape[1])

    def _make_room(self, side: int, tuples: int) -> None:
        needed = self.held(side) + tuples
        if needed > len(self._stores[side].links):
            self._resize(side, 2 * needed)

    def _resize(self, side: int, slots: int) -> None:
        """Moves a buffer to another number of slots; buckets only ever become more.

        Their number is a power of two, so that each list is split, and keeps its order.
        """
        old = self._stores[side]
        alive = in_list_order(old)
        width, classes = old.places.shape[1], old.words.shape[1]
        new = _store(slots, width, classes, max(len(old.heads), self._buckets(slots)))
        for name in ("places", "times", "words", "low", "high"):
            getattr(new, name)[: len(alive)] = getattr(old, name)[alive]
        relink(new, self._shared, len(alive))
        self._stores[side] = new
        self._loops.resized(self._most_buckets)

    def _buckets(self, slots: int) -> int:
        """How many lists a buffer of so many slots has."""
        if not self._loops.is_hashed or not self._shared.any():
            return 1
        return 1 << (max(1, slots // SLOTS_PER_BUCKET).bit_length() - 1)

    @property
    def _most_buckets(self) -> int:
        """The lists of the buffer that has more of them."""
        return max(len(store.heads) for store in self._stores)


def _lines(entries: Entries, which: slice | Int64s) -> Entries:
    """Some of the tuples."""
    return Entries._make(array[which] for array in entries)


def _store(slots: int, width: int, classes: int, buckets: int) -> LevelStore:
    """A buffer whose lists are still to be linked."""
    return LevelStore(
        np.empty((slots, width), np.int64),
        np.empty((slots, width), np.int64),
        np.zeros((slots, classes), np.uint64),
        np.empty(slots, np.int64),
        np.empty(slots, np.int64),
        np.empty(slots, np.int64),
        np.empty(buckets, np.int64),
        np.empty(buckets, np.int64),
        np.zeros(3, np.int64),
    )


def _room(tuples: int, width: int, classes: int) -> Entries:
    """Room for tuples of so many streams."""
    return Entries(
        np.empty(tuples, np.int64),
        np.empty((tuples, width), np.int64),
        np.empty((tuples, width), np.int64),
        np.empty((tuples, classes), np.uint64),
    )
