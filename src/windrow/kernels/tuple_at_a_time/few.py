"""FEW-join: forward evaluation of one multi-way window join (2002: MW-join, section 3.2).

Two modes take turns. Mode 1 sweeps over the streams for the next starting N-tuple: the oldest tuple
of every stream, all within the windows of each other. It goes from stream to stream, the period
shrinking as tuples are found in it, and looks at no key:

    a1  ------------|=====a1=====|------------------------>     the period of b: around a1
    b1  ----------------b1|======|------------------------>     shrunk: a1 and b1 are in it
    d1  ---d1----------------------------------------------     left of it: dropped, d2 is next
    d2  -------------------------------|=====d2=====|----->     right of it: a new period, from d2

A tuple left of the period can never join: the stream that it is too old for has nothing older.

Mode 2 admits what follows in each stream, up to where its period ends, and joins it with all that
is buffered without looking at a time again. That is safe. With h the starting tuples,

    end(k) = min over i of h(i) + upper[i][k]        for y of j and z of k, both admitted:
    z <= end(k) <= h(j) + upper[j][k] <= y + upper[j][k]

so any two of them are within their window, whatever the graph. When nothing more can be admitted,
the starting tuples go that nothing to come can meet, and mode 1 begins again. With one window for
all there is always one, the oldest. Where windows differ there may be none: a tuple may be too late
for one stream's oldest while that still waits for a third stream. Then the earliest tuple is
admitted beyond its period, and joined with the ranges of the buffers that it can meet, found by
cursors that only move on. Periods end later and later, so that as long as no tuple was admitted
beyond one, the ranges are the whole buffers, and no time is looked at to know it.

As published, the streams take turns in mode 2, and a stream that has nothing to offer is waited
for. `coming` says what it may still deliver: a watermark, or its own newest time stamp.

The loops of mode 2 are blind: from the admitted tuple the other streams are gone through in a fixed
order, a loop inside a loop. Which tuples a loop goes through is known before it begins: a range of the
stream's buffer, or the part of one bucket that lies in the range. Inside no time is looked at: keys
are, and words that are compared with those of tuples chosen before.

    buffer of stream k       head                                taken
                              [====|========================|=====)
                                  low                      high
    bucket of the word            o--------o-------o--------o           newest to oldest

Where the ranges are not within the windows of each other, each tuple chosen narrows those of the
streams after it by binary search, before their loops begin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.kernels.bew_period import LEAST, MOST, minus, plus
from windrow.kernels.jit import kernel, kernel_part
from windrow.kernels.tuple_at_a_time.sweep import (
    CHAIN,
    DEPTH,
    IS_BEYOND,
    IS_NARROWED,
    NONE,
    START,
    TURN,
    UNSET,
    Mode2,
    Sweep,
    admit,
    agrees_in_all,
    drop_oldest,
    give,
    newest_of,
    next_in_period,
)
from windrow.kernels.tuple_at_a_time.tape import (
    KEY_TESTS,
    NARROWINGS,
    PROBES,
    TIME_TESTS,
    TOUCHED,
    FoundCombinations,
    Int64s,
    Tape,
    TupleConditions,
)


class Cursors(NamedTuple):
    """What the tuple admitted last can meet, per its stream and the other; they only move on.

    Attributes:
        low: the first position.
        high: the position after the last.
    """

    low: Int64s
    high: Int64s


def with_own_window(conditions: TupleConditions) -> TupleConditions:
    """The conditions with a bound on tuples of one stream among each other.

    As published one period holds for all streams, that of the oldest tuple too. Where windows
    differ there is no such period, and a stream's own tuples do not bound each other.
    """
    upper = conditions.upper.copy()
    windows = upper[~np.eye(len(upper), dtype=np.bool_)]
    np.fill_diagonal(upper, windows[0] if np.all(windows == windows[0]) else MOST)
    return TupleConditions(upper, conditions.keyed)


def cursors_from(positions: Int64s) -> Cursors:
    """Cursors at the beginning of each stream."""
    lines = np.tile(positions, (len(positions), 1))
    return Cursors(lines, lines.copy())


@kernel
def few(
    tape: Tape,
    conditions: TupleConditions,
    sweep: Sweep,
    cursors: Cursors,
    mode_2: Mode2,
    found: FoundCombinations,
    work: Int64s,
) -> bool:
    """Sweeps on until it must wait for tuples (True) or no room is left for combinations."""
    streams = len(sweep.head)
    is_uniform = conditions.upper[0, 0] < MOST  # see `with_own_window`
    while True:
        if mode_2.at[DEPTH] and not loop_on(tape, conditions, mode_2, found, work):
            return False
        if sweep.at[CHAIN] < streams and not _find_start(tape, conditions, sweep, mode_2, work):
            return True
        stream = next_in_period(tape, sweep, work)
        if stream == NONE:
            if _drop_past(tape, conditions, sweep, mode_2, work):
                continue
            if is_uniform:
                return True  # the oldest waits for a tuple that may yet lie in the period
            stream = _next_in_time(tape, sweep, work)
            if stream == NONE:
                return True
            sweep.at[IS_BEYOND] = 1
        at = admit(tape, sweep, mode_2, stream)
        if _find_ranges(tape, conditions, sweep, cursors, mode_2, stream, work):
            begin_loops(mode_2, stream, at)


@kernel_part
def _find_start(
    tape: Tape,
    conditions: TupleConditions,
    sweep: Sweep,
    mode_2: Mode2,
    work: Int64s,
) -> bool:
    """Mode 1: whether there is a starting N-tuple. If not, a stream has no tuple to offer."""
    streams = len(sweep.head)
    while sweep.at[CHAIN] < streams:
        stream = sweep.at[TURN]
        at = sweep.head[stream]
        if at == sweep.arrived[stream]:
            _drop_unreachable(tape, conditions, sweep, mode_2, stream, work)
            return False
        work[TIME_TESTS] += 1
        low, high = _period(tape, conditions, sweep, stream)
        if sweep.doomed[stream] or tape.times[at] < low:
            drop_oldest(tape, sweep, mode_2, stream, work)
            continue
        if tape.times[at] > high:
            _doom(tape, conditions, sweep, stream)
            sweep.at[CHAIN] = 0
        sweep.at[CHAIN] += 1
        sweep.at[TURN] = (stream + 1) % streams
    sweep.at[TURN] = 0
    for stream in range(streams):
        end = MOST
        for other in range(streams):
            time = tape.times[sweep.head[other]]
            end = min(end, plus(time, conditions.upper[other, stream]))
        sweep.ends[stream] = end
    return True


@kernel_part
def _period(tape: Tape, conditions: TupleConditions, sweep: Sweep, stream: int) -> tuple[int, int]:
    """Where a stream's tuple is within the windows of all in the chain."""
    streams = len(sweep.head)
    low, high = LEAST, MOST
    for back in range(1, sweep.at[CHAIN] + 1):
        other = (sweep.at[TURN] - back) % streams
        time = tape.times[sweep.head[other]]
        low = max(low, minus(time, conditions.upper[stream, other]))
        high = min(high, plus(time, conditions.upper[other, stream]))
    return low, high


