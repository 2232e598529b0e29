"""XJoin, adapted: a pipeline of symmetric hash joins, one level (compared in 2002, section 4.3).

An arriving tuple is put into its table and probes one bucket of the other. XJoin knows no windows:
whatever the probe meets, old or not, is compared by key, and a pair of equal keys is then tested
against the window. Nothing is removed on the way; all buckets of both tables are cleaned once
every `CLEAN_EVERY` arrivals.

    arrivals    1 ............... 10,000 ............... 20,000 ....
    tables      grow              cleaned                cleaned
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.jit import kernel, kernel_part
from windrow.kernels.tuple_at_a_time.pipeline import (
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
    climb,
    next_side,
    remove_all_old,
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
from windrow_papers.kernels.cleaning import CLEAN_EVERY

EVERY, CLEANED_AT = range(2)
"""When tables are cleaned: after how many arrivals, and the arrival that they were cleaned at."""


class XJoinLoops:
    """The loops over buckets of one level; `pipeline.LevelLoops` says what is asked of them.

    Args:
        clean_every: how many arrivals pass until tables are cleaned.
    """

    is_hashed = cleans_itself = True

    def __init__(self, clean_every: int = CLEAN_EVERY) -> None:
        self._cleaning = np.array([clean_every, -1], np.int64)

    def join(
        self,
        level: Level,
        flow: Flow,
        out: Entries,
        progress: Int64s,
        work: Int64s,
    ) -> None:
        """Joins the tuples of a block, until it is through or no room is left."""
        xjoin_level(level, self._cleaning, flow, out, progress, work)

    def resized(self, buckets: int) -> None:
        """Nothing is known of buckets."""


@kernel
def xjoin_level(
    level: Level,
    cleaning: Int64s,
    flow: Flow,
    out: Entries,
    progress: Int64s,
    work: Int64s,
) -> None:
    """Joins as `pipeline.LevelLoops` says; `cleaning` is when tables are cleaned."""
    left, right, until = flow.left.numbers, flow.right.numbers, flow.until
    while True:
        if progress[SIDE] == NONE:
            # The tuple before this one has been joined: no cursor points into a list.
            if progress[NUMBER] - cleaning[CLEANED_AT] >= cleaning[EVERY]:
                cleaning[CLEANED_AT] = progress[NUMBER]
                touched, removed = remove_all_old(level, flow.newest)
                work[TOUCHED] += touched
                work[WINDOW_TESTS] += touched
                work[DROPS] += removed
            side = next_side(left, right, until, progress)
            if side == NONE:
                return
            take(level, side, flow, progress)
            work[PROBES] += 1
        if not _probe(level, out, progress, work):
            return
        progress[SIDE] = NONE


@kernel_part
def _probe(level: Level, out: Entries, progress: Int64s, work: Int64s) -> bool:
    """Goes on through one bucket of the other side; whether it came to the end."""
    other = RIGHT if progress[SIDE] == LEFT else LEFT
    mine, store = (level.left, level.right) if other == RIGHT else (level.right, level.left)
    own_words, words, shared = mine.words, store.words, level.shared
    lows, highs, links = store.low, store.high, store.links
    slot, at = progress[SLOT], progress[AT]
    low, high = mine.low[slot], mine.high[slot]
    met, filled, room = out.numbers, progress[FILLED], len(out.numbers)
    touched, tested = 0, 0
    while at != NONE and filled < room:
        touched += 1
        if same_words(own_words, slot, words, at, shared):
            tested += 1
            if lows[at] <= high and low <= highs[at]:
                met[filled] = at
                filled += 1
        at = links[at]
    progress[AT] = at
    work[TOUCHED] += touched
    work[KEY_TESTS] += touched
    work[WINDOW_TESTS] += tested
    climb(level, out, filled, progress, work)
    return bool(at == NONE)
