"""Stand-ins for algorithms: every pair of two streams; one that forgets a result."""

from __future__ import annotations

import numpy as np

from windrow.kernels.tuple_at_a_time.tape import (
    FOUND,
    KEY_TESTS,
    PROBES,
    TOUCHED,
    WINDOW_TESTS,
    no_work,
)
from windrow_papers.experiments.contest import BEW, Algorithm


class EveryPair:
    """Joins each new tuple with all of the other stream's, by plain loops."""

    def __init__(self, join, tape) -> None:
        self.work = no_work()
        self._upper = join.closed
        self._next = tape.first[:-1].copy()
        self._first = tape.first[:-1].copy()
        self._turns = []

    def begin(self, tape, turns, coming=None):  # noqa: ARG002
        self._turns = turns.tolist()

    def fill(self, tape, found):  # noqa: ARG002
        for stream in self._turns:
            at, other = self._next[stream], 1 - stream
            self._next[stream] += 1
            self.work[PROBES] += 1
            for met in range(self._first[other], self._next[other]):
                gap = tape.times[met] - tape.times[at]
                is_in = -self._upper[other, stream] <= gap <= self._upper[stream, other]
                is_equal = tape.words[met, 0] == tape.words[at, 0]
                counted = [TOUCHED, WINDOW_TESTS, KEY_TESTS]
                self.work[counted] += 1
                self.work[FOUND] += np.int64(is_in and is_equal)
        return True


EVERY_PAIR = Algorithm("every pair", EveryPair)


def forgetful(make):
    """The same machine, that forgets one combination."""

    def made(join, tape):
        machine = make(join, tape)
        fill, forgotten = machine.fill, []

        def filled(tape, found):
            is_through = fill(tape, found)
            if not forgotten:
                forgotten.append(1)
                machine.work[FOUND] -= 1
            return is_through

        machine.fill = filled
        return machine

    return made


FORGETFUL = Algorithm("forgetful", forgetful(BEW.make))
