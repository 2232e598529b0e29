"""The blind loops of forward evaluation: one admitted tuple with all that is buffered.

From the admitted tuple the other streams are gone through in a fixed order, a loop inside a loop.
Which tuples a loop goes through is known before it begins: a range of the stream's buffer, or the
part of one bucket that lies in the range. Inside no time is looked at: keys are, and words that are
compared with those of tuples chosen before.

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

from windrow.kernels.bew_period import MOST, minus, plus
from windrow.kernels.jit import kernel, kernel_part
from windrow.kernels.tuple_at_a_time.sweep import (
    DEPTH,
    IS_NARROWED,
    NONE,
    START,
    UNSET,
    Mode2,
    Record,
    agrees_in_all,
    give,
    newest_of,
)
from windrow.kernels.tuple_at_a_time.tape import (
    KEY_TESTS,
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


@kernel_part
def begin_loops(mode_2: Mode2, start: int, at: int) -> None:
    """Sets the loops to the first stream after the admitted one; their ranges have been set."""
    mode_2.chosen[start] = at
    mode_2.at[START], mode_2.at[DEPTH] = start, 1
    mode_2.cursor[1] = UNSET


@kernel
def loop_on(
    tape: Tape, conditions: Conditions, mode_2: Mode2, found: Found, record: Record
) -> bool:
    """Goes through the loops; whether they came to an end before the room did.

    What is done per tuple stands here, in one function: a call hands over every array there is.
    """
    work, trace = record
    start, depth, innermost = mode_2.at[START], mode_2.at[DEPTH], len(mode_2.chosen) - 1
    narrowed, traced = mode_2.at[IS_NARROWED], len(trace.events) > 0
    while depth > 0 and found.filled[0] < len(found.positions):
        stream, line = mode_2.order[start, depth], depth - 1 if narrowed else 0
        low, high = mode_2.low[line, stream], mode_2.high[line, stream]
        probed, single = mode_2.probed[start, depth], mode_2.single[start, depth]
        tests, has_keys = mode_2.tests[start, depth], mode_2.has_keys[start, depth]
        word = np.uint64(0)
        if single != NONE:
            word = tape.words[mode_2.chosen[mode_2.sources[start, depth, single]], single]
        following = mode_2.cursor[depth]
        if following == UNSET:
            work[PROBES] += 1
            following = high - 1 if probed == NONE else newest_of(tape, mode_2, depth)
            while following >= high:
                following = mode_2.older[following, probed]
            for n in range(tests):
                other = mode_2.chosen[mode_2.against[start, depth, n]]
                mode_2.limits[depth, n] = tape.words[other, mode_2.compared[start, depth, n]]
        at, match, touched = NONE, NONE, 0
        while match == NONE and following >= low:
            at = following
            following = at - 1 if probed == NONE else mode_2.older[at, probed]
            touched += 1
            if traced:
                note(trace, TOUCH, stream, at)
            if single != NONE:
                if tape.words[at, single] == word:
                    match = at
            elif not has_keys or agrees_in_all(tape, mode_2, depth, at):
                match = at
            if tests and match != NONE:
                for n in range(tests):
                    own = tape.words[at, mode_2.compared[start, depth, n]]
                    limit = mode_2.limits[depth, n]
                    if (own > limit) if mode_2.is_less[start, depth, n] else (own < limit):
                        match = NONE
                        break
        mode_2.cursor[depth] = following
        work[TOUCHED] += touched
        if has_keys:
            work[KEY_TESTS] += touched
        if match == NONE:
            depth -= 1
            continue
        mode_2.chosen[stream] = match
        if depth == innermost:
            give(mode_2.chosen, found, record)
        elif not narrowed or _narrow(tape, conditions, mode_2, depth, work):
            depth += 1
            mode_2.cursor[depth] = UNSET
    mode_2.at[DEPTH] = depth
    return bool(depth == 0)


@kernel
def _narrow(tape: Tape, conditions: Conditions, mode_2: Mode2, depth: int, work: Numbers) -> bool:
    """Cuts the ranges of the streams to come to what the tuple just chosen can meet.

    False if nothing is left of one of them.
    """
    order = mode_2.order[mode_2.at[START]]
    stream = order[depth]
    time = tape.times[mode_2.chosen[stream]]
    for later in range(depth + 1, len(order)):
        other = order[later]
        first = minus(time, conditions.upper[other, stream])
        last = plus(time, conditions.upper[stream, other])
        low, high = mode_2.low[depth - 1, other], mode_2.high[depth - 1, other]
        low = _first_from(tape.times, low, high, first, work)
        if last < MOST:
            high = _first_from(tape.times, low, high, last + 1, work)
        if low == high:
            return False
        mode_2.low[depth, other], mode_2.high[depth, other] = low, high
    return True


@kernel
def _first_from(times: Numbers, low: int, high: int, time: int, work: Numbers) -> int:
    """The first position of a range whose time is at or after a time, by binary search."""
    while low < high:
        middle = (low + high) // 2
        work[NARROWINGS] += 1
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low