@kernel
def _doom(tape: Tape, conditions: TupleConditions, sweep: Sweep, stream: int) -> None:
    """Marks the tuples of the chain that are too old for a stream's oldest: they go next turn.

    With one window for all they will be left of the period then. Where windows differ a third
    stream may begin the chain anew before, and without the mark two pairs could take turns for
    ever.
    """
    streams = len(sweep.head)
    time = tape.times[sweep.head[stream]]
    for back in range(1, sweep.at[CHAIN] + 1):
        other = (sweep.at[TURN] - back) % streams
        last = plus(tape.times[sweep.head[other]], conditions.upper[other, stream])
        sweep.doomed[other] |= last < time


@kernel
def _drop_unreachable(
    tape: Tape,
    conditions: TupleConditions,
    sweep: Sweep,
    mode_2: Mode2,
    missing: int,
    work: Int64s,
) -> None:
    """Drops what no tuple to come of a stream can meet that has none."""
    for stream in range(len(sweep.head)):
        if stream == missing:
            continue
        reach = conditions.upper[stream, missing]
        while sweep.head[stream] < sweep.arrived[stream]:
            work[TIME_TESTS] += 1
            if plus(tape.times[sweep.head[stream]], reach) >= sweep.coming[missing]:
                break
            drop_oldest(tape, sweep, mode_2, stream, work)
            sweep.at[CHAIN] = 0  # its tuples may have been the ones dropped


@kernel_part
def _next_in_time(tape: Tape, sweep: Sweep, work: Int64s) -> int:
    """The stream with the earliest tuple not admitted; NONE where an earlier one may yet arrive."""
    earliest = NONE
    time = MOST
    for stream in range(len(sweep.head)):
        at = sweep.taken[stream]
        if at == sweep.arrived[stream]:
            continue
        work[TIME_TESTS] += 1
        if earliest == NONE or tape.times[at] < time:
            earliest, time = stream, tape.times[at]
    for stream in range(len(sweep.head)):
        if sweep.taken[stream] == sweep.arrived[stream] and sweep.coming[stream] < time:
            return NONE
    return earliest


@kernel_part
def _drop_past(
    tape: Tape,
    conditions: TupleConditions,
    sweep: Sweep,
    mode_2: Mode2,
    work: Int64s,
) -> bool:
    """The end of mode 2: drops the starting tuples that nothing to come can meet; whether any."""
    streams = len(sweep.head)
    for stream in range(streams):
        at = sweep.taken[stream]
        is_there = at < sweep.arrived[stream]
        sweep.next_times[stream] = tape.times[at] if is_there else sweep.coming[stream]
    dropped = 0
    for stream in range(streams):
        time = tape.times[sweep.head[stream]]
        work[TIME_TESTS] += 1
        is_past = True
        for other in range(streams):
            last = plus(time, conditions.upper[stream, other])
            if other != stream and last >= sweep.next_times[other]:
                is_past = False
                break
        if is_past:
            drop_oldest(tape, sweep, mode_2, stream, work)
            dropped += 1
            sweep.at[TURN] = stream
    if dropped:
        # The others agree still: where one was dropped, mode 1 has only its stream to look at.
        sweep.at[CHAIN] = streams - 1 if dropped == 1 else 0
    return dropped > 0


