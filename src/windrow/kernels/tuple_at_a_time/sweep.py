"""What the two-mode sweeps keep: their buffers, their hash table, and where their loops stand.

    stream j      head            taken               arrived
                   [== buffered ==|== not admitted ==)
                    ^ its oldest tuple, which mode 1 looks at

The hash table keeps its tuples in order of arrival: a doubly linked list within each bucket, and
one through all tuples of a stream, which is the tape itself. So the oldest tuple of a stream is
the oldest of its bucket too: mode 1 drops along the tape, and takes it from the bucket's end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.bew_period import LEAST
from windrow.kernels.jit import kernel, kernel_part
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    FOUND,
    TIME_TESTS,
    FoundCombinations,
    Int64s,
    Tape,
)

NONE = -1
UNSET = -2
LEAST_BUCKETS = 64

Words = NDArray[np.uint64]


class Sweep(NamedTuple):
    """Where a sweep stands, kept between calls; positions are those of the tape.

    Attributes:
        head: per stream, its oldest tuple.
        taken: per stream, the position after the last admitted; the buffer is head to taken.
        arrived: per stream, the position after the last that there is.
        coming: per stream, the least time that may still arrive.
        doomed: per stream, whether its oldest tuple was found too old for another stream's.
        ends: per stream, the last tick of its period in mode 2.
        next_times: per stream, the least time that is still to be admitted, as mode 2 ended.
        at: TURN, CHAIN and IS_BEYOND.
    """

    head: Int64s
    taken: Int64s
    arrived: Int64s
    coming: Int64s
    doomed: NDArray[np.bool_]
    ends: Int64s
    next_times: Int64s
    at: Int64s


TURN, CHAIN, IS_BEYOND = range(3)
"""The stream whose turn it is; how many just before it agree: all of them in mode 2; whether a
buffered tuple may lie beyond its period."""


class Mode2(NamedTuple):
    """What mode 2 goes by: its routes, its table, and where its loops stand.

    In which order an admitted tuple meets the other streams, and by which keys:

    Attributes:
        order: per stream of the admitted tuple, all streams as they are chosen, itself first.
        sources: per admitted stream, depth and key class, the stream chosen before that gives the
            word; NONE where the class does not count there.
        has_keys: per admitted stream and depth, whether any class counts.
        single: likewise, the only class that counts; NONE: several, or none.
        probed: likewise, the class whose buckets are probed; NONE: a scan.

    Comparisons of ordered words, which a tuple must stand up to as it is met:

    Attributes:
        tests: per admitted stream and depth, how many become testable there.
        compared: per admitted stream, depth and test, the column of both words.
        against: likewise, the stream chosen before that the other word is of.
        is_less: likewise, whether the tuple that is met has the lesser word, or an equal one.
        limits: per depth and test, the other word, as the loop there began.

    The buckets of all streams by each key class; of no class where loops only scan:

    Attributes:
        linked: per stream and key class, whether the stream has buckets by it.
        oldest: per stream, class and bucket, the position of its oldest tuple, or NONE.
        newest: likewise the newest.
        older: per position and class, the tuple before it in its bucket, or NONE.
        newer: likewise the tuple after it.

    The loops, kept between calls:

    Attributes:
        chosen: per stream, the tuple chosen.
        cursor: per depth, the tuple to look at next; NONE at the end, UNSET before the beginning.
        low: per depth and stream, the first position of the range that a loop goes through; line 0
            is as the tuple was admitted.
        high: likewise the position after the last.
        at: START, DEPTH and IS_NARROWED.
    """

    order: Int64s
    sources: Int64s
    has_keys: NDArray[np.bool_]
    single: Int64s
    probed: Int64s
    tests: Int64s
    compared: Int64s
    against: Int64s
    is_less: NDArray[np.bool_]
    limits: Words
    linked: NDArray[np.bool_]
    oldest: Int64s
    newest: Int64s
    older: Int64s
    newer: Int64s
    chosen: Int64s
    cursor: Int64s
    low: Int64s
    high: Int64s
    at: Int64s


START, DEPTH, IS_NARROWED = range(3)
"""The admitted tuple's stream; the loop under way, 0 for none; whether ranges are narrowed."""


class Compared(NamedTuple):
    """A word of one stream that must not be above one of another: both in one column of the tape.

    Attributes:
        column: which.
        lesser: the stream whose word must not be above.
        greater: the other one.
    """

    column: int
    lesser: int
    greater: int


def sweep_from(positions: Int64s) -> Sweep:
    """A sweep over streams that begin at the given positions, with no tuple yet."""
    streams = len(positions)
    return Sweep(
        head=positions.copy(),
        taken=positions.copy(),
        arrived=positions.copy(),
        coming=np.full(streams, LEAST, np.int64),
        doomed=np.zeros(streams, np.bool_),
        ends=np.zeros(streams, np.int64),
        next_times=np.zeros(streams, np.int64),
        at=np.zeros(3, np.int64),
    )


