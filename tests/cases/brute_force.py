"""An algorithm of window joins as another package would add it: every combination is tried.

In one file: what there is to know of it, and the machine that an operator of Windrow's drives.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from windrow import extend
from windrow.extend import ARRIVAL, ARRIVAL_JOIN, NESTED_LOOP
from windrow.kernels.tuple_at_a_time.machine import Move
from windrow.kernels.tuple_at_a_time.tape import (
    FOUND,
    FoundCombinations,
    Int64s,
    Tape,
    TupleConditions,
    no_work,
)
from windrow.operators.joins.tuple_at_a_time.machines import conditions_of
from windrow.physical.nodes.time_join import TimeJoin

extend.algorithm(
    "brute-force",
    extend.Algorithm(
        "Brute force",
        "a new tuple is tried with every combination of all others",
        ARRIVAL,
        (NESTED_LOOP,),
        ARRIVAL_JOIN,
        "cases.brute_force:machine",
    ),
)


class BruteForce:
    """Holds every tuple that it was handed, until it is told that nothing can meet it."""

    nbytes = 0

    def __init__(self, conditions: TupleConditions, first: Int64s) -> None:
        self.work = no_work()
        self._conditions = conditions
        self._heads, self._next = first[:-1].copy(), first[:-1].copy()
        self._found: Iterator[tuple[int, ...]] = iter(())

    def adopt(self, tape: Tape, turns: Int64s) -> None:  # noqa: ARG002
        self._next += np.bincount(turns, minlength=len(self._next))

    def begin(self, tape: Tape, turns: Int64s, coming: Int64s | None = None) -> None:  # noqa: ARG002
        self._found = self._combinations(tape, turns)

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:  # noqa: ARG002
        while found.filled[0] < len(found.positions):
            line = next(self._found, None)
            if line is None:
                return True
            found.positions[found.filled[0]] = line
            found.filled[0] += 1
            self.work[FOUND] += 1
        return False

    def trim(self, tape: Tape, coming: Int64s) -> None:
        reach = self._conditions.upper.max(axis=1)
        for stream, (head, end) in enumerate(zip(self._heads, self._next, strict=True)):
            old = tape.times[head:end] + reach[stream] < coming.min()
            self._heads[stream] += len(old) if old.all() else old.argmin()

    def heads(self) -> Int64s:
        return self._heads

    def moved(self, move: Move) -> None:
        self._heads += move.shift
        self._next += move.shift

    def _combinations(self, tape: Tape, turns: Int64s) -> Iterator[tuple[int, ...]]:
        for stream in turns.tolist():
            new = int(self._next[stream])
            self._next[stream] += 1
            held = [range(head, end) for head, end in zip(self._heads, self._next, strict=True)]
            held[stream] = range(new, new + 1)
            yield from (chosen for chosen in product(*held) if self._belong(tape, chosen))

    def _belong(self, tape: Tape, chosen: tuple[int, ...]) -> bool:
        upper, keyed = self._conditions
        times, words = tape.times[list(chosen)], tape.words[list(chosen)]
        are_near = (times[None, :] - times[:, None] <= upper)[~np.eye(len(times), dtype=bool)]
        return bool(are_near.all()) and all(
            len(np.unique(words[keyed[:, key], key])) <= 1 for key in range(keyed.shape[1])
        )


def machine(node: TimeJoin, first: Int64s) -> BruteForce:
    """Made where the join runs."""
    return BruteForce(conditions_of(node), first)
