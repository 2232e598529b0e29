"""HW-join, one level: a binary window join by hash (2002, section 3.1.2).

As the nested loop, with a hash table on each side: an arriving tuple goes through one bucket of the
other side, and removes there what is out of reach. A bucket that no tuple probes would keep its
old tuples, so an update routine visits the rarely probed buckets, and only those. Like the hand of
a clock it moves on by one bucket with every probe:

    buckets    [ probed | probed |  not   | probed | .. ]
                                    ^hand             a bucket probed since the hand passed it last
                                                      is left alone; the others are updated
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    bucket_of,
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


class Hand(NamedTuple):
    """What the update routine knows of a level's tables, left then right.

    Attributes:
        probed: per side and bucket, whether it was probed since the hand passed it.
        at: per side, the bucket that the hand points to.
    """

    probed: NDArray[np.bool_]
    at: Numbers


@kernel
def hw_level(
    level: Level,
    hand: Hand,
    flow: Flow,
    out: Entries,
    progress: Numbers,
    work: Numbers,
    trace: Trace,
) -> None:
    """Joins the block's tuples, until the block is through or the output is full.

    Args:
        level: the tables and the conditions between them.
        hand: where the update routine stands.
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
        if not _probe(level, hand, flow, out, progress, work, trace):
            return
        other = RIGHT if progress[SIDE] == LEFT else LEFT
        _update_next(level, hand, other, flow, work, trace)
        progress[SIDE] = NONE


@kernel
def _probe(
    level: Level,
    hand: Hand,
    flow: Flow,
    out: Entries,
    progress: Numbers,
    work: Numbers,
    trace: Trace,
) -> bool:
    """Goes on through one bucket of the other side; whether it came to the end."""
    is_left = progress[SIDE] == LEFT
    own, other = (LEFT, RIGHT) if is_left else (RIGHT, LEFT)
    mine = level.left if is_left else level.right
    store = level.right if is_left else level.left
    slot, at, before = progress[SLOT], progress[AT], progress[BEFORE]
    bucket = bucket_of(mine.words, slot, level.shared, len(store.heads))
    hand.probed[other, bucket] = True
    needed = _needed(level, other, flow.newest)
    while at != NONE:
        if progress[FILLED] == len(out.numbers):
            progress[AT], progress[BEFORE] = at, before
            return False
        following = store.links[at]
        work[TOUCHED] += 1
        work[WINDOW_TESTS] += 1
        note_tuple(trace, TOUCH, level, other, at)
        if is_out(level, other, at, needed):
            remove(level, other, bucket, before, at, trace)
            work[DROPS] += 1
            at = following
            continue
        left_slot, right_slot = (slot, at) if own == LEFT else (at, slot)
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


@kernel
def _update_next(
    level: Level, hand: Hand, side: int, flow: Flow, work: Numbers, trace: Trace
) -> None:
    """Moves the hand of one side on; updates the bucket it leaves, if that was rarely probed."""
    store = level.left if side == LEFT else level.right
    bucket = hand.at[side]
    hand.at[side] = (bucket + 1) % len(store.heads)
    if hand.probed[side, bucket]:
        hand.probed[side, bucket] = False
        return
    needed = _needed(level, side, flow.newest)
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


@kernel
def _needed(level: Level, side: int, newest: Numbers) -> int:
    """What `is_out` compares a side's tuples with."""
    if side == RIGHT:
        return needed_from(level, newest)
    return int(newest[level.streams[-1]])
