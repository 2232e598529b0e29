"""A pipeline of window joins as a machine: arrivals from a tape, combinations in blocks.

Once a tuple has been taken the pipeline holds its time stamp and words itself, alone and in every
m-tuple that it is part of; the tape only says what its position means.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windrow.kernels.tuple_at_a_time.levels import Arrivals, Keep, Pipeline, Plan
from windrow.kernels.tuple_at_a_time.machine import Move, PartialTest
from windrow.kernels.tuple_at_a_time.pipeline import Entries
from windrow.kernels.tuple_at_a_time.tape import Found, Numbers, Tape, Trace


class PipelineMachine:
    """A left-deep pipeline; a `machine.PipelinedMachine`.

    Args:
        plan: what is joined and how.
        first: where each stream begins on the tape.
        trace: what was done, step by step.

    Attributes:
        work: what was done since the beginning.
        keep: which m-tuples may climb; None: all.
    """

    def __init__(self, plan: Plan, first: Numbers, trace: Trace | None = None) -> None:
        self.keep: Keep | None = None
        self._plan = plan
        self._pipeline = Pipeline(plan, trace)
        self.work = self._pipeline.work
        self._next = first[: len(plan.order)].copy()
        self._results: Iterator[Entries] = iter(())
        self._waiting = np.empty((0, len(plan.order)), np.int64)

    @property
    def intermediate(self) -> int:
        """How many m-tuples of two streams or more are held."""
        return self._pipeline.intermediate

    @property
    def nbytes(self) -> int:
        """Bytes of all that is held."""
        return self._pipeline.nbytes

    def test_with(self, test: PartialTest) -> None:
        """Lets only those m-tuples climb that a test picks."""
        order = self._plan.order
        self.keep = lambda streams, found: test(order[:streams], found.places)

    def adopt(self, tape: Tape, turns: Numbers) -> None:
        """Takes tuples whose combinations were all given before: builds their m-tuples anew."""
        anything = np.full(len(self._plan.order), np.iinfo(np.int64).min, np.int64)
        arrivals = self._taken(tape, turns)
        for _ in self._pipeline.feed(arrivals, anything, keep=self.keep, is_replay=True):
            pass  # the last level stores and gives nothing

    def begin(self, tape: Tape, turns: Numbers, coming: Numbers | None = None) -> None:
        """Hands over the next arrivals."""
        self._results = self._pipeline.feed(self._taken(tape, turns), coming, keep=self.keep)

    def fill(self, tape: Tape, found: Found) -> bool:  # noqa: ARG002  (the protocol's)
        """Adds combinations while there is room; whether all arrivals are through."""
        while found.filled[0] < len(found.positions):
            if not len(self._waiting):
                block = next(self._results, None)
                if block is None:
                    self._waiting = np.empty((0, len(self._plan.order)), np.int64)
                    return True
                self._waiting = self._in_stream_order(block)
            start = int(found.filled[0])
            given = self._waiting[: len(found.positions) - start]
            found.positions[start : start + len(given)] = given
            found.filled[0] = start + len(given)
            self._waiting = self._waiting[len(given) :]
        return False

    def trim(self, tape: Tape, coming: Numbers) -> None:  # noqa: ARG002  (the protocol's)
        """Lets go of the tuples and m-tuples that nothing to come can meet."""
        self._pipeline.drop(coming)

    def heads(self) -> Numbers:
        """Per stream, the first position that is still needed."""
        return self._pipeline.least_places(self._next)

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions."""
        self._pipeline.move(move.shift)
        self._next = self._next + move.shift

    def _taken(self, tape: Tape, turns: Numbers) -> Arrivals:
        """The tuples of the next turns, read from the tape."""
        positions = np.empty(len(turns), np.int64)
        for stream in range(len(self._next)):
            own = np.flatnonzero(turns == stream)
            positions[own] = self._next[stream] + np.arange(len(own))
            self._next[stream] += len(own)
        return Arrivals(turns, positions, tape.times[positions], tape.words[positions])

    def _in_stream_order(self, block: Entries) -> Numbers:
        """The places of combinations, a column per stream as the query numbers them."""
        positions = np.empty_like(block.places)
        positions[:, list(self._plan.order)] = block.places
        return positions
