"""What algorithms that take a tuple at a time read, and what they hand back.

All tuples that a run sees lie on one tape, stream after stream, each stream in the order in which
its tuples are taken:

    position   0                first[1]          first[2]               first[3]
    tape       [ stream 0 ......| stream 1 .......| stream 2 ............]
                     ^head ^next
                      [----)        the tuples of stream 0 that are buffered now

A join buffer is a stretch of the tape: taking a tuple moves `next` on, dropping the oldest moves
`head` on. An algorithm names a tuple by its position; a combination is one position per stream.

A kernel stops when there is no room for another combination, and goes on when called again, so
that memory is bounded whatever the fan-out. Its loops over streams therefore keep their cursors in
arrays that outlive the call.

Algorithms that answer on arrival take tuples one by one, in order of arrival:

    turns      0 2 1 1 0 ...      the stream of each arrival; its tuple is the stream's next one
    taken          ^              the arrivals joined so far

A tuple goes when no tuple to come can meet it. As published, `coming` is the vector of the newest
time stamps, and streams deliver in time order. A caller that knows better, by a watermark, says so
with the arrivals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.bew_period import LEAST
from windrow.kernels.jit import kernel

Int64s = NDArray[np.int64]


class Tape(NamedTuple):
    """The tuples of all streams.

    Attributes:
        times: event times.
        words: one mixed word per key class; of classes that a stream has no column in, unused.
        first: where each stream begins, and after the last where it ends.
    """

    times: Int64s
    words: NDArray[np.uint64]
    first: Int64s


class TupleConditions(NamedTuple):
    """Which tuples belong together.

    Attributes:
        upper: per ordered pair (i, j) of streams, the largest t(j) - t(i).
        keyed: per stream and key class, whether the stream has a column in it.
    """

    upper: Int64s
    keyed: NDArray[np.bool_]


class FoundCombinations(NamedTuple):
    """Room for combinations, a line each, and how many lines are filled (an array of one)."""

    positions: Int64s
    filled: Int64s


PROBES, TOUCHED, WINDOW_TESTS, KEY_TESTS, DROPS, REFINED, FOUND, UPDATES = range(8)
TIME_TESTS, NARROWINGS = 8, 9
"""The work of a run, an array of numbers that kernels add to.

PROBES        look-ups of one partial combination in one stream's buffer
TOUCHED       buffered tuples that a loop looked at
WINDOW_TESTS  tuples whose time was compared with a period or another tuple's inside a loop
KEY_TESTS     tuples whose key was compared
DROPS         tuples dropped from a buffer
REFINED       combinations that a refining step threw away
FOUND         combinations given
UPDATES       buffered tuples that an update routine looked at, apart from all joining
TIME_TESTS    tuples whose time was compared outside of all loops: swept, admitted or dropped
NARROWINGS    tuples whose time was compared by the searches that narrow the ranges to come for a
              tuple just chosen: between two loops, before the inner one begins
"""


def no_work() -> Int64s:
    """Work as it begins."""
    return np.zeros(NARROWINGS + 1, np.int64)


def room_for(combinations: int, streams: int) -> FoundCombinations:
    """Room for so many combinations."""
    return FoundCombinations(np.empty((combinations, streams), np.int64), np.zeros(1, np.int64))


@kernel
def same_keys(
    tape: Tape, conditions: TupleConditions, stream: int, at: int, other: int, other_at: int
) -> bool:
    """Whether two tuples agree in every key class that both their streams have."""
    for key in range(conditions.keyed.shape[1]):
        shared = conditions.keyed[stream, key] and conditions.keyed[other, key]
        if shared and tape.words[at, key] != tape.words[other_at, key]:
            return False
    return True


class Buffers(NamedTuple):
    """The join buffers: per stream a stretch of the tape, from `head` up to `next`."""

    head: Int64s
    next: Int64s


class Tuples(NamedTuple):
    """The tuples to take.

    Attributes:
        turns: the stream of each.
        taken: how many have been taken (an array of one).
        coming: per stream, the least time that it may still deliver.
        is_ordered: whether `coming` follows the newest time stamps, as published.
    """

    turns: Int64s
    taken: Int64s
    coming: Int64s
    is_ordered: bool


def no_arrivals(streams: int) -> Tuples:
    """Nothing to take, and anything may come."""
    coming = np.full(streams, LEAST, np.int64)
    return Tuples(np.zeros(0, np.int64), np.zeros(1, np.int64), coming, is_ordered=True)


def next_arrivals(before: Tuples, turns: Int64s, coming: Int64s | None) -> Tuples:
    """The arrivals that follow some that are through."""
    if coming is None:
        return Tuples(turns, np.zeros(1, np.int64), before.coming, is_ordered=True)
    return Tuples(turns, np.zeros(1, np.int64), coming, is_ordered=False)
