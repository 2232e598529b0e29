"""Algorithms that answer on arrival: tuples are taken one by one, in order of arrival.

    turns      0 2 1 1 0 ...      the stream of each arrival; its tuple is the stream's next one
    taken          ^              the arrivals joined so far

What these algorithms have in common: what they are handed, which streams come in which order, and
when a tuple goes. The steps of their loops are in `level_loops.py`, the loops in each algorithm's
module.

A tuple x of stream i goes when no tuple to come can meet it: x + reach[i][j] < coming[j] for all
other j, which is x < horizon(i):

    coming[j]                        ---------|==========>  what stream j may still deliver
    coming[j] - reach[i][j]     ----|                       before it: nothing of j can meet x
    horizon(i)                the least of these, over j

As published, `coming` is the vector of the newest time stamps, and streams deliver in time order.
A caller that knows better, by a watermark, says so with the arrivals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.bew_period import LEAST, MOST, minus
from windrow.kernels.jit import kernel
from windrow.kernels.tuple_at_a_time.tape import DROP, DROPS, Conditions, Numbers, Tape, Trace, note

Record = tuple[Numbers, Trace]
"""Where a kernel counts its work, and notes its steps."""


class Buffers(NamedTuple):
    """The join buffers: per stream a stretch of the tape, from `head` up to `next`."""

    head: Numbers
    next: Numbers


class Arrivals(NamedTuple):
    """The tuples to take.

    Attributes:
        turns: the stream of each.
        taken: how many have been taken (an array of one).
        coming: per stream, the least time that it may still deliver.
        is_ordered: whether `coming` follows the newest time stamps, as published.
    """

    turns: Numbers
    taken: Numbers
    coming: Numbers
    is_ordered: bool


def linked_first(links: NDArray[np.bool_]) -> Numbers:
    """Per start stream s the order s, s + 1, s + 2 and so on, linked streams first.

    That is round robin among the streams that a link joins to those chosen before; where there
    are none, among all that are left.

    Args:
        links: per pair of streams, whether they are linked.
    """
    size = len(links)
    lines = []
    for start in range(size):
        chosen, rest = [start], [(start + n) % size for n in range(1, size)]
        while rest:
            linked = [stream for stream in rest if links[chosen, stream].any()]
            stream = (linked or rest)[0]
            chosen.append(stream)
            rest.remove(stream)
        lines.append(chosen)
    return np.array(lines, np.int64)


def order_by_keys(conditions: Conditions) -> Numbers:
    """Round robin, streams that share a key with those chosen first; they all do in the papers."""
    shared: NDArray[np.bool_] = conditions.keyed @ conditions.keyed.T
    return linked_first(shared)


def no_arrivals(streams: int) -> Arrivals:
    """Nothing to take, and anything may come."""
    coming = np.full(streams, LEAST, np.int64)
    return Arrivals(np.zeros(0, np.int64), np.zeros(1, np.int64), coming, is_ordered=True)


def next_arrivals(before: Arrivals, turns: Numbers, coming: Numbers | None) -> Arrivals:
    """The arrivals that follow some that are through."""
    if coming is None:
        return Arrivals(turns, np.zeros(1, np.int64), before.coming, is_ordered=True)
    return Arrivals(turns, np.zeros(1, np.int64), coming, is_ordered=False)


@kernel
def horizon(reach: Numbers, coming: Numbers, stream: int) -> int:
    """The least time in a stream that a tuple still to come can meet."""
    least = MOST
    for other in range(len(coming)):
        if other != stream:
            least = min(least, minus(coming[other], reach[stream, other]))
    return least


@kernel
def drop_heads(
    tape: Tape, reach: Numbers, coming: Numbers, buffers: Buffers, record: Record
) -> None:
    """Drops from the head of every buffer what nothing to come can meet."""
    work, trace = record
    for stream in range(len(buffers.head)):
        least = horizon(reach, coming, stream)
        at = buffers.head[stream]
        while at < buffers.next[stream] and tape.times[at] < least:
            work[DROPS] += 1
            note(trace, DROP, stream, at)
            at += 1
        buffers.head[stream] = at
