"""Hash tables over the tape: per stream and key class, buckets that are lists in arrival order.

    heads    [ 4 | NONE | 7 ]        after    4 -> 5 -> 9 -> NONE        tails   [ 9 | NONE | 7 ]

A tuple is linked into a list of every class by which its stream is looked up. Dropping takes it
out of the list at hand and marks it as gone; the other lists let go of it when they are next gone
through.

Looking a bucket up drops from it what is past its time. Buckets that are rarely looked up would
keep theirs, so an update routine goes round all buckets, one per arrival:

    hand  ->  [ looked up | looked up | not | looked up | ... ]
               left alone               updated

A bucket counts as rarely probed if it was not looked up since the hand last came by. The others
are left alone: their lookups have updated them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    UPDATES,
    Buffers,
    Int64s,
    Tape,
    TupleConditions,
    Tuples,
)
from windrow_papers.kernels.loop_machine import horizon
from windrow_papers.kernels.trace import DROP, Record, note

NONE = -1
LEAST_BUCKETS = 64
TUPLES_PER_BUCKET = 2
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Spreads keys over a word's top bits, which name the bucket."""


class Tables(NamedTuple):
    """Buckets of tuples.

    Attributes:
        heads: per stream, key class and bucket, the first tuple.
        tails: likewise, the last tuple.
        was_probed: likewise, whether it was looked up since the hand last came by.
        after: per key class and position, the tuple that follows in its list.
        gone: per position, whether the tuple was dropped.
        probed_by: per start stream and level, the class that the level is looked up by, or NONE.
        is_linked: per stream and key class, whether there is a table.
        before: per level, the tuple before the cursor's in its list, or NONE.
        hand: where the update routine is (an array of one), counting through all buckets.
    """

    heads: Int64s
    tails: Int64s
    was_probed: NDArray[np.bool_]
    after: Int64s
    gone: NDArray[np.bool_]
    probed_by: Int64s
    is_linked: NDArray[np.bool_]
    before: Int64s
    hand: Int64s


def keys_of_levels(keyed: NDArray[np.bool_], order: Int64s) -> Int64s:
    """Per start stream and level, the first key class shared with the streams above, or NONE."""
    levels = np.full(order.shape, NONE, np.int64)
    for start, streams in enumerate(order):
        for level in range(1, len(streams)):
            shared = keyed[streams[level]] & keyed[streams[:level]].any(axis=0)
            if shared.any():
                levels[start, level] = int(np.argmax(shared))
    return levels


def empty_tables(size: int, buckets: int, order: Int64s, probed_by: Int64s) -> Tables:
    """Tables without a tuple, for so many positions."""
    streams, classes = len(order), int(probed_by.max(initial=NONE)) + 1
    is_linked = np.zeros((streams, classes), np.bool_)
    for start, level in np.argwhere(probed_by != NONE):
        is_linked[order[start, level], probed_by[start, level]] = True
    shape = (streams, classes, buckets)
    return Tables(
        heads=np.full(shape, NONE, np.int64),
        tails=np.full(shape, NONE, np.int64),
        was_probed=np.zeros(shape, np.bool_),
        after=np.full((classes, size), NONE, np.int64),
        gone=np.zeros(size, np.bool_),
        probed_by=probed_by,
        is_linked=is_linked,
        before=np.full(streams, NONE, np.int64),
        hand=np.zeros(1, np.int64),
    )


def buckets_for(tuples: int) -> int:
    """How many buckets, a power of two, so many tuples of a stream should have."""
    return max(LEAST_BUCKETS, 1 << (max(1, tuples) // TUPLES_PER_BUCKET).bit_length())


@kernel
def bucket_of(tables: Tables, word: np.uint64) -> int:
    """The bucket of a key."""
    buckets = np.uint64(tables.heads.shape[2])
    return int(np.int64(((word * _GOLDEN) >> np.uint64(32)) & (buckets - np.uint64(1))))


@kernel
def link(tables: Tables, tape: Tape, stream: int, at: int) -> None:
    """Adds a tuple at the end of its lists."""
    for key in range(tables.is_linked.shape[1]):
        if not tables.is_linked[stream, key]:
            continue
        bucket = bucket_of(tables, tape.words[at, key])
        tail = tables.tails[stream, key, bucket]
        tables.after[key, at] = NONE
        tables.tails[stream, key, bucket] = at
        if tail == NONE:
            tables.heads[stream, key, bucket] = at
        else:
            tables.after[key, tail] = at


@kernel
def link_all(tables: Tables, tape: Tape, buffers: Buffers) -> None:
    """Adds all buffered tuples that are not gone."""
    for stream in range(len(buffers.head)):
        for at in range(buffers.head[stream], buffers.next[stream]):
            if not tables.gone[at]:
                link(tables, tape, stream, at)


@kernel
def unlink(tables: Tables, stream: int, key: int, bucket: int, at: int, before: int) -> None:
    """Takes a tuple, which follows `before` (NONE: the first), out of a list."""
    following = tables.after[key, at]
    if before == NONE:
        tables.heads[stream, key, bucket] = following
    else:
        tables.after[key, before] = following
    if following == NONE:
        tables.tails[stream, key, bucket] = before


@kernel
def drop(tables: Tables, buffers: Buffers, stream: int, at: int, record: Record) -> None:
    """Marks a tuple as gone; the buffer's head moves on past those that are."""
    work, trace = record
    tables.gone[at] = True
    work[DROPS] += 1
    note(trace, DROP, stream, at)
    head = buffers.head[stream]
    while head < buffers.next[stream] and tables.gone[head]:
        head += 1
    buffers.head[stream] = head


@kernel
def drop_first(
    tables: Tables, tape: Tape, reach: Int64s, coming: Int64s, buffers: Buffers, record: Record
) -> None:
    """Drops from the head of every buffer what nothing to come can meet; lists keep it a while."""
    for stream in range(len(buffers.head)):
        least = horizon(reach, coming, stream)
        head = buffers.head[stream]
        while head < buffers.next[stream] and tape.times[head] < least:
            drop(tables, buffers, stream, head, record)
            head = buffers.head[stream]


@kernel
def update_one_bucket(
    tables: Tables,
    tape: Tape,
    conditions: TupleConditions,
    arrivals: Tuples,
    buffers: Buffers,
    record: Record,
) -> None:
    """Moves the hand on by one bucket, and updates that if it is rarely probed."""
    streams, classes, buckets = tables.heads.shape
    if classes == 0:
        return
    hand = tables.hand[0]
    tables.hand[0] = (hand + 1) % (streams * classes * buckets)
    bucket, table = hand % buckets, hand // buckets
    key, stream = table % classes, table // classes
    if tables.was_probed[stream, key, bucket]:
        tables.was_probed[stream, key, bucket] = False
        return
    least = horizon(conditions.upper, arrivals.coming, stream)
    before, at = NONE, tables.heads[stream, key, bucket]
    while at != NONE:
        record[0][UPDATES] += 1
        if not tables.gone[at] and tape.times[at] < least:
            drop(tables, buffers, stream, at, record)
        if tables.gone[at]:
            unlink(tables, stream, key, bucket, at, before)
        else:
            before = at
        at = tables.after[key, at]
