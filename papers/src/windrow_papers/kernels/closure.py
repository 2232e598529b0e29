"""Non-uniform windows by the closed bound of each pair: no tuple too many is looked at.

The closure of the stated bounds under shortest paths says, for every pair of streams, how far
apart two tuples of one combination can be (2002, section 5.2). With buffers in time order, the
tuples that all those chosen so far allow are one range, found by binary search:

    buffer of j, by time    . . . . [ = = = = = ) . . . .
                                    low         high        the period, from the closed bounds

So a loop looks at no tuple that the closure excludes, and a combination that is complete meets
every stated bound: nothing is left to refine.

Buffers are in time order whatever the order of arrival. The order is kept beside the tape:

    by_time   [ dropped | p3 p1 p2 p5 p4 | free ]      positions, ascending by time
                         head             next         in the stream's own stretch

A tuple that arrives behind d others of its stream that are later than it costs d moves.
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.jit import kernel
from windrow.kernels.tuple_at_a_time.machine import Move
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    KEY_TESTS,
    TOUCHED,
    WINDOW_TESTS,
    Buffers,
    FoundCombinations,
    Int64s,
    Tape,
    TupleConditions,
    Tuples,
)
from windrow_papers.kernels.loop_machine import LoopMachine, Stack, horizon
from windrow_papers.kernels.loops import agrees, begin_with, give, go_down, shrink, take_next
from windrow_papers.kernels.trace import DROP, TOUCH, Record, Trace, note


class Closure(LoopMachine):
    """The window join whose loops go through ranges of buffers in time order."""

    def __init__(
        self, conditions: TupleConditions, first: Int64s, order: Int64s, trace: Trace | None = None
    ) -> None:
        super().__init__(conditions, first, order, trace)
        self._by_time: Int64s = np.zeros(first[-1], np.int64)
        self._stop: Int64s = np.zeros(len(order), np.int64)  # per level, where its range ends

    @property
    def nbytes(self) -> int:
        """Bytes of the order."""
        return self._by_time.nbytes

    def adopt(self, tape: Tape, turns: Int64s) -> None:
        """Takes tuples whose combinations were all given before."""
        before = self.buffers.next.copy()
        super().adopt(tape, turns)
        for start, stop in zip(before, self.buffers.next, strict=True):
            self._by_time[start:stop] = np.arange(start, stop)

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether all arrivals are through."""
        return closure(
            tape, self.conditions, self.arrivals, (self.buffers, self._by_time),
            (self.stack, self._stop), found, (self.work, self.trace),
        )  # fmt: skip

    def trim(self, tape: Tape, coming: Int64s) -> None:
        """Drops what lies in front of the buffers and nothing to come can meet."""
        buffered, record = (self.buffers, self._by_time), (self.work, self.trace)
        for stream in range(len(self.buffers.head)):
            _drop_old(tape, self.reach, coming, buffered, stream, record)

    def heads(self) -> Int64s:
        """Per stream, the first position that is still needed: the least in its buffer."""
        spans = zip(self.buffers.head, self.buffers.next, strict=True)
        return np.array([self._by_time[a:b].min(initial=b) for a, b in spans], np.int64)

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions."""
        by_time = np.zeros(move.size, np.int64)
        for stream, shift in enumerate(move.shift):
            head, stop = self.buffers.head[stream], self.buffers.next[stream]
            # Order and tuples end at the same place, so that both move alike.
            by_time[head + shift : stop + shift] = self._by_time[head:stop] + shift
        self._by_time = by_time
        super().moved(move)


@kernel
def closure(
    tape: Tape,
    conditions: TupleConditions,
    arrivals: Tuples,
    buffered: tuple[Buffers, Int64s],
    loops: tuple[Stack, Int64s],
    found: FoundCombinations,
    record: Record,
) -> bool:
    """Joins arrivals until all are through (True) or no room is left for combinations."""
    work, trace = record
    buffers, by_time = buffered
    stack, stop = loops
    innermost = len(stack.streams) - 1
    while True:
        if stack.level[0] == 0:
            start = take_next(tape, arrivals, buffers, trace)
            if start < 0:
                return True
            begin_with(stack, start, buffers.next[start] - 1)
            _insert(tape, buffers, by_time, start)
            _enter(tape, conditions, arrivals, buffered, loops, record)
        level = stack.level[0]
        if stack.cursor[level] == stop[level]:
            stack.level[0] = level - 1
            continue
        if level == innermost and found.filled[0] == len(found.positions):
            return False
        at = by_time[stack.cursor[level]]
        stack.cursor[level] += 1
        work[TOUCHED] += 1
        work[KEY_TESTS] += 1
        note(trace, TOUCH, stack.streams[level], at)
        if not agrees(tape, conditions, stack, at):
            continue
        stack.chosen[level] = at
        if level < innermost:
            _enter(tape, conditions, arrivals, buffered, loops, record)
        else:
            give(found, stack, record)


@kernel
def _insert(tape: Tape, buffers: Buffers, by_time: Int64s, stream: int) -> None:
    """Puts the tuple just taken where its time belongs, after those of the same time."""
    taken = buffers.next[stream] - 1
    at = taken
    while at > buffers.head[stream] and tape.times[by_time[at - 1]] > tape.times[taken]:
        by_time[at] = by_time[at - 1]
        at -= 1
    by_time[at] = taken


@kernel
def _enter(
    tape: Tape,
    conditions: TupleConditions,
    arrivals: Tuples,
    buffered: tuple[Buffers, Int64s],
    loops: tuple[Stack, Int64s],
    record: Record,
) -> None:
    """Goes one level down: its buffer is cut at the front, and the range of its period found."""
    work = record[0]
    buffers, by_time = buffered
    stack, stop = loops
    below = stack.level[0] + 1
    stream = stack.streams[below]
    shrink(tape, conditions.upper, stack)
    _drop_old(tape, conditions.upper, arrivals.coming, buffered, stream, record)
    head, end = buffers.head[stream], buffers.next[stream]
    first = _first_from(tape, by_time, head, end, stack.low[below], work)
    # From `first` on: where no tuple lies in the period, the range is empty, not turned around.
    stop[below] = _first_beyond(tape, by_time, first, end, stack.high[below], work)
    go_down(stack, first, record)


@kernel
def _drop_old(
    tape: Tape,
    reach: Int64s,
    coming: Int64s,
    buffered: tuple[Buffers, Int64s],
    stream: int,
    record: Record,
) -> None:
    """Cuts a buffer at the front: what nothing to come can meet goes."""
    work, trace = record
    buffers, by_time = buffered
    least = horizon(reach, coming, stream)
    head = buffers.head[stream]
    while head < buffers.next[stream] and tape.times[by_time[head]] < least:
        work[DROPS] += 1
        note(trace, DROP, stream, by_time[head])
        head += 1
    buffers.head[stream] = head


@kernel
def _first_from(tape: Tape, by_time: Int64s, start: int, stop: int, time: int, work: Int64s) -> int:
    """The first place in the order whose time is at or after a time."""
    while start < stop:
        middle = (start + stop) // 2
        work[WINDOW_TESTS] += 1
        if tape.times[by_time[middle]] < time:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def _first_beyond(
    tape: Tape, by_time: Int64s, start: int, stop: int, time: int, work: Int64s
) -> int:
    """The first place in the order whose time is after a time."""
    while start < stop:
        middle = (start + stop) // 2
        work[WINDOW_TESTS] += 1
        if tape.times[by_time[middle]] <= time:
            start = middle + 1
        else:
            stop = middle
    return start
