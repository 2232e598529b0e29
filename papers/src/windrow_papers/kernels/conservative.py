"""GCA and LCA: windows that differ, by filter and refine (2002, section 5.1).

The filter is a two-mode sweep as in FEW-join, with simpler windows that let more through; the
refinement tests every stated bound on each combination found. A path that may be followed either
way states two sets of bounds (2002, section 5.2.1): the refinement lets pass what meets one of them.

GCA takes the largest window of all for every pair. One period holds for all streams:

    heads       o      o  o       o
    period    [max - w ...... min + w]          mode 2 ends beyond min + w, and drops the oldest

LCA takes the largest window of each stream. A tuple x of stream i opens the period [x - w(i),
x + w(i)], and the period of a set of tuples is what their periods share:

    a, w(a)    |----------------a----------------|
    b, w(b)            |-----b-----|                       least t + w: dropped when mode 2 ends
    period             |===========|

The paper drops the oldest here too. That loses results: the oldest may have the wider window, and
still be waited for (a above, if a were older than b). What nothing can meet any more is the tuple
whose own window ends first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from windrow.kernels.bew_period import LEAST, MOST, minus, plus
from windrow.kernels.jit import kernel, kernel_part
from windrow.kernels.tuple_at_a_time.sweep import (
    CHAIN,
    DEPTH,
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
    PROBES,
    REFINED,
    TIME_TESTS,
    TOUCHED,
    WINDOW_TESTS,
    FoundCombinations,
    Int64s,
    Tape,
)


class Windows(NamedTuple):
    """The windows of filter and refinement.

    Attributes:
        local: per stream, its largest window: no tuple of another stream may be farther away.
        stated: per set of bounds and ordered pair (i, j), the largest t(j) - t(i) stated; MOST for
            none. A combination meets all bounds of one set at least.
    """

    local: Int64s
    stated: Int64s


def windows_of(upper: Int64s, stated: Int64s) -> Windows:
    """The windows that cover closed bounds, directed and asymmetric ones by their farther end.

    Args:
        upper: the closed bounds.
        stated: the bounds to refine by, or several sets of them.
    """
    reach = np.maximum(abs(upper), abs(upper.T))
    np.fill_diagonal(reach, 0)
    return Windows(reach.max(axis=1), stated.reshape(-1, *upper.shape))


@kernel
def gca(
    tape: Tape,
    windows: Windows,
    sweep: Sweep,
    mode_2: Mode2,
    found: FoundCombinations,
    work: Int64s,
) -> bool:
    """Sweeps on until it must wait for tuples (True) or no room is left for combinations."""
    window = windows.local.max()
    while True:
        if mode_2.at[DEPTH] and not _loop_on(tape, windows, mode_2, found, work):
            return False
        if sweep.at[CHAIN] < len(sweep.head):
            if not _find_start_within(tape, window, sweep, mode_2, work):
                return True
            first, _ = _span(tape, sweep)
            sweep.ends[:] = plus(first, window)
        stream = next_in_period(tape, sweep, work)
        if stream != NONE:
            _join_next(tape, sweep, mode_2, stream)
        elif _is_over(sweep):
            _drop_one(tape, sweep, mode_2, _oldest(tape, sweep, work), work)
        else:
            return True


@kernel
def lca(
    tape: Tape,
    windows: Windows,
    sweep: Sweep,
    mode_2: Mode2,
    found: FoundCombinations,
    work: Int64s,
) -> bool:
    """Sweeps on until it must wait for tuples (True) or no room is left for combinations."""
    while True:
        if mode_2.at[DEPTH] and not _loop_on(tape, windows, mode_2, found, work):
            return False
        if sweep.at[CHAIN] < len(sweep.head):
            if not _find_start_locally(tape, windows.local, sweep, mode_2, work):
                return True
            sweep.ends[:] = _local_period(tape, windows.local, sweep)[1]
        stream = next_in_period(tape, sweep, work)
        if stream != NONE:
            _join_next(tape, sweep, mode_2, stream)
        elif _is_over(sweep):
            first_out = _first_out(tape, windows.local, sweep, work)
            _drop_one(tape, sweep, mode_2, first_out, work)
        else:
            return True


@kernel_part
def _find_start_within(tape: Tape, window: int, sweep: Sweep, mode_2: Mode2, work: Int64s) -> bool:
    """Mode 1 with one window: whether there is a starting N-tuple, or a stream has no tuple."""
    streams = len(sweep.head)
    while sweep.at[CHAIN] < streams:
        stream = sweep.at[TURN]
        at = sweep.head[stream]
        if at == sweep.arrived[stream]:
            for other in range(streams):
                if other != stream:
                    _drop_until(tape, sweep, mode_2, other, window, sweep.coming[stream], work)
            return False
        work[TIME_TESTS] += 1
        first, last = _span(tape, sweep)
        if tape.times[at] < minus(last, window):
            drop_oldest(tape, sweep, mode_2, stream, work)
            continue
        if tape.times[at] > plus(first, window):
            sweep.at[CHAIN] = 0
        sweep.at[CHAIN] += 1
        sweep.at[TURN] = (stream + 1) % streams
    sweep.at[TURN] = 0
    return True


@kernel_part
def _span(tape: Tape, sweep: Sweep) -> tuple[int, int]:
    """The least and the greatest time in the chain; (MOST, LEAST) for none."""
    first, last = MOST, LEAST
    for back in range(1, sweep.at[CHAIN] + 1):
        time = tape.times[sweep.head[(sweep.at[TURN] - back) % len(sweep.head)]]
        first, last = min(first, time), max(last, time)
    return first, last


@kernel_part
def _find_start_locally(
    tape: Tape, local: Int64s, sweep: Sweep, mode_2: Mode2, work: Int64s
) -> bool:
    """Mode 1 with a window per stream: whether there is a starting N-tuple, or one has no tuple."""
    streams = len(sweep.head)
    while sweep.at[CHAIN] < streams:
        stream = sweep.at[TURN]
        at = sweep.head[stream]
        if at == sweep.arrived[stream]:
            for other in range(streams):
                if other != stream:
                    window = min(local[stream], local[other])
                    _drop_until(tape, sweep, mode_2, other, window, sweep.coming[stream], work)
            return False
        work[TIME_TESTS] += 1
        if sweep.doomed[stream] or _is_left(tape, local, sweep, stream):
            drop_oldest(tape, sweep, mode_2, stream, work)
            continue
        if _dooms(tape, local, sweep, stream):
            sweep.at[CHAIN] = 0
        sweep.at[CHAIN] += 1
        sweep.at[TURN] = (stream + 1) % streams
    sweep.at[TURN] = 0
    return True


@kernel_part
def _is_left(tape: Tape, local: Int64s, sweep: Sweep, stream: int) -> bool:
    """Whether a stream's oldest tuple is too old for one of the chain, by either's window."""
    time = tape.times[sweep.head[stream]]
    for back in range(1, sweep.at[CHAIN] + 1):
        other = (sweep.at[TURN] - back) % len(sweep.head)
        if plus(time, min(local[stream], local[other])) < tape.times[sweep.head[other]]:
            return True
    return False


@kernel_part
def _dooms(tape: Tape, local: Int64s, sweep: Sweep, stream: int) -> bool:
    """Whether a stream's oldest tuple lies right of the period; marks those too old for it.

    They go when their turn comes. Without the mark two wide streams could begin the period anew
    for ever, each at the sight of another narrow one.
    """
    time = tape.times[sweep.head[stream]]
    is_right = False
    for back in range(1, sweep.at[CHAIN] + 1):
        other = (sweep.at[TURN] - back) % len(sweep.head)
        if plus(tape.times[sweep.head[other]], min(local[stream], local[other])) < time:
            sweep.doomed[other] = is_right = True
    return is_right


@kernel_part
def _local_period(tape: Tape, local: Int64s, sweep: Sweep) -> tuple[int, int]:
    """What the windows around the tuples of the chain share."""
    first, last = LEAST, MOST
    for back in range(1, sweep.at[CHAIN] + 1):
        other = (sweep.at[TURN] - back) % len(sweep.head)
        time = tape.times[sweep.head[other]]
        first = max(first, minus(time, local[other]))
        last = min(last, plus(time, local[other]))
    return first, last


@kernel_part
def _drop_until(
    tape: Tape,
    sweep: Sweep,
    mode_2: Mode2,
    stream: int,
    window: int,
    coming: int,
    work: Int64s,
) -> None:
    """Drops the tuples of a stream that are more than a window before what may come."""
    while sweep.head[stream] < sweep.arrived[stream]:
        work[TIME_TESTS] += 1
        if plus(tape.times[sweep.head[stream]], window) >= coming:
            break
        drop_oldest(tape, sweep, mode_2, stream, work)
        sweep.at[CHAIN] = 0  # it may have been one of the chain


@kernel_part
def _is_over(sweep: Sweep) -> bool:
    """Whether no tuple of the period may still arrive; the next ones that are there lie beyond it."""
    for stream in range(len(sweep.head)):
        is_there = sweep.taken[stream] < sweep.arrived[stream]
        if not is_there and sweep.coming[stream] <= sweep.ends[stream]:
            return False
    return True


@kernel_part
def _oldest(tape: Tape, sweep: Sweep, work: Int64s) -> int:
    """The stream with the oldest tuple of all."""
    oldest = 0
    for stream in range(len(sweep.head)):
        work[TIME_TESTS] += 1
        if tape.times[sweep.head[stream]] < tape.times[sweep.head[oldest]]:
            oldest = stream
    return oldest


@kernel_part
def _first_out(tape: Tape, local: Int64s, sweep: Sweep, work: Int64s) -> int:
    """The stream with the tuple whose own window ends first."""
    first, end = 0, MOST
    for stream in range(len(sweep.head)):
        work[TIME_TESTS] += 1
        own = plus(tape.times[sweep.head[stream]], local[stream])
        if own < end:
            first, end = stream, own
    return first


@kernel_part
def _drop_one(tape: Tape, sweep: Sweep, mode_2: Mode2, stream: int, work: Int64s) -> None:
    """The end of mode 2: drops a starting tuple; the others agree still, mode 1 looks for one."""
    drop_oldest(tape, sweep, mode_2, stream, work)
    sweep.at[TURN], sweep.at[CHAIN] = stream, len(sweep.head) - 1


@kernel_part
def _join_next(tape: Tape, sweep: Sweep, mode_2: Mode2, stream: int) -> None:
    """Admits a stream's next tuple, and begins to join it with all that is buffered."""
    mode_2.chosen[stream] = admit(tape, sweep, mode_2, stream)
    for other in range(len(sweep.head)):
        mode_2.low[0, other], mode_2.high[0, other] = sweep.head[other], sweep.taken[other]
        if sweep.head[other] == sweep.taken[other]:
            return
    mode_2.at[START], mode_2.at[DEPTH] = stream, 1
    mode_2.cursor[1] = UNSET


