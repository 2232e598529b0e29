"""Machines: algorithms with the buffers that they keep from one arrival to the next.

A machine is handed arrivals, and asked for combinations block by block; each combination comes in
the turn of its last tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.tuple_at_a_time.tape import (
    Buffers,
    FoundCombinations,
    Int64s,
    Tape,
    Trace,
    TupleConditions,
    drop_heads,
    next_arrivals,
    no_arrivals,
    no_work,
    trace_of,
)

Item = TypeVar("Item", bound=np.generic)

PartialTest = Callable[[Sequence[int], Int64s], Int64s]
"""Given inputs, the last one new, and positions of theirs: the combinations to go on with."""


class Machine(Protocol):
    """An algorithm with the buffers that it keeps between arrivals.

    Tuples are appended to the tape by the caller, who then says whose turn it is: `begin`, and
    `fill` until it is through. Positions on the tape stay the same in between.

    Attributes:
        work: what was done since the beginning, as `tape.py` lists it.
    """

    work: Int64s

    def adopt(self, tape: Tape, turns: Int64s) -> None:
        """Takes tuples as they arrived, in time order, whose combinations were all given before."""

    def begin(self, tape: Tape, turns: Int64s, coming: Int64s | None = None) -> None:
        """Hands over the next arrivals, the ones before being through.

        Args:
            tape: where the tuples are.
            turns: their streams, in order of arrival.
            coming: per stream, the least time that it may deliver after these arrivals began;
                None: each delivers in time order, and its newest tuple says.
        """

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether all arrivals are through."""

    def heads(self) -> Int64s:
        """Per stream, the first position that is still needed."""

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions."""


def blocks(machine: Machine, tape: Tape, found: FoundCombinations) -> Iterator[Int64s]:
    """The combinations of the arrivals just handed over; a block is overwritten by the next."""
    is_through = False
    while not is_through:
        found.filled[0] = 0
        is_through = machine.fill(tape, found)
        yield found.positions[: found.filled[0]]


class ArrivalMachine(Machine, Protocol):
    """A machine that drops tuples as it meets them, and may not come by for long."""

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept beside the tape."""

    def trim(self, tape: Tape, coming: Int64s) -> None:
        """Drops what lies in front of the buffers and nothing to come can meet.

        Asked for when tuples are about to be moved, so that the room they take stays bounded. A
        machine that cleans its buffers at times of its own may let it pass.
        """


@runtime_checkable
class PipelinedMachine(ArrivalMachine, Protocol):
    """A machine that keeps partial combinations, and lets go of them with their tuples."""

    @property
    def intermediate(self) -> int:
        """How many partial combinations are held."""

    def test_with(self, test: PartialTest) -> None:
        """Has partial combinations tested as they are made."""


@dataclass(frozen=True)
class Move:
    """How the tuples of a tape were moved, those before `start` being gone.

    Attributes:
        start: per stream, the first position kept.
        stop: per stream, the position after its last tuple.
        shift: per stream, what is added to its positions.
        size: the positions there are now.
    """

    start: Int64s
    stop: Int64s
    shift: Int64s
    size: int

    def entries(self, before: NDArray[Item], empty: int) -> NDArray[Item]:
        """An array with a line per position, the lines where their tuples are now."""
        after = np.full((self.size, *before.shape[1:]), empty, before.dtype)
        for start, stop, shift in zip(self.start, self.stop, self.shift, strict=True):
            after[start + shift : stop + shift] = before[start:stop]
        return after


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
    """What machines have in common whose buffers are stretches of the tape, looped over by level.

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
