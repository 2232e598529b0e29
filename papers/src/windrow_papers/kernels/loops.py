"""The loops over streams, one inside the other, that join a new tuple: what they have in common.

    level 0        a            the new tuple
    level 1          b          a tuple of the next stream that belongs to a
    level 2            c        one of the stream after that, which belongs to a and b
    innermost            d      each one here completes a combination

Which tuples a level goes through, and which of them it lets pass, is each algorithm's own. What is
done for every tuple looked at therefore stands in the algorithm's loop, and is counted there. It is
not shared for another reason too: numba counts a reference for each array in the tuples of arrays
that a function is handed and writes to, which for every tuple costs many times what the loop does.
What is below is called once an arrival, a level or a result, or only reads.
"""

from __future__ import annotations

from windrow.kernels.bew_period import LEAST, MOST, minus, plus
from windrow.kernels.jit import kernel
from windrow.kernels.tuple_at_a_time.tape import (
    FOUND,
    PROBES,
    Buffers,
    FoundCombinations,
    Int64s,
    Tape,
    TupleConditions,
    Tuples,
)
from windrow_papers.kernels.loop_machine import Stack
from windrow_papers.kernels.trace import ADMIT, OUTPUT, PERIOD, Record, Trace, note


@kernel
def take_next(tape: Tape, arrivals: Tuples, buffers: Buffers, trace: Trace) -> int:
    """Puts the next tuple into its stream's buffer; gives the stream, or -1 for none."""
    at = arrivals.taken[0]
    if at == len(arrivals.turns):
        return -1
    stream = arrivals.turns[at]
    position = buffers.next[stream]
    arrivals.taken[0] = at + 1
    buffers.next[stream] = position + 1
    if arrivals.is_ordered:
        arrivals.coming[stream] = max(arrivals.coming[stream], tape.times[position])
    note(trace, ADMIT, stream, position)
    return int(stream)


@kernel
def begin_with(stack: Stack, start: int, position: int) -> None:
    """Sets the loops to a new tuple of a stream."""
    for level in range(len(stack.streams)):
        stack.streams[level] = stack.order[start, level]
    stack.chosen[0] = position


@kernel
def shrink(tape: Tape, upper: Int64s, stack: Stack) -> None:
    """The period of the level below: where its tuples may meet all those chosen.

    low = max of t(i) - upper[j][i], high = min of t(i) + upper[i][j]
    """
    below = stack.level[0] + 1
    stream = stack.streams[below]
    low, high = LEAST, MOST
    for level in range(below):
        other = stack.streams[level]
        time = tape.times[stack.chosen[level]]
        low = max(low, minus(time, upper[stream, other]))
        high = min(high, plus(time, upper[other, stream]))
    stack.low[below], stack.high[below] = low, high


@kernel
def go_down(stack: Stack, first: int, record: Record) -> None:
    """Goes to the level below, whose period is known, to begin at a tuple."""
    level = stack.level[0] + 1
    stack.level[0], stack.cursor[level] = level, first
    record[0][PROBES] += 1
    note(record[1], PERIOD, stack.low[level], stack.high[level])


@kernel
def agrees(tape: Tape, conditions: TupleConditions, stack: Stack, at: int) -> bool:
    """Whether a tuple has the keys of those chosen above it, class by class."""
    keyed, words, level = conditions.keyed, tape.words, stack.level[0]
    stream = stack.streams[level]
    for key in range(keyed.shape[1]):
        if not keyed[stream, key]:
            continue
        for above in range(level):
            if keyed[stack.streams[above], key]:
                if words[at, key] != words[stack.chosen[above], key]:
                    return False
                break  # those chosen agree among themselves
    return True


@kernel
def give(found: FoundCombinations, stack: Stack, record: Record) -> None:
    """Adds the combination of the chosen tuples; there must be room."""
    work, trace = record
    line = found.filled[0]
    for level in range(len(stack.streams)):
        found.positions[line, stack.streams[level]] = stack.chosen[level]
    found.filled[0] = line + 1
    note(trace, OUTPUT, -1, work[FOUND])
    work[FOUND] += 1
