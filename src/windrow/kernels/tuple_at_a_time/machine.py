"""Machines: algorithms with the buffers that they keep from one arrival to the next.

A machine is handed arrivals, and asked for combinations block by block; each combination comes in
the turn of its last tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.tuple_at_a_time.tape import FoundCombinations, Int64s, Tape

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
