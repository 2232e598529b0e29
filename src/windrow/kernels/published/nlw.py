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

from windrow.kernels._jit import kernel, kernel_part
from windrow.kernels.published.pipeline import (
    AT,
    BEFORE,
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
    needed_from,
    next_side,
    note_tuple,
    put_together,
    put_words,
    remove,
    same_words,
    take,
)
from windrow.kernels.published.tape import (
    DROP,
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
    left, right, until = flow.left.numbers, flow.right.numbers, flow.until
    while True:
        if progress[SIDE] == NONE:
            side = next_side(left, right, until, progress)
            if side == NONE:
                return
            take(level, side, flow, progress, trace)
            work[PROBES] += 1
        if not _scan(level, flow, out, progress, work, trace):
            return
        progress[SIDE] = NONE


@kernel_part
def _scan(
    level: Level, flow: Flow, out: Entries, progress: Numbers, work: Numbers, trace: Trace
) -> bool:
    """Goes on through the other side's buffer; whether it came to the end."""
    is_left = progress[SIDE] == LEFT
    other = RIGHT if is_left else LEFT
    left, right = level.left, level.right
    left_words, right_words = left.words, right.words
    left_places, right_places = left.places, right.places
    left_times, right_times = left.times, right.times
    numbers, places, times, words = out.numbers, out.places, out.times, out.words
    shared, from_left, number = level.shared, level.from_left, progress[NUMBER]
    is_last, is_traced = level.is_last, len(trace.events) > 0
    mine, store = (left, right) if is_left else (right, left)
    lows, highs, links = store.low, store.high, store.links
    heads, tails, free = store.heads, store.tails, store.free
    slot, at, before = progress[SLOT], progress[AT], progress[BEFORE]
    low, high = mine.low[slot], mine.high[slot]
    needed = needed_from(flow.newest, level.streams, level.reach_back, other)
    filled, room = progress[FILLED], len(numbers)
    touched, tested, dropped, found = 0, 0, 0, 0
    while at != NONE and filled < room:
        following = links[at]
        touched += 1
        if is_traced:
            note_tuple(trace, TOUCH, level, other, at)
        if highs[at] < needed:  # IsOut
            if is_traced:
                note_tuple(trace, DROP, level, other, at)
            remove(links, heads, tails, free, 0, before, at)
            dropped += 1
            at = following
            continue
        if lows[at] <= high and low <= highs[at]:  # IsIn
            tested += 1
            left_slot, right_slot = (slot, at) if is_left else (at, slot)
            if same_words(left_words, left_slot, right_words, right_slot, shared):
                numbers[filled] = number
                put_together(places, filled, left_places, left_slot, right_places, right_slot)
                put_together(times, filled, left_times, left_slot, right_times, right_slot)
                put_words(words, filled, left_words, left_slot, right_words, right_slot, from_left)
                filled += 1
                if is_last:
                    if is_traced:
                        note(trace, OUTPUT, -1, work[FOUND] + found)
                    found += 1
        before, at = at, following
    progress[FILLED], progress[AT], progress[BEFORE] = filled, at, before
    work[TOUCHED] += touched
    work[WINDOW_TESTS] += touched
    work[KEY_TESTS] += tested
    work[DROPS] += dropped
    work[FOUND] += found
    return bool(at == NONE)