@kernel
def _loop_on(
    tape: Tape, windows: Windows, mode_2: Mode2, found: FoundCombinations, work: Int64s
) -> bool:
    """Goes through the loops; whether they came to an end before the room did.

    What is done per tuple stands here, in one function: a call hands over every array there is.
    """
    start, depth, innermost = mode_2.at[START], mode_2.at[DEPTH], len(mode_2.chosen) - 1
    while depth > 0 and found.filled[0] < len(found.positions):
        stream, key = mode_2.order[start, depth], mode_2.probed[start, depth]
        at = mode_2.cursor[depth]
        if at == UNSET:
            work[PROBES] += 1
            at = mode_2.high[0, stream] - 1 if key == NONE else newest_of(tape, mode_2, depth)
        candidate, touched = NONE, 0
        while candidate == NONE and at >= mode_2.low[0, stream]:
            touched += 1
            if agrees_in_all(tape, mode_2, depth, at):
                candidate = at
            at = at - 1 if key == NONE else mode_2.older[at, key]
        mode_2.cursor[depth] = at
        work[TOUCHED] += touched
        if mode_2.has_keys[start, depth]:
            work[KEY_TESTS] += touched
        if candidate == NONE:
            depth -= 1
            continue
        mode_2.chosen[stream] = candidate
        if depth < innermost:
            depth += 1
            mode_2.cursor[depth] = UNSET
        elif _is_within_any(tape, windows.stated, mode_2.chosen, work):
            give(mode_2.chosen, found, work)
        else:
            work[REFINED] += 1
    mode_2.at[DEPTH] = depth
    return bool(depth == 0)


@kernel
def _is_within_any(tape: Tape, stated: Int64s, chosen: Int64s, work: Int64s) -> bool:
    """The refinement: whether a combination meets every bound of some set."""
    for number in range(len(stated)):  # noqa: SIM110  (numba has no generators in any())
        if _is_within(tape, stated[number], chosen, work):
            return True
    return False


@kernel
def _is_within(tape: Tape, stated: Int64s, chosen: Int64s, work: Int64s) -> bool:
    """Whether a combination meets every stated bound."""
    for older in range(len(chosen)):
        for newer in range(len(chosen)):
            if older == newer or stated[older, newer] == MOST:
                continue
            work[WINDOW_TESTS] += 1
            last = plus(tape.times[chosen[older]], stated[older, newer])
            if tape.times[chosen[newer]] > last:
                return False
    return True
