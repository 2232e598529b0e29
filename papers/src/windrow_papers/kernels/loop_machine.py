"""What machines have in common whose buffers are stretches of the tape, looped over level by level.

A tuple x of stream i goes when no tuple to come can meet it: x + reach[i][j] < coming[j] for all
other j, which is x < horizon(i):

    coming[j]                        ---------|==========>  what stream j may still deliver
    coming[j] - reach[i][j]     ----|                       before it: nothing of j can meet x
    horizon(i)                the least of these, over j
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.bew_period import MOST, minus
from windrow.kernels.jit import kernel
from windrow.kernels.tuple_at_a_time.machine import Move
from windrow.kernels.tuple_at_a_time.tape import (
    DROPS,
    Buffers,
    Int64s,
    Tape,
    TupleConditions,
    next_arrivals,
    no_arrivals,
    no_work,
)
from windrow_papers.kernels.trace import DROP, Record, Trace, note, trace_of


def linked_first(links: NDArray[np.bool_]) -> Int64s:
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


def order_by_keys(conditions: TupleConditions) -> Int64s:
    """Round robin, streams that share a key with those chosen first; they all do in the papers."""
    shared: NDArray[np.bool_] = conditions.keyed @ conditions.keyed.T
    return linked_first(shared)


@kernel
def horizon(reach: Int64s, coming: Int64s, stream: int) -> int:
    """The least time in a stream that a tuple still to come can meet."""
    least = MOST
    for other in range(len(coming)):
        if other != stream:
            least = min(least, minus(coming[other], reach[stream, other]))
    return least


@kernel
def drop_heads(tape: Tape, reach: Int64s, coming: Int64s, buffers: Buffers, record: Record) -> None:
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


class Stack(NamedTuple):
    """The cursors of the loops: level 0 is the new tuple, the last level innermost.

    Attributes:
        level: the level that is being gone through (an array of one); 0: no tuple is joined.
        order: per start stream, the streams by level.
        streams: the streams by level, from that of the new tuple.
        chosen: per level, the tuple chosen.
        cursor: per level, the tuple to look at next.
        low: per level, the first tick of its period.
        high: per level, the last tick of it.
        horizon: per level, the least time that may still be needed in its stream.
    """

    level: Int64s
    order: Int64s
    streams: Int64s
    chosen: Int64s
    cursor: Int64s
    low: Int64s
    high: Int64s
    horizon: Int64s


def stack_for(order: Int64s) -> Stack:
    """A stack at rest."""
    levels = [np.zeros(len(order), np.int64) for _ in range(6)]
    return Stack(np.zeros(1, np.int64), order, *levels)


class LoopMachine:
    """A machine whose loops go through its buffers, level by level.

    `reach` are the bounds by which tuples are dropped: the machine's own, or wider ones.

    Args:
        conditions: the bounds and keys.
        first: where each stream begins on the tape, and after the last where it ends.
        order: per start stream, the streams by level.
        trace: where steps are noted.
    """

    def __init__(
        self, conditions: TupleConditions, first: Int64s, order: Int64s, trace: Trace | None = None
    ) -> None:
        self.conditions = conditions
        self.reach = conditions.upper
        self.buffers = Buffers(first[:-1].copy(), first[:-1].copy())
        self.arrivals = no_arrivals(len(first) - 1)
        self.stack = stack_for(order)
        self.work = no_work()
        self.trace = trace_of() if trace is None else trace

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept beside the tape."""
        return 0

    def adopt(self, tape: Tape, turns: Int64s) -> None:  # noqa: ARG002
        """Takes tuples whose combinations were all given before."""
        self.buffers.next[:] += np.bincount(turns, minlength=len(self.buffers.next))

    def begin(self, tape: Tape, turns: Int64s, coming: Int64s | None = None) -> None:  # noqa: ARG002
        """Hands over the next arrivals."""
        self.arrivals = next_arrivals(self.arrivals, turns, coming)

    def trim(self, tape: Tape, coming: Int64s) -> None:
        """Drops what lies in front of the buffers and nothing to come can meet."""
        drop_heads(tape, self.reach, coming, self.buffers, (self.work, self.trace))

    def heads(self) -> Int64s:
        """Per stream, the first position that is still needed."""
        return self.buffers.head

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions."""
        self.buffers.head[:] += move.shift
        self.buffers.next[:] += move.shift
