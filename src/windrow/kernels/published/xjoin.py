"""XJoin, adapted: a pipeline of symmetric hash joins, one level (compared in 2002, section 4.3).

An arriving tuple is put into its table and probes one bucket of the other. XJoin knows no windows:
whatever the probe meets, old or not, is compared by key, and a pair of equal keys is then tested
against the window. Nothing is removed on the way; all buckets of both tables are cleaned once
every `CLEAN_EVERY` arrivals.

    arrivals    1 ............... 10,000 ............... 20,000 ....
    tables      grow              cleaned                cleaned
"""

from __future__ import annotations

from windrow.kernels._jit import kernel
from windrow.kernels.published.pipeline import (
    AT,
    FILLED,
    LEFT,
    NONE,
    NUMBER,
    RIGHT,
    SIDE,
    SLOT,
    Entries,
    Flow,
    Level,
    emit,
    is_out,
    needed_from,
    next_side,
    note_tuple,
    remove,
    same_words,
    take,
)
from windrow.kernels.published.tape import (
    DROPS,
    FOUND,
    KEY_TESTS,
    OUTPUT,
    PROBES,
    TOUCH,
    TOUCHED,
    WINDOW_TESTS,
    Numbers,
    Trace,
    note,
)

CLEAN_EVERY, CLEANED_AT = range(2)
"""When tables are cleaned: after how many arrivals, and the arrival that they were cleaned at."""


@kernel
def xjoin_level(
    level: Level,
    cleaning: Numbers,
    flow: Flow,
    out: Entries,
    progress: Numbers,
    work: Numbers,
    trace: Trace,
) -> None:
    """Joins the block's tuples, until the block is through or the output is full.

    Args:
        level: the tables and the conditions between them.
        cleaning: when they are cleaned; see there.
        flow: what arrives.
        out: room for the tuples that climb.
        progress: where to go on; see there. It is through when SIDE is NONE.
        work: the work done, added to.
        trace: what was done, step by step.
    """
    while True:
        if progress[SIDE] == NONE:
            # The tuple before this one has been joined: no cursor points into a list.
            if progress[NUMBER] - cleaning[CLEANED_AT] >= cleaning[CLEAN_EVERY]:
                cleaning[CLEANED_AT] = progress[NUMBER]
                clean(level, flow.newest, work, trace)
            side = next_side(flow, progress)
            if side == NONE:
                return
            take(level, side, flow, progress, trace)
            work[PROBES] += 1
        if not _probe(level, out, progress, work, trace):
            return
        progress[SIDE] = NONE


@kernel
def _probe(level: Level, out: Entries, progress: Numbers, work: Numbers, trace: Trace) -> bool:
    """Goes on through one bucket of the other side; whether it came to the end."""
    is_left = progress[SIDE] == LEFT
    other = RIGHT if is_left else LEFT
    store = level.right if is_left else level.left
    slot, at = progress[SLOT], progress[AT]
    while at != NONE:
        if progress[FILLED] == len(out.numbers):
            progress[AT] = at
            return False
        work[TOUCHED] += 1
        work[KEY_TESTS] += 1
        note_tuple(trace, TOUCH, level, other, at)
        left_slot, right_slot = (slot, at) if is_left else (at, slot)
        if same_words(level, left_slot, right_slot):
            work[WINDOW_TESTS] += 1
            time = level.right.times[right_slot, 0]
            if level.left.low[left_slot] <= time <= level.left.high[left_slot]:
                emit(level, left_slot, right_slot, out, progress)
                if level.is_last:
                    note(trace, OUTPUT, -1, work[FOUND])
                    work[FOUND] += 1
        at = store.links[at]
    return True


@kernel
def clean(level: Level, newest: Numbers, work: Numbers, trace: Trace) -> None:
    """Goes through all buckets of both tables and removes what is out of reach."""
    for side in range(2):
        store = level.left if side == LEFT else level.right
        needed = newest[level.streams[-1]] if side == LEFT else needed_from(level, newest)
        for bucket in range(len(store.heads)):
            at, before = store.heads[bucket], NONE
            while at != NONE:
                following = store.links[at]
                work[TOUCHED] += 1
                work[WINDOW_TESTS] += 1
                if is_out(level, side, at, needed):
                    remove(level, side, bucket, before, at, trace)
                    work[DROPS] += 1
                else:
                    before = at
                at = following
