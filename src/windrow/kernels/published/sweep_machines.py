"""FEW, GCA and LCA as machines: with the buffers that they keep from one arrival to the next.

The streams of a sweep come in time order. Unlike the machines that answer on arrival, a sweep may
wait: a combination comes when every stream's tuples up to the end of its period are there, or
known not to come.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from windrow.kernels.bew_period import MOST
from windrow.kernels.published.arrival import order_by_keys
from windrow.kernels.published.conservative import Windows, gca, lca, windows_of
from windrow.kernels.published.few import cursors_from, few, with_own_window
from windrow.kernels.published.machine import Machine, Move, blocks
from windrow.kernels.published.runs import ROOM, Run, filled_blocks, run_of
from windrow.kernels.published.sweep import (
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
from windrow.kernels.published.tape import (
    Conditions,
    Found,
    Numbers,
    Tape,
    Trace,
    no_work,
    room_for,
    trace_of,
)


class SweepMachine(ABC):
    """What the sweeps have in common.

    Args:
        conditions: the closed bounds, and the keys.
        first: where each stream begins on the tape, and after the last where it ends.
        method: "hash" or "nested-loop".
        trace: where steps are noted.
        order: per stream of an admitted tuple, in which order the others are gone through; None:
            round robin, along the keys.
        comparisons: of words that are no keys, which the loops test.
    """

    def __init__(
        self,
        conditions: Conditions,
        first: Numbers,
        *,
        method: str,
        trace: Trace | None = None,
        order: Numbers | None = None,
        comparisons: Sequence[Compared] = (),
    ) -> None:
        self.conditions = conditions
        self.sweep = sweep_from(first[:-1])
        self.work = no_work()
        self.trace = trace_of() if trace is None else trace
        self._mode_2 = mode_2_along(
            order_by_keys(conditions) if order is None else order,
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

    def adopt(self, tape: Tape, turns: Numbers) -> None:
        """Takes tuples whose combinations were all given before."""
        take_arrivals(tape, self.sweep, turns, None)
        self.sweep.taken[:] = self.sweep.arrived
        self.sweep.at[IS_BEYOND] = 1
        self._is_linked = False

    def begin(self, tape: Tape, turns: Numbers, coming: Numbers | None = None) -> None:
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
    def fill(self, tape: Tape, found: Found) -> bool:
        """Adds combinations while there is room; whether it waits for more tuples."""

    def heads(self) -> Numbers:
        """Per stream, the first position that is still needed."""
        return self.sweep.head

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions."""
        for positions in (self.sweep.head, self.sweep.taken, self.sweep.arrived):
            positions[...] += move.shift
        self._is_linked = False

    def drop_below(self, tape: Tape, bounds: Numbers) -> None:
        """Drops the tuples of each stream that are older than its bound."""
        self._link(tape)
        record = (self.work, self.trace)
        drop_below(tape, self.sweep, self._mode_2, bounds, record)


class FewMachine(SweepMachine):
    """FEW-join."""

    def __init__(
        self,
        conditions: Conditions,
        first: Numbers,
        *,
        method: str = "nested-loop",
        trace: Trace | None = None,
        order: Numbers | None = None,
        comparisons: Sequence[Compared] = (),
    ) -> None:
        super().__init__(
            with_own_window(conditions), first, method=method, trace=trace, order=order,
            comparisons=comparisons,
        )  # fmt: skip
        self.cursors = cursors_from(first[:-1])

    def fill(self, tape: Tape, found: Found) -> bool:
        """Adds combinations while there is room; whether it waits for more tuples."""
        record = (self.work, self.trace)
        return few(tape, self.conditions, self.sweep, self.cursors, self._mode_2, found, record)

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions."""
        super().moved(move)
        for positions in self.cursors:
            positions[...] += move.shift


class ConservativeMachine(SweepMachine):
    """Filter and refine.

    `stated` are the bounds that are tested in the end, MOST for none; or several sets of bounds, of
    which a combination must meet one.
    """

    def __init__(
        self,
        conditions: Conditions,
        stated: Numbers,
        first: Numbers,
        *,
        method: str = "nested-loop",
        trace: Trace | None = None,
    ) -> None:
        super().__init__(conditions, first, method=method, trace=trace)
        self.windows: Windows = windows_of(conditions.upper, stated)


class GcaMachine(ConservativeMachine):
    """The global conservative approach: the largest window for all."""

    def fill(self, tape: Tape, found: Found) -> bool:
        """Adds combinations while there is room; whether it waits for more tuples."""
        record = (self.work, self.trace)
        return gca(tape, self.windows, self.sweep, self._mode_2, found, record)


class LcaMachine(ConservativeMachine):
    """The local conservative approach: the largest window of each stream."""

    def fill(self, tape: Tape, found: Found) -> bool:
        """Adds combinations while there is room; whether it waits for more tuples."""
        record = (self.work, self.trace)
        return lca(tape, self.windows, self.sweep, self._mode_2, found, record)


def run_few(
    tape: Tape,
    conditions: Conditions,
    turns: Numbers,
    *,
    method: str = "nested-loop",
    trace: Trace | None = None,
) -> Run:
    """FEW-join, by "nested-loop" or "hash"; the bounds are closed."""
    machine = FewMachine(conditions, tape.first, method=method, trace=trace)
    return _run(machine, tape, turns)


def run_gca(
    tape: Tape,
    conditions: Conditions,
    turns: Numbers,
    *,
    stated: Numbers,
    method: str = "nested-loop",
    trace: Trace | None = None,
) -> Run:
    """Filter with one window, and refine.

    Args:
        tape: the tuples.
        conditions: the closed bounds, and the keys.
        turns: the streams in order of arrival.
        stated: the bounds as stated, MOST for none; or several sets of them.
        method: "nested-loop" or "hash".
        trace: where steps are noted.
    """
    machine = GcaMachine(conditions, stated, tape.first, method=method, trace=trace)
    return _run(machine, tape, turns)


def run_lca(
    tape: Tape,
    conditions: Conditions,
    turns: Numbers,
    *,
    stated: Numbers,
    method: str = "nested-loop",
    trace: Trace | None = None,
) -> Run:
    """Filter with a window per stream, and refine; the arguments are those of `run_gca`."""
    machine = LcaMachine(conditions, stated, tape.first, method=method, trace=trace)
    return _run(machine, tape, turns)


def _run(machine: Machine, tape: Tape, turns: Numbers) -> Run:
    """Lets a sweep take all arrivals, and then know that no more will come."""
    found = list(filled_blocks(machine, tape, turns))
    return run_of(machine, tape, found + last_blocks(machine, tape))


def last_blocks(machine: Machine, tape: Tape, *, room: int = ROOM) -> list[Numbers]:
    """What a sweep still gives once every stream has ended, in blocks."""
    streams = len(tape.first) - 1
    machine.begin(tape, np.zeros(0, np.int64), np.full(streams, MOST, np.int64))
    return [block.copy() for block in blocks(machine, tape, room_for(room, streams))]
