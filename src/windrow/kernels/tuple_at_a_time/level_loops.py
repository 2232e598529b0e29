"""NLW-join and HW-join, one level: binary window joins by nested loop and by hash (2002, section 3.1).

A tuple that arrives on one side is put into its buffer. Then the tuples of the other side that it may
meet are looked at, in order of arrival: of NLW (3.1.1, figure 5) all in the buffer, of HW (3.1.2)
those of one bucket.

    IsOut    out of reach of every time stamp in the vector of the arriving side: removed
    IsIn     within the period of the m-tuple: the join predicate is tested, and a match climbs

        period of the m-tuple           low                 high
        right tuples       ---x----x------[==o====o======o===]----o----->  x removed, o tested
                               needed_from

A bucket that no tuple probes would keep its old tuples, so by hash an update routine visits the rarely
probed buckets, and only those. Like the hand of a clock it moves on by one bucket with every probe:

    buckets    [ probed | probed |  not   | probed | .. ]
                                    ^hand             a bucket probed since the hand passed it last
                                                      is left alone; the others are updated
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel, kernel_part
from windrow.kernels.tuple_at_a_time.pipeline import (
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
    climb,
    needed_from,
    next_side,
    remove,
    remove_old,
    same_words,
    take,
)
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    KEY_TESTS,
    PROBES,
    TOUCHED,
    WINDOW_TESTS,
    Int64s,
)


class Hand(NamedTuple):
    """What the update routine knows of a level's tables, left then right; nothing of nested loops.

    Attributes:
        probed: per side and bucket, whether it was probed since the hand passed it.
        at: per side, the bucket that the hand points to.
    """

    probed: NDArray[np.bool_]
    at: Int64s


def hand_over(buckets: int) -> Hand:
    """The hands at the first buckets, which nothing has probed."""
    return Hand(np.zeros((2, buckets), np.bool_), np.zeros(2, np.int64))


class NlwLoops:
    """The nested loops of one level; `pipeline.LevelLoops` says what is asked of them."""

    is_hashed = cleans_itself = False

    def __init__(self) -> None:
        self._hand = hand_over(0)

    def join(
        self,
        level: Level,
        flow: Flow,
        out: Entries,
        progress: Int64s,
        work: Int64s,
    ) -> None:
        """Joins the tuples of a block, until it is through or no room is left."""
        join_level(level, self._hand, flow, out, progress, work)

    def resized(self, buckets: int) -> None:
        """Nothing is known of buckets."""


class HwLoops(NlwLoops):
    """The loops over buckets of one level."""

    is_hashed = True

    def resized(self, buckets: int) -> None:
        """Puts the hands at the first buckets, which nothing has probed."""
        self._hand = hand_over(buckets)


@kernel
def join_level(
    level: Level,
    hand: Hand,
    flow: Flow,
    out: Entries,
    progress: Int64s,
    work: Int64s,
) -> None:
    """Joins as `pipeline.LevelLoops` says; `hand` is where the update routine stands."""
    left, right, until = flow.left.numbers, flow.right.numbers, flow.until
    left_heads, right_heads = level.left.heads, level.right.heads
    newest, streams, reach_back = flow.newest, level.streams, level.reach_back
    is_hashed = hand.probed.shape[1] > 0
    while True:
        if progress[SIDE] == NONE:
            side = next_side(left, right, until, progress)
            if side == NONE:
                return
            take(level, side, flow, progress)
            work[PROBES] += 1
        if not _probe(level, hand, flow, out, progress, work):
            return
        if is_hashed:
            other = RIGHT if progress[SIDE] == LEFT else LEFT
            bucket, buckets = hand.at[other], len(right_heads if other == RIGHT else left_heads)
            if _is_rarely_probed(hand, other, bucket, buckets):
                needed = needed_from(newest, streams, reach_back, other)
                touched, removed = remove_old(level, other, bucket, needed)
                work[TOUCHED] += touched
                work[WINDOW_TESTS] += touched
                work[DROPS] += removed
        progress[SIDE] = NONE


@kernel_part
def _probe(
    level: Level,
    hand: Hand,
    flow: Flow,
    out: Entries,
    progress: Int64s,
    work: Int64s,
) -> bool:
    """Goes on through one list of the other side; whether it came to the end."""
    other = RIGHT if progress[SIDE] == LEFT else LEFT
    mine, store = (level.left, level.right) if other == RIGHT else (level.right, level.left)
    own_words, words, shared = mine.words, store.words, level.shared
    lows, highs, links = store.low, store.high, store.links
    heads, tails, free = store.heads, store.tails, store.free
    slot, at, before = progress[SLOT], progress[AT], progress[BEFORE]
    low, high = mine.low[slot], mine.high[slot]
    bucket = bucket_of(own_words, slot, shared, len(heads))
    if hand.probed.shape[1] > 0:
        hand.probed[other, bucket] = True
    needed = needed_from(flow.newest, level.streams, level.reach_back, other)
    met, filled, room = out.numbers, progress[FILLED], len(out.numbers)
    touched, tested, dropped = 0, 0, 0
    while at != NONE and filled < room:
        following = links[at]
        touched += 1
        if highs[at] < needed:  # IsOut
            remove(links, heads, tails, free, bucket, before, at)
            dropped += 1
            at = following
            continue
        if lows[at] <= high and low <= highs[at]:  # IsIn
            tested += 1
            if same_words(own_words, slot, words, at, shared):
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


@kernel_part
def _is_rarely_probed(hand: Hand, side: int, bucket: int, buckets: int) -> bool:
    """Whether the bucket that the hand leaves was not probed since it passed there last."""
    hand.at[side] = (bucket + 1) % buckets
    was_probed = hand.probed[side, bucket]
    hand.probed[side, bucket] = False
    return not was_probed
