"""The ripple join, adapted to windows: the baseline that iterates over whole prefixes.

Adapted as in the 2002 paper, section 4: every new tuple meets all buffered tuples of all other
streams, and nothing keeps it from those that are outside the window. Window and key are tested on
what it meets, one pair of tuples after the other:

    new tuple   x   with every tuple of B:     |x - b|
                x b with every tuple of C:     |x - c|, |b - c|

No buffer is updated in between. Every `clean_every` tuples all buffers are gone through, and what
no tuple to come can meet is dropped.
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.bew_period import plus
from windrow.kernels.jit import kernel
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    KEY_TESTS,
    PROBES,
    TOUCHED,
    UPDATES,
    WINDOW_TESTS,
    Buffers,
    FoundCombinations,
    Int64s,
    Tape,
    TupleConditions,
    Tuples,
)
from windrow_papers.kernels.cleaning import CLEAN_EVERY
from windrow_papers.kernels.loop_machine import LoopMachine, Stack, horizon
from windrow_papers.kernels.loops import agrees, begin_with, give, take_next
from windrow_papers.kernels.trace import DROP, TOUCH, Record, Trace, note


class Ripple(LoopMachine):
    """The ripple join with windows.

    Whoever keeps the tape makes room for all tuples of two cleanings: the machine lets go of none
    in between, however full the tape is.

    Args:
        conditions: the bounds and keys.
        first: where each stream begins on the tape, and after the last where it ends.
        order: per start stream, the streams by level.
        clean_every: how many tuples are taken between two cleanings.
        trace: where steps are noted.
    """

    def __init__(
        self,
        conditions: TupleConditions,
        first: Int64s,
        order: Int64s,
        clean_every: int = CLEAN_EVERY,
        trace: Trace | None = None,
    ) -> None:
        super().__init__(conditions, first, order, trace)
        self._until_cleaning = np.array([clean_every, clean_every], np.int64)

    def trim(self, tape: Tape, coming: Int64s) -> None:
        """Drops nothing: old tuples are met until it is time to clean."""

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether all arrivals are through."""
        return ripple(
            tape, self.conditions, self.arrivals, (self.buffers, self._until_cleaning),
            self.stack, found, (self.work, self.trace),
        )  # fmt: skip


@kernel
def ripple(
    tape: Tape,
    conditions: TupleConditions,
    arrivals: Tuples,
    buffered: tuple[Buffers, Int64s],
    stack: Stack,
    found: FoundCombinations,
    record: Record,
) -> bool:
    """Joins arrivals until all are through (True) or no room is left for combinations.

    `buffered` holds the buffers, then the tuples until the next cleaning and between two.
    """
    work, trace = record
    buffers, until_cleaning = buffered
    innermost = len(stack.streams) - 1
    while True:
        if stack.level[0] == 0:
            if until_cleaning[0] == 0:
                _clean(tape, conditions, arrivals, buffers, record)
                until_cleaning[0] = until_cleaning[1]
            start = take_next(tape, arrivals, buffers, trace)
            if start < 0:
                return True
            begin_with(stack, start, buffers.next[start] - 1)
            until_cleaning[0] -= 1
            _enter(buffers, stack, work)
        level = stack.level[0]
        stream, at = stack.streams[level], stack.cursor[level]
        if at == buffers.next[stream]:
            stack.level[0] = level - 1
            continue
        if level == innermost and found.filled[0] == len(found.positions):
            return False
        stack.cursor[level] = at + 1
        work[TOUCHED] += 1
        note(trace, TOUCH, stream, at)
        if not _is_within(tape, conditions, stack, at, work):
            continue
        work[KEY_TESTS] += 1
        if not agrees(tape, conditions, stack, at):
            continue
        stack.chosen[level] = at
        if level < innermost:
            _enter(buffers, stack, work)
        else:
            give(found, stack, record)


@kernel
def _enter(buffers: Buffers, stack: Stack, work: Int64s) -> None:
    """Goes one level down, to the head of its buffer."""
    level = stack.level[0] + 1
    stack.level[0], stack.cursor[level] = level, buffers.head[stack.streams[level]]
    work[PROBES] += 1


@kernel
def _is_within(
    tape: Tape, conditions: TupleConditions, stack: Stack, at: int, work: Int64s
) -> bool:
    """Whether a tuple is in the window of each one chosen above it."""
    level = stack.level[0]
    stream, time = stack.streams[level], tape.times[at]
    for above in range(level):
        other, chosen = stack.streams[above], tape.times[stack.chosen[above]]
        work[WINDOW_TESTS] += 1
        if time > plus(chosen, conditions.upper[other, stream]):
            return False
        if chosen > plus(time, conditions.upper[stream, other]):
            return False
    return True


@kernel
def _clean(
    tape: Tape, conditions: TupleConditions, arrivals: Tuples, buffers: Buffers, record: Record
) -> None:
    """Goes through all buffers and drops from their heads what nothing to come can meet."""
    work, trace = record
    for stream in range(len(buffers.head)):
        least = horizon(conditions.upper, arrivals.coming, stream)
        is_head = True
        for at in range(buffers.head[stream], buffers.next[stream]):
            work[UPDATES] += 1
            is_head = is_head and tape.times[at] < least
            if is_head:
                buffers.head[stream] = at + 1
                work[DROPS] += 1
                note(trace, DROP, stream, at)