@kernel_part
def _find_ranges(
    tape: Tape,
    conditions: TupleConditions,
    sweep: Sweep,
    cursors: Cursors,
    mode_2: Mode2,
    stream: int,
    work: Int64s,
) -> bool:
    """Sets what the loops of the tuple just admitted go through; whether there is anything."""
    low, high = mode_2.low[0], mode_2.high[0]
    for other in range(len(low)):
        low[other], high[other] = sweep.head[other], sweep.taken[other]
    mode_2.at[IS_NARROWED] = 0
    if sweep.at[IS_BEYOND] and _is_beyond(tape, sweep, work):
        for other in range(len(low)):
            if other != stream:
                _move_cursors(tape, conditions, sweep, cursors, stream, other, work)
            low[other], high[other] = cursors.low[stream, other], cursors.high[stream, other]
        mode_2.at[IS_NARROWED] = 0 if _fit(tape, conditions, low, high, stream, work) else 1
    empty = 0
    for other in range(len(low)):
        empty += other != stream and low[other] == high[other]
    return empty == 0


@kernel
def _is_beyond(tape: Tape, sweep: Sweep, work: Int64s) -> bool:
    """Whether a buffered tuple lies beyond its period; if not, none will until one is admitted."""
    for stream in range(len(sweep.head)):
        if sweep.head[stream] == sweep.taken[stream]:
            continue
        work[TIME_TESTS] += 1
        if tape.times[sweep.taken[stream] - 1] > sweep.ends[stream]:
            return True
    sweep.at[IS_BEYOND] = 0
    return False


@kernel
def _move_cursors(
    tape: Tape,
    conditions: TupleConditions,
    sweep: Sweep,
    cursors: Cursors,
    stream: int,
    other: int,
    work: Int64s,
) -> None:
    """Moves a stream's cursors in another's buffer on to what its last tuple can meet."""
    time = tape.times[sweep.taken[stream] - 1]
    low = max(cursors.low[stream, other], sweep.head[other])
    while low < sweep.taken[other]:
        work[TIME_TESTS] += 1
        if plus(tape.times[low], conditions.upper[other, stream]) >= time:
            break
        low += 1
    high = max(cursors.high[stream, other], low)
    last = plus(time, conditions.upper[stream, other])
    while high < sweep.taken[other]:
        work[TIME_TESTS] += 1
        if tape.times[high] > last:
            break
        high += 1
    cursors.low[stream, other], cursors.high[stream, other] = low, high


@kernel
def _fit(
    tape: Tape, conditions: TupleConditions, low: Int64s, high: Int64s, stream: int, work: Int64s
) -> bool:
    """Whether any two tuples of the other streams' ranges are within their window."""
    for older in range(len(low)):
        for newer in range(len(low)):
            if older in (stream, newer) or newer == stream:
                continue
            if low[older] == high[older] or low[newer] == high[newer]:
                continue
            work[TIME_TESTS] += 1
            last = plus(tape.times[low[older]], conditions.upper[older, newer])
            if tape.times[high[newer] - 1] > last:
                return False
    return True


@kernel_part
def begin_loops(mode_2: Mode2, start: int, at: int) -> None:
    """Sets the loops to the first stream after the admitted one; their ranges have been set."""
    mode_2.chosen[start] = at
    mode_2.at[START], mode_2.at[DEPTH] = start, 1
    mode_2.cursor[1] = UNSET


@kernel
def loop_on(
    tape: Tape, conditions: TupleConditions, mode_2: Mode2, found: FoundCombinations, work: Int64s
) -> bool:
    """Goes through the loops; whether they came to an end before the room did.

    What is done per tuple stands here, in one function: a call hands over every array there is.
    """
    start, depth, innermost = mode_2.at[START], mode_2.at[DEPTH], len(mode_2.chosen) - 1
    narrowed = mode_2.at[IS_NARROWED]
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
            give(mode_2.chosen, found, work)
        elif not narrowed or _narrow(tape, conditions, mode_2, depth, work):
            depth += 1
            mode_2.cursor[depth] = UNSET
    mode_2.at[DEPTH] = depth
    return bool(depth == 0)


@kernel
def _narrow(
    tape: Tape, conditions: TupleConditions, mode_2: Mode2, depth: int, work: Int64s
) -> bool:
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
def _first_from(times: Int64s, low: int, high: int, time: int, work: Int64s) -> int:
    """The first position of a range whose time is at or after a time, by binary search."""
    while low < high:
        middle = (low + high) // 2
        work[NARROWINGS] += 1
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low
