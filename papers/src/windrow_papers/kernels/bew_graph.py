"""BEW-join for graph and path joins: by the stated constraints alone.

2003, section 5 (the variation of BEW-join). Each stream has the subset of window constraints that
it takes part in. A tuple is tested against those of them whose other stream is chosen already, and
streams are chosen along constraints, so that there always is one:

    path   a --w1-- b --w2-- c --w3-- d        from b:  c by w2, d by w3, a by w1

    a tuple meets all of them     it is chosen; when a combination is complete, every stated
                                  constraint has been tested, and none is left to refine
    it violates some of them      it stays: it may meet those of other combinations
    it violates all, whatever
    may still come                it is dropped

As printed, the last rule is about the newest tuples of the streams that constraints lead to. That
loses answers: b holds a back although nothing to come meets a itself.

    a at 0, b at 5, c at 10, both windows 5:    a b c is an answer. Once stream b is beyond 5 no
    a----b----c                                 tuple of it can meet a; a must wait for c all
                                                the same, for b can still meet it

`reach` is therefore the closed bound, along constraints as far as they lead; with the stated ones
(MOST where there is none) the kernel does as printed.
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.bew_period import MOST, minus
from windrow.kernels.jit import kernel
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
from windrow_papers.kernels.loop_machine import LoopMachine, Stack, linked_first
from windrow_papers.kernels.loops import agrees, begin_with, give, go_down, shrink, take_next
from windrow_papers.kernels.trace import DROP, TOUCH, Record, Trace, note

UNSTATED = MOST
"""The bound of a pair without one."""


class BewGraph(LoopMachine):
    """BEW-join along stated constraints, its loops going through whole buffers.

    Args:
        conditions: the stated bounds (UNSTATED for none) and the keys.
        reach: the bounds by which tuples are dropped.
        first: where each stream begins on the tape, and after the last where it ends.
        trace: where steps are noted.
    """

    def __init__(
        self, conditions: TupleConditions, reach: Int64s, first: Int64s, trace: Trace | None = None
    ) -> None:
        stated = conditions.upper < UNSTATED
        super().__init__(conditions, first, linked_first(stated | stated.T), trace)
        self.reach = np.ascontiguousarray(reach)

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether all arrivals are through."""
        return bew_graph(
            tape, (self.conditions, self.reach), self.arrivals, self.buffers, self.stack, found,
            (self.work, self.trace),
        )  # fmt: skip


@kernel
def bew_graph(
    tape: Tape,
    constraints: tuple[TupleConditions, Int64s],
    arrivals: Tuples,
    buffers: Buffers,
    stack: Stack,
    found: FoundCombinations,
    record: Record,
) -> bool:
    """Joins arrivals until all are through (True) or no room is left for combinations."""
    work, trace = record
    innermost = len(stack.streams) - 1
    while True:
        if stack.level[0] == 0:
            start = take_next(tape, arrivals, buffers, trace)
            if start < 0:
                return True
            begin_with(stack, start, buffers.next[start] - 1)
            _enter(tape, constraints, arrivals, buffers, stack, record)
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
        time = tape.times[at]
        if time < stack.horizon[level]:
            if at == buffers.head[stream]:
                buffers.head[stream] = at + 1
                work[DROPS] += 1
                note(trace, DROP, stream, at)
            continue
        work[WINDOW_TESTS] += 1
        if not stack.low[level] <= time <= stack.high[level]:
            continue
        work[KEY_TESTS] += 1
        if not agrees(tape, constraints[0], stack, at):
            continue
        stack.chosen[level] = at
        if level < innermost:
            _enter(tape, constraints, arrivals, buffers, stack, record)
        else:
            give(found, stack, record)


@kernel
def _enter(
    tape: Tape,
    constraints: tuple[TupleConditions, Int64s],
    arrivals: Tuples,
    buffers: Buffers,
    stack: Stack,
    record: Record,
) -> None:
    """Goes one level down: the period that the constraints to those chosen leave."""
    conditions, reach = constraints
    below = stack.level[0] + 1
    stream = stack.streams[below]
    shrink(tape, conditions.upper, stack)
    stack.horizon[below] = _violates_all_below(reach, arrivals.coming, stream)
    go_down(stack, buffers.head[stream], record)


@kernel
def _violates_all_below(reach: Int64s, coming: Int64s, stream: int) -> int:
    """Tuples of a stream before this time violate all its constraints, whatever may come."""
    least = MOST
    for other in range(len(coming)):
        if other != stream and reach[stream, other] < UNSTATED:
            least = min(least, minus(coming[other], reach[stream, other]))
    return least
