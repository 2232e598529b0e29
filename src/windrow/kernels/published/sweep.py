"""What the two-mode sweeps keep: their buffers, their hash table, and where their loops stand.

    stream j      head            taken               arrived
                   [== buffered ==|== not admitted ==)
                    ^ its oldest tuple, which mode 1 looks at

The hash table keeps its tuples in order of arrival: a doubly linked list within each bucket, and
one through all tuples of a stream, which is the tape itself. So the oldest tuple of a stream is
the oldest of its bucket too: mode 1 drops along the tape, and takes it from the bucket's end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels._jit import kernel
from windrow.kernels.bew_period import LEAST
from windrow.kernels.published.tape import (
    ADMIT,
    DROP,
    DROPS,
    FOUND,
    KEY_TESTS,
    OUTPUT,
    TIME_TESTS,
    Found,
    Numbers,
    Tape,
    Trace,
    note,
)

NONE = -1

Record = tuple[Numbers, Trace]
"""The work done, and what was done step by step."""


class Sweep(NamedTuple):
    """Where a sweep stands, kept between calls; positions are those of the tape.

    Attributes:
        head: per stream, its oldest tuple.
        taken: per stream, the position after the last admitted; the buffer is head to taken.
        arrived: per stream, the position after the last that there is.
        coming: per stream, the least time that may still arrive.
        doomed: per stream, whether its oldest tuple was found too old for another stream's.
        ends: per stream, the last tick of its period in mode 2.
        at: TURN and CHAIN.
    """

    head: Numbers
    taken: Numbers
    arrived: Numbers
    coming: Numbers
    doomed: NDArray[np.bool_]
    ends: Numbers
    at: Numbers


TURN, CHAIN = range(2)
"""The stream whose turn it is; how many just before it agree: all of them in mode 2."""


class Routes(NamedTuple):
    """In which order an admitted tuple meets the other streams, and by which keys.

    Attributes:
        order: per stream of the admitted tuple, all streams as they are chosen, itself first.
        sources: per admitted stream, depth and key class, the stream chosen before that gives the
            word; NONE where the class does not count there.
        probed: per admitted stream and depth, the class whose buckets are probed; NONE: a scan.
    """

    order: Numbers
    sources: Numbers
    probed: Numbers


class Table(NamedTuple):
    """The buckets of all streams by each key class; of no class where loops only scan.

    Attributes:
        keyed: per stream and key class, whether the stream has a column in it.
        oldest: per stream, class and bucket, the position of its oldest tuple, or NONE.
        newest: likewise the newest.
        older: per position and class, the tuple before it in its bucket, or NONE.
        newer: likewise the tuple after it.
    """

    keyed: NDArray[np.bool_]
    oldest: Numbers
    newest: Numbers
    older: Numbers
    newer: Numbers


class Loops(NamedTuple):
    """Where the loops of mode 2 stand, kept between calls.

    Attributes:
        chosen: per stream, the tuple chosen.
        cursor: per depth, the tuple to look at next; NONE at the end.
        low: per depth and stream, the first position of the range that a loop goes through; line 0
            is as the tuple was admitted.
        high: likewise the position after the last.
        at: START, DEPTH and IS_NARROWED.
    """

    chosen: Numbers
    cursor: Numbers
    low: Numbers
    high: Numbers
    at: Numbers


START, DEPTH, IS_NARROWED = range(3)
"""The admitted tuple's stream; the loop under way, 0 for none; whether ranges are narrowed."""


class Mode2(NamedTuple):
    """All that mode 2 goes by."""

    routes: Routes
    table: Table
    loops: Loops


def sweep_from(positions: Numbers) -> Sweep:
    """A sweep over streams that begin at the given positions, with no tuple yet."""
    streams = len(positions)
    return Sweep(
        head=positions.copy(),
        taken=positions.copy(),
        arrived=positions.copy(),
        coming=np.full(streams, LEAST, np.int64),
        doomed=np.zeros(streams, np.bool_),
        ends=np.zeros(streams, np.int64),
        at=np.zeros(2, np.int64),
    )


def routes_along(order: Numbers, keyed: NDArray[np.bool_], *, hashed: bool) -> Routes:
    """The routes through the streams in given orders, a line per stream that begins."""
    streams, classes = keyed.shape
    sources = np.full((streams, streams, classes), NONE, np.int64)
    probed = np.full((streams, streams), NONE, np.int64)
    for start, line in enumerate(order):
        for depth in range(1, streams):
            for key in np.flatnonzero(keyed[line[depth]]):
                before = line[:depth][keyed[line[:depth], key]]
                if len(before):
                    sources[start, depth, key] = before[0]
            shared = np.flatnonzero(sources[start, depth] != NONE)
            if hashed and len(shared):
                probed[start, depth] = shared[0]
    return Routes(order, sources, probed)


def empty_table(keyed: NDArray[np.bool_], buckets: int, positions: int) -> Table:
    """A table without tuples, for a tape of so many positions; buckets are a power of two."""
    streams, classes = keyed.shape
    ends, links = (streams, classes, buckets), (positions, classes)
    return Table(
        keyed,
        np.full(ends, NONE, np.int64),
        np.full(ends, NONE, np.int64),
        np.full(links, NONE, np.int64),
        np.full(links, NONE, np.int64),
    )


