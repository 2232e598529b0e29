"""NLW-join, one level: a binary window join by nested loop (2002, section 3.1.1, figure 5).

A tuple that arrives on one side is put into its buffer; then every tuple in the other side's
buffer is looked at, in order of arrival:

    IsOut    out of reach of every time stamp in the vector of the arriving side: removed
    IsIn     within the period of the m-tuple: the join predicate is tested, and a match climbs

        period of the m-tuple           low                 high
        right tuples       ---x----x------[==o====o======o===]----o----->  x removed, o tested
                               needed_from
"""

from __future__ import annotations

from windrow.kernels._jit import kernel
from windrow.kernels.published.pipeline import (
    AT,
    BEFORE,
    FILLED,
    LEFT,
    NONE,
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


@kernel
def nlw_level(
    level: Level, flow: Flow, out: Entries, progress: Numbers, work: Numbers, trace: Trace
) -> None:
    """Joins the block's tuples, until the block is through or the output is full.

    Args:
        level: the buffers and the conditions between them.
        flow: what arrives.
        out: room for the tuples that climb.
        progress: where to go on; see there. It is through when SIDE is NONE.
        work: the work done, added to.
        trace: what was done, step by step.
    """
    while True:
        if progress[SIDE] == NONE:
            side = next_side(flow, progress)
            if side == NONE:
                return
            take(level, side, flow, progress, trace)
            work[PROBES] += 1
        if not _scan(level, flow, out, progress, work, trace):
            return
        progress[SIDE] = NONE


@kernel
def _scan(
    level: Level, flow: Flow, out: Entries, progress: Numbers, work: Numbers, trace: Trace
) -> bool:
    """Goes on through the other side's buffer; whether it came to the end."""
    is_left = progress[SIDE] == LEFT
    other = RIGHT if is_left else LEFT
    store = level.right if is_left else level.left
    needed = needed_from(level, flow.newest) if is_left else flow.newest[level.streams[-1]]
    slot, at, before = progress[SLOT], progress[AT], progress[BEFORE]
    while at != NONE:
        if progress[FILLED] == len(out.numbers):
            progress[AT], progress[BEFORE] = at, before
            return False
        following = store.links[at]
        work[TOUCHED] += 1
        work[WINDOW_TESTS] += 1
        note_tuple(trace, TOUCH, level, other, at)
        if is_out(level, other, at, needed):
            remove(level, other, 0, before, at, trace)
            work[DROPS] += 1
            at = following
            continue
        left_slot, right_slot = (slot, at) if is_left else (at, slot)
        time = level.right.times[right_slot, 0]
        if level.left.low[left_slot] <= time <= level.left.high[left_slot]:
            work[KEY_TESTS] += 1
            if same_words(level, left_slot, right_slot):
                emit(level, left_slot, right_slot, out, progress)
                if level.is_last:
                    note(trace, OUTPUT, -1, work[FOUND])
                    work[FOUND] += 1
        before, at = at, following
    return True
