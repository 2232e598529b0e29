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

from windrow.kernels.jit import kernel, kernel_part
from windrow.kernels.tuple_at_a_time.pipeline import (
    AT,
    BEFORE,
    FILLED,
    LEFT,
    RIGHT,
    SIDE,
    SLOT,
    Entries,
    Flow,
    Level,
    climb,
    needed_from,
    next_side,
    note_met,
    note_tuple,
    same_words,
    take,
)
from windrow.kernels.tuple_at_a_time.stores import NONE, remove
from windrow.kernels.tuple_at_a_time.tape import (
    DROP,
    DROPS,
    KEY_TESTS,
    PROBES,
    TOUCH,
    TOUCHED,
    WINDOW_TESTS,
    Numbers,
    Trace,
)


class NlwLoops:
    """The nested loops of one level; `pipeline.LevelLoops` says what is asked of them."""

    is_hashed = cleans_itself = False

    def join(
        self,
        level: Level,
        flow: Flow,
        out: Entries,
        progress: Numbers,
        work: Numbers,
        trace: Trace,
    ) -> None:
        """Joins the tuples of a block, until it is through or no room is left."""
        nlw_level(level, flow, out, progress, work, trace)

    def resized(self, buckets: int) -> None:
        """Nothing is known of buckets."""


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
    other = RIGHT if progress[SIDE] == LEFT else LEFT
    mine, store = (level.left, level.right) if other == RIGHT else (level.right, level.left)
    own_words, words, shared = mine.words, store.words, level.shared
    lows, highs, links = store.low, store.high, store.links
    heads, tails, free = store.heads, store.tails, store.free
    slot, at, before = progress[SLOT], progress[AT], progress[BEFORE]
    low, high = mine.low[slot], mine.high[slot]
    needed = needed_from(flow.newest, level.streams, level.reach_back, other)
    met, filled, room = out.numbers, progress[FILLED], len(out.numbers)
    is_traced = len(trace.events) > 0
    touched, tested, dropped = 0, 0, 0
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
            if same_words(own_words, slot, words, at, shared):
                if is_traced:
                    note_met(trace, level, filled - progress[FILLED], work)
                met[filled] = at
                filled += 1
        before, at = at, following
    progress[AT], progress[BEFORE] = at, before
    work[TOUCHED] += touched
    work[WINDOW_TESTS] += touched
    work[KEY_TESTS] += tested
    work[DROPS] += dropped
    climb(level, out, filled, progress, work)
    return bool(at == NONE)