def mode_2_along(
    order: Int64s,
    keyed: NDArray[np.bool_],
    positions: int,
    *,
    hashed: bool,
    comparisons: Sequence[Compared] = (),
) -> Mode2:
    """Mode 2 before the first tuple is admitted.

    Args:
        order: per stream of an admitted tuple, in which order the others are gone through.
        keyed: per stream and key class, whether the stream has a column in it.
        positions: the length of the tape.
        hashed: whether loops go through buckets.
        comparisons: of words that are no keys.
    """
    streams, classes = keyed.shape
    tests, compared, against, is_less = _tests_along(order, comparisons)
    sources = np.full((streams, streams, classes), NONE, np.int64)
    single = np.full((streams, streams), NONE, np.int64)
    probed = np.full((streams, streams), NONE, np.int64)
    for start, line in enumerate(order):
        for depth in range(1, streams):
            for key in np.flatnonzero(keyed[line[depth]]):
                before = line[:depth][keyed[line[:depth], key]]
                if len(before):
                    sources[start, depth, key] = before[0]
            shared = np.flatnonzero(sources[start, depth] != NONE)
            if len(shared) == 1:
                single[start, depth] = shared[0]
            if hashed and len(shared):
                probed[start, depth] = shared[0]
    linked = keyed if hashed else keyed[:, :0].copy()
    ends, links = (streams, linked.shape[1], LEAST_BUCKETS), (positions, linked.shape[1])
    return Mode2(
        order=order,
        sources=sources,
        has_keys=(sources != NONE).any(axis=2),
        single=single,
        probed=probed,
        tests=tests,
        compared=compared,
        against=against,
        is_less=is_less,
        limits=np.zeros((streams, len(comparisons)), np.uint64),
        linked=linked,
        oldest=np.full(ends, NONE, np.int64),
        newest=np.full(ends, NONE, np.int64),
        older=np.full(links, NONE, np.int64),
        newer=np.full(links, NONE, np.int64),
        chosen=np.zeros(streams, np.int64),
        cursor=np.zeros(streams, np.int64),
        low=np.zeros((streams, streams), np.int64),
        high=np.zeros((streams, streams), np.int64),
        at=np.zeros(3, np.int64),
    )


def _tests_along(
    order: Int64s, comparisons: Sequence[Compared]
) -> tuple[Int64s, Int64s, Int64s, NDArray[np.bool_]]:
    """Which comparisons become testable where, as `Mode2` lists them."""
    streams = len(order)
    shape = (streams, streams, len(comparisons))
    tests = np.zeros(shape[:2], np.int64)
    compared, against = np.full(shape, NONE, np.int64), np.full(shape, NONE, np.int64)
    is_less = np.zeros(shape, np.bool_)
    for start, line in enumerate(order):
        for depth in range(1, streams):
            for one in comparisons:
                if line[depth] not in (one.lesser, one.greater):
                    continue
                other = one.greater if line[depth] == one.lesser else one.lesser
                if other in line[:depth]:
                    at = (start, depth, tests[start, depth])
                    compared[at], against[at] = one.column, other
                    is_less[at] = line[depth] == one.lesser
                    tests[start, depth] += 1
    return tests, compared, against, is_less


def with_empty_table(mode_2: Mode2, buckets: int, positions: int) -> Mode2:
    """The same with no tuple in the table; buckets are a power of two."""
    ends, links = (*mode_2.linked.shape, buckets), (positions, mode_2.linked.shape[1])
    return mode_2._replace(
        oldest=np.full(ends, NONE, np.int64),
        newest=np.full(ends, NONE, np.int64),
        older=np.full(links, NONE, np.int64),
        newer=np.full(links, NONE, np.int64),
    )


@kernel_part
def next_in_period(tape: Tape, sweep: Sweep, work: Int64s) -> int:
    """Mode 2: the next stream in turn whose next tuple lies in its period, or NONE.

    The starting tuples come first, those that were not admitted before.
    """
    streams = len(sweep.head)
    for stream in range(streams):
        if sweep.taken[stream] == sweep.head[stream]:
            return stream
    for n in range(streams):
        stream = (sweep.at[TURN] + n) % streams
        at = sweep.taken[stream]
        if at == sweep.arrived[stream]:
            continue
        work[TIME_TESTS] += 1
        if tape.times[at] <= sweep.ends[stream]:
            sweep.at[TURN] = (stream + 1) % streams
            return int(stream)
    return NONE


@kernel_part
def admit(tape: Tape, sweep: Sweep, mode_2: Mode2, stream: int) -> int:
    """Puts a stream's next tuple into its buffer; gives its position."""
    at = sweep.taken[stream]
    sweep.taken[stream] = at + 1
    if mode_2.linked.shape[1]:
        link(tape, mode_2, stream, at)
    return int(at)


