"""Sweeps as machines: with the buffers that they keep from one arrival to the next.

The streams of a sweep come in time order. Unlike the machines that answer on arrival, a sweep may
wait: a combination comes when every stream's tuples up to the end of its period are there, or
known not to come.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from windrow.kernels.tuple_at_a_time.few import cursors_from, few, with_own_window
from windrow.kernels.tuple_at_a_time.machine import Move
from windrow.kernels.tuple_at_a_time.sweep import (
    IS_BEYOND,
    LEAST_BUCKETS,
    Compared,
    drop_below,
    link_buffered,
    mode_2_along,
    sweep_from,
    take_arrivals,
    with_empty_table,
)
from windrow.kernels.tuple_at_a_time.tape import (
    FoundCombinations,
    Int64s,
    Tape,
    TupleConditions,
    no_work,
)


class SweepMachine(ABC):
    """What the sweeps have in common.

    Args:
        conditions: the closed bounds, and the keys.
        first: where each stream begins on the tape, and after the last where it ends.
        method: "hash" or "nested-loop".
        order: per stream of an admitted tuple, in which order the others are gone through.
        comparisons: of words that are no keys, which the loops test.
    """

    def __init__(
        self,
        conditions: TupleConditions,
        first: Int64s,
        order: Int64s,
        *,
        method: str,
        comparisons: Sequence[Compared] = (),
    ) -> None:
        self.conditions = conditions
        self.sweep = sweep_from(first[:-1])
        self.work = no_work()
        self._mode_2 = mode_2_along(
            order,
            conditions.keyed,
            int(first[-1]),
            hashed=method == "hash",
            comparisons=comparisons,
        )
        self._is_linked = True  # whether the table is that of the buffers as they are

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept beside the tape."""
        return sum(part.nbytes for part in self._mode_2)

    def adopt(self, tape: Tape, turns: Int64s) -> None:
        """Takes tuples whose combinations were all given before."""
        take_arrivals(tape, self.sweep, turns, None)
        self.sweep.taken[:] = self.sweep.arrived
        self.sweep.at[IS_BEYOND] = 1
        self._is_linked = False

    def begin(self, tape: Tape, turns: Int64s, coming: Int64s | None = None) -> None:
        """Hands over the next arrivals; the table grows with what there is."""
        take_arrivals(tape, self.sweep, turns, coming)
        self._link(tape)

    def _link(self, tape: Tape) -> None:
        """Sees to it that the table is that of the buffers, and large enough for what arrived."""
        most = int((self.sweep.arrived - self.sweep.head).max())
        buckets = max(LEAST_BUCKETS, 1 << most.bit_length())
        if self._is_linked and buckets <= self._mode_2.oldest.shape[2]:
            return
        self._mode_2 = with_empty_table(self._mode_2, buckets, len(tape.times))
        link_buffered(tape, self._mode_2, self.sweep)
        self._is_linked = True

    @abstractmethod
    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether it waits for more tuples."""

    def heads(self) -> Int64s:
        """Per stream, the first position that is still needed."""
        return self.sweep.head

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions."""
        for positions in (self.sweep.head, self.sweep.taken, self.sweep.arrived):
            positions[...] += move.shift
        self._is_linked = False

    def drop_below(self, tape: Tape, bounds: Int64s) -> None:
        """Drops the tuples of each stream that are older than its bound."""
        self._link(tape)
        drop_below(tape, self.sweep, self._mode_2, bounds, self.work)


class FewMachine(SweepMachine):
    """FEW-join."""

    def __init__(
        self,
        conditions: TupleConditions,
        first: Int64s,
        order: Int64s,
        *,
        method: str = "nested-loop",
        comparisons: Sequence[Compared] = (),
    ) -> None:
        own = with_own_window(conditions)
        super().__init__(own, first, order, method=method, comparisons=comparisons)
        self.cursors = cursors_from(first[:-1])

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether it waits for more tuples."""
        return few(tape, self.conditions, self.sweep, self.cursors, self._mode_2, found, self.work)

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions."""
        super().moved(move)
        for positions in self.cursors:
            positions[...] += move.shift
