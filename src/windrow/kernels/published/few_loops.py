"""The blind loops of forward evaluation: one admitted tuple with all that is buffered.

From the admitted tuple the other streams are gone through in a fixed order, a loop inside a loop.
Which tuples a loop goes through is known before it begins: a range of the stream's buffer, or the
part of one bucket that lies in the range. Inside no time is looked at.

    buffer of stream k       head                                taken
                              [====|========================|=====)
                                  low                      high
    bucket of the word            o--------o-------o--------o           newest to oldest

The ranges are the whole buffers as long as these lie within the windows of each other. Where the
windows differ from pair to pair that may not hold; then each tuple chosen narrows the ranges of the
streams after it by binary search, before their loops begin.
"""

from __future__ import annotations

import numpy as np

from windrow.kernels._jit import kernel
from windrow.kernels.bew_period import minus, plus
from windrow.kernels.published.sweep import (
    DEPTH,
    IS_NARROWED,
    NONE,
    START,
    Mode2,
    Record,
    give,
    matches,
    newest_in_range,
)
from windrow.kernels.published.tape import (
    NARROWINGS,
    PROBES,
    TOUCH,
    TOUCHED,
    Conditions,
    Found,
    Numbers,
    Tape,
    note,
)


@kernel
def begin_loops(tape: Tape, mode_2: Mode2, start: int, at: int, work: Numbers) -> None:
    """Sets the loops to the first stream after the admitted one; their ranges have been set."""
    loops = mode_2.loops
    loops.chosen[start] = at
    loops.at[START] = start
    _enter(tape, mode_2, 1, work)


@kernel
def loop_on(
    tape: Tape, conditions: Conditions, mode_2: Mode2, found: Found, record: Record
) -> bool:
    """Goes through the loops; whether they came to an end before the room did."""
    work, trace = record
    routes, table, loops = mode_2.routes, mode_2.table, mode_2.loops
    start, last = loops.at[START], len(loops.chosen) - 1
    while loops.at[DEPTH] > 0:
        depth = loops.at[DEPTH]
        line = depth - 1 if loops.at[IS_NARROWED] else 0
        stream = routes.order[start, depth]
        at = loops.cursor[depth]
        if at < loops.low[line, stream]:
            loops.at[DEPTH] = depth - 1
            continue
        if found.filled[0] == len(found.positions):
            return False
        key = routes.probed[start, depth]
        loops.cursor[depth] = at - 1 if key == NONE else table.older[at, key]
        work[TOUCHED] += 1
        note(trace, TOUCH, stream, at)
        if not matches(tape, mode_2, depth, at, record):
            continue
        loops.chosen[stream] = at
        if depth == last:
            give(loops, found, record)
        elif not loops.at[IS_NARROWED] or _narrow(tape, conditions, mode_2, depth, work):
            _enter(tape, mode_2, depth + 1, work)
    return True


@kernel
def _enter(tape: Tape, mode_2: Mode2, depth: int, work: Numbers) -> None:
    """Begins the loop of a depth."""
    loops = mode_2.loops
    line = depth - 1 if loops.at[IS_NARROWED] else 0
    loops.at[DEPTH] = depth
    loops.cursor[depth] = newest_in_range(tape, mode_2, line, depth)
    work[PROBES] += 1


@kernel
def _narrow(tape: Tape, conditions: Conditions, mode_2: Mode2, depth: int, work: Numbers) -> bool:
    """Cuts the ranges of the streams to come to what the tuple just chosen can meet.

    False if nothing is left of one of them.
    """
    loops = mode_2.loops
    order = mode_2.routes.order[loops.at[START]]
    stream = order[depth]
    time = tape.times[loops.chosen[stream]]
    for later in range(depth + 1, len(order)):
        other = order[later]
        first = minus(time, conditions.upper[other, stream])
        last = plus(time, conditions.upper[stream, other])
        low, high = loops.low[depth - 1, other], loops.high[depth - 1, other]
        low += np.searchsorted(tape.times[low:high], first, side="left")
        high = low + np.searchsorted(tape.times[low:high], last, side="right")
        work[NARROWINGS] += 1
        if low == high:
            return False
        loops.low[depth, other], loops.high[depth, other] = low, high
    return True