@kernel_part
def drop_oldest(tape: Tape, sweep: Sweep, mode_2: Mode2, stream: int, work: Int64s) -> None:
    """Drops the oldest tuple of a stream, admitted or not."""
    at = sweep.head[stream]
    if at == sweep.taken[stream]:
        sweep.taken[stream] = at + 1
    elif mode_2.linked.shape[1]:
        unlink(tape, mode_2, stream, at)
    sweep.head[stream] = at + 1
    sweep.doomed[stream] = False
    work[DROPS] += 1


@kernel
def drop_below(tape: Tape, sweep: Sweep, mode_2: Mode2, bounds: Int64s, work: Int64s) -> None:
    """Drops the tuples of each stream that are older than its bound; mode 1 is next."""
    for stream in range(len(sweep.head)):
        while sweep.head[stream] < sweep.arrived[stream]:
            if tape.times[sweep.head[stream]] >= bounds[stream]:
                break
            drop_oldest(tape, sweep, mode_2, stream, work)
            sweep.at[TURN] = sweep.at[CHAIN] = 0


@kernel_part
def link(tape: Tape, mode_2: Mode2, stream: int, at: int) -> None:
    """Appends an admitted tuple to its bucket of each class."""
    for key in range(mode_2.oldest.shape[1]):
        if not mode_2.linked[stream, key]:
            continue
        bucket = bucket_of(mode_2, tape.words[at, key])
        last = mode_2.newest[stream, key, bucket]
        mode_2.older[at, key], mode_2.newer[at, key] = last, NONE
        if last == NONE:
            mode_2.oldest[stream, key, bucket] = at
        else:
            mode_2.newer[last, key] = at
        mode_2.newest[stream, key, bucket] = at


@kernel_part
def unlink(tape: Tape, mode_2: Mode2, stream: int, at: int) -> None:
    """Takes the oldest tuple of a stream out of its buckets, in each of which it is the oldest."""
    for key in range(mode_2.oldest.shape[1]):
        if not mode_2.linked[stream, key]:
            continue
        bucket = bucket_of(mode_2, tape.words[at, key])
        following = mode_2.newer[at, key]
        mode_2.oldest[stream, key, bucket] = following
        if following == NONE:
            mode_2.newest[stream, key, bucket] = NONE
        else:
            mode_2.older[following, key] = NONE


@kernel
def link_buffered(tape: Tape, mode_2: Mode2, sweep: Sweep) -> None:
    """Fills an empty table with all that is buffered."""
    for stream in range(len(sweep.head)):
        for at in range(sweep.head[stream], sweep.taken[stream]):
            link(tape, mode_2, stream, at)


@kernel
def bucket_of(mode_2: Mode2, word: np.uint64) -> int:
    """The bucket of a word, which is mixed already."""
    return int(word & np.uint64(mode_2.oldest.shape[2] - 1))


@kernel
def newest_of(tape: Tape, mode_2: Mode2, depth: int) -> int:
    """The newest tuple of the bucket that a depth probes; NONE for none."""
    start = mode_2.at[START]
    stream, key = mode_2.order[start, depth], mode_2.probed[start, depth]
    word = tape.words[mode_2.chosen[mode_2.sources[start, depth, key]], key]
    return int(mode_2.newest[stream, key, bucket_of(mode_2, word)])


@kernel
def agrees_in_all(tape: Tape, mode_2: Mode2, depth: int, at: int) -> bool:
    """Whether a tuple agrees with those chosen in every key class that counts at a depth."""
    start = mode_2.at[START]
    for key in range(mode_2.sources.shape[2]):
        source = mode_2.sources[start, depth, key]
        if source != NONE and tape.words[at, key] != tape.words[mode_2.chosen[source], key]:
            return False
    return True


@kernel
def give(chosen: Int64s, found: FoundCombinations, work: Int64s) -> None:
    """Writes the tuples chosen as a combination; there is room."""
    line = found.filled[0]
    for stream in range(len(chosen)):
        found.positions[line, stream] = chosen[stream]
    found.filled[0] = line + 1
    work[FOUND] += 1


def take_arrivals(tape: Tape, sweep: Sweep, turns: Int64s, coming: Int64s | None) -> None:
    """Makes the next tuples of some streams available.

    Args:
        tape: where they are.
        sweep: what they are added to.
        turns: their streams.
        coming: per stream, the least time that may follow; None: its newest tuple's.
    """
    sweep.arrived[:] += np.bincount(turns, minlength=len(sweep.arrived))
    if coming is not None:
        sweep.coming[:] = coming
        return
    for stream in np.unique(turns):
        newest = tape.times[sweep.arrived[stream] - 1]
        sweep.coming[stream] = max(sweep.coming[stream], newest)