def no_loops(streams: int) -> Loops:
    """Loops before the first tuple is admitted."""
    ranges = (streams, streams)
    return Loops(
        chosen=np.zeros(streams, np.int64),
        cursor=np.zeros(streams, np.int64),
        low=np.zeros(ranges, np.int64),
        high=np.zeros(ranges, np.int64),
        at=np.zeros(3, np.int64),
    )


@kernel
def next_time(tape: Tape, sweep: Sweep, stream: int) -> int:
    """The least time of a tuple of a stream that is still to be admitted."""
    at = sweep.taken[stream]
    if at < sweep.arrived[stream]:
        return int(tape.times[at])
    return int(sweep.coming[stream])


@kernel
def next_in_period(tape: Tape, sweep: Sweep, record: Record) -> int:
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
        record[0][TIME_TESTS] += 1
        if tape.times[at] <= sweep.ends[stream]:
            sweep.at[TURN] = (stream + 1) % streams
            return int(stream)
    return NONE


@kernel
def admit(tape: Tape, sweep: Sweep, table: Table, stream: int, record: Record) -> int:
    """Puts a stream's next tuple into its buffer; gives its position."""
    at = sweep.taken[stream]
    sweep.taken[stream] = at + 1
    link(tape, table, stream, at)
    note(record[1], ADMIT, stream, at)
    return int(at)


@kernel
def drop_oldest(tape: Tape, sweep: Sweep, table: Table, stream: int, record: Record) -> None:
    """Drops the oldest tuple of a stream, admitted or not."""
    at = sweep.head[stream]
    if at < sweep.taken[stream]:
        unlink(tape, table, stream, at)
    else:
        sweep.taken[stream] = at + 1
    sweep.head[stream] = at + 1
    sweep.doomed[stream] = False
    record[0][DROPS] += 1
    note(record[1], DROP, stream, at)


@kernel
def drop_below(tape: Tape, sweep: Sweep, table: Table, bounds: Numbers, record: Record) -> None:
    """Drops the tuples of each stream that are older than its bound; mode 1 is next."""
    for stream in range(len(sweep.head)):
        while sweep.head[stream] < sweep.arrived[stream]:
            if tape.times[sweep.head[stream]] >= bounds[stream]:
                break
            drop_oldest(tape, sweep, table, stream, record)
            sweep.at[TURN] = sweep.at[CHAIN] = 0


@kernel
def link(tape: Tape, table: Table, stream: int, at: int) -> None:
    """Appends an admitted tuple to its bucket of each class."""
    for key in range(table.oldest.shape[1]):
        if not table.keyed[stream, key]:
            continue
        bucket = bucket_of(table, tape.words[at, key])
        last = table.newest[stream, key, bucket]
        table.older[at, key], table.newer[at, key] = last, NONE
        if last == NONE:
            table.oldest[stream, key, bucket] = at
        else:
            table.newer[last, key] = at
        table.newest[stream, key, bucket] = at


@kernel
def unlink(tape: Tape, table: Table, stream: int, at: int) -> None:
    """Takes the oldest tuple of a stream out of its buckets, in each of which it is the oldest."""
    for key in range(table.oldest.shape[1]):
        if not table.keyed[stream, key]:
            continue
        bucket = bucket_of(table, tape.words[at, key])
        following = table.newer[at, key]
        table.oldest[stream, key, bucket] = following
        if following == NONE:
            table.newest[stream, key, bucket] = NONE
        else:
            table.older[following, key] = NONE


@kernel
def link_buffered(tape: Tape, table: Table, sweep: Sweep) -> None:
    """Fills an empty table with all that is buffered."""
    for stream in range(len(sweep.head)):
        for at in range(sweep.head[stream], sweep.taken[stream]):
            link(tape, table, stream, at)


@kernel
def bucket_of(table: Table, word: np.uint64) -> int:
    """The bucket of a word, which is mixed already."""
    return int(word & np.uint64(table.oldest.shape[2] - 1))


@kernel
def newest_in_range(tape: Tape, mode_2: Mode2, line: int, depth: int) -> int:
    """The newest tuple that a loop goes through: of the range, or of the bucket within it."""
    routes, table, loops = mode_2.routes, mode_2.table, mode_2.loops
    start = loops.at[START]
    stream, key = routes.order[start, depth], routes.probed[start, depth]
    if key == NONE:
        return int(loops.high[line, stream] - 1)
    word = tape.words[loops.chosen[routes.sources[start, depth, key]], key]
    at = table.newest[stream, key, bucket_of(table, word)]
    while at >= loops.high[line, stream]:
        at = table.older[at, key]
    return int(at)


@kernel
def matches(tape: Tape, mode_2: Mode2, depth: int, at: int, record: Record) -> bool:
    """Whether a tuple agrees with those chosen in every key class that counts at this depth."""
    sources, loops = mode_2.routes.sources, mode_2.loops
    is_tested = False
    for key in range(sources.shape[2]):
        source = sources[loops.at[START], depth, key]
        if source == NONE:
            continue
        if not is_tested:
            is_tested = True
            record[0][KEY_TESTS] += 1
        if tape.words[at, key] != tape.words[loops.chosen[source], key]:
            return False
    return True


@kernel
def give(loops: Loops, found: Found, record: Record) -> None:
    """Writes the tuples chosen as a combination; there is room."""
    line = found.filled[0]
    found.positions[line] = loops.chosen
    found.filled[0] = line + 1
    note(record[1], OUTPUT, -1, record[0][FOUND])
    record[0][FOUND] += 1


def take_arrivals(tape: Tape, sweep: Sweep, turns: Numbers, coming: Numbers | None) -> None:
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
