"""BEW-join as published, by nested loop: backward evaluation of one multi-way window join.

2003, section 3.1 (2002: the iterations of figure 2). A new tuple a of stream A opens a period of
twice the window around it. The loop goes through the whole buffer of the next stream; each tuple
that lies in the period and has the key shrinks it for the stream after that:

    A        ------------------a------------------->
    over B   ---------[========|========]---------->    a - w .. a + w
    over C   -------------[====b===|====]---------->    max - w .. min + w
    over D   ...

Streams come in the order s + 1, s + 2 and so on, from the new tuple's stream s. Going through a
buffer drops from its head what no tuple to come can meet (2002, figure 3: with *no* stream).

A buffer is a queue in order of arrival. Where that is not the order of time, a tuple behind the
head may be past its time; it is passed by until the head has gone.
"""

from __future__ import annotations

from windrow.kernels.jit import kernel
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    KEY_TESTS,
    TOUCHED,
    WINDOW_TESTS,
    Buffers,
    FoundCombinations,
    Tape,
    TupleConditions,
    Tuples,
)
from windrow_papers.kernels.loop_machine import LoopMachine, Stack, horizon
from windrow_papers.kernels.loops import agrees, begin_with, give, go_down, shrink, take_next
from windrow_papers.kernels.trace import DROP, TOUCH, Record, note


class BewNestedLoop(LoopMachine):
    """BEW-join whose loops go through whole buffers."""

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether all arrivals are through."""
        return bew_nested_loop(
            tape, self.conditions, self.arrivals, self.buffers, self.stack, found,
            (self.work, self.trace),
        )  # fmt: skip


@kernel
def bew_nested_loop(
    tape: Tape,
    conditions: TupleConditions,
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
            _enter(tape, conditions, arrivals, buffers, stack, record)
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
        if not agrees(tape, conditions, stack, at):
            continue
        stack.chosen[level] = at
        if level < innermost:
            _enter(tape, conditions, arrivals, buffers, stack, record)
        else:
            give(found, stack, record)


@kernel
def _enter(
    tape: Tape,
    conditions: TupleConditions,
    arrivals: Tuples,
    buffers: Buffers,
    stack: Stack,
    record: Record,
) -> None:
    """Goes one level down: the period of its stream, and the head of its buffer."""
    below = stack.level[0] + 1
    stream = stack.streams[below]
    shrink(tape, conditions.upper, stack)
    stack.horizon[below] = horizon(conditions.upper, arrivals.coming, stream)
    go_down(stack, buffers.head[stream], record)
