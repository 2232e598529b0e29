"""The current best pairs of both sides, as large as they need to be, and pairs already given.

In a full join a pair is given when it is first proven best for either of its tuples. What was given
for one is noted until the other is finished.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from windrow_papers.kernels.matwin.best import (
    FIRST,
    FREE,
    GONE,
    ROOM,
    STOP,
    Best,
    least_above,
    take_finished,
)

if TYPE_CHECKING:
    from windrow.kernels.epsilon_grid import Int64s

_LEAST_RING = 64
"""Tuples that there is room for at first; a power of two, as every size of a ring."""


class BestPairs:
    """The tuples alive of one stream, and the best pairs of each.

    Args:
        dimensions: distances of a pair.
    """

    def __init__(self, dimensions: int) -> None:
        self.best = Best(
            np.full(_LEAST_RING, GONE),
            np.full(_LEAST_RING, -1),
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty((0, dimensions), np.int64),
            np.array([-1, 0, 0, 0]),
        )

    def enter(self, number: int, y1: int) -> None:
        """A tuple of the stream; GONE as its y1 where it is of no use."""
        state = self.best.state
        if number - int(state[FIRST]) >= len(self.best.head):
            self._widen()
        slot = number & (len(self.best.head) - 1)
        self.best.y1[slot] = y1
        self.best.head[slot] = -1
        state[STOP] = number + 1

    def have_room(self, pairs: int) -> None:
        """Sees to it that so many more pairs can be taken up."""
        if self.best.state[ROOM] >= pairs:
            return
        old = len(self.best.mate)
        added = max(pairs, old)
        following = np.arange(old + 1, old + added + 1)
        following[-1] = self.best.state[FREE]
        self.best.state[FREE] = old
        self.best.state[ROOM] += added
        nothing = np.empty(added, np.int64)
        rows = np.empty((added, self.best.distances.shape[1]), np.int64)
        self.best = self.best._replace(
            following=np.concatenate((self.best.following, following)),
            mate=np.concatenate((self.best.mate, nothing)),
            distances=np.concatenate((self.best.distances, rows)),
        )

    def finish(self, below: int) -> Int64s:
        """Forgets the tuples with a y1 below a bound; gives their pairs (tuple, mate)."""
        found: Int64s = take_finished(self.best, below)
        return found

    def is_alive(self, number: int) -> bool:
        """Whether a tuple has been read and is not finished."""
        first, stop = self.best.state[FIRST], self.best.state[STOP]
        return (
            bool(first <= number < stop) and self.best.y1[number & (len(self.best.y1) - 1)] != GONE
        )

    def least_above(self, bound: int) -> int:
        """The least y1 above a bound among the tuples alive; GONE if there is none."""
        return int(least_above(self.best, bound))

    def _widen(self) -> None:
        """Doubles the ring; what is in it goes where its number says."""
        old, size = self.best, 2 * len(self.best.head)
        numbers = np.arange(old.state[FIRST], old.state[STOP])
        y1, head = np.full(size, GONE), np.full(size, -1)
        before, after = numbers & (size // 2 - 1), numbers & (size - 1)
        y1[after], head[after] = old.y1[before], old.head[before]
        self.best = old._replace(y1=y1, head=head)


class GivenPairs:
    """Pairs given for a tuple of one side, by their tuple of the other, while that is unfinished."""

    def __init__(self) -> None:
        self._by_other: tuple[dict[int, set[int]], dict[int, set[int]]] = ({}, {})

    def new_of(self, side: int, found: Int64s, others: BestPairs) -> Int64s:
        """Of pairs (tuple, mate) that a side's finished tuples have, those not given before."""
        given = self._by_other[side]
        is_new = [mate not in given.get(owner, ()) for owner, mate in found.tolist()]
        for owner in dict.fromkeys(found[:, 0].tolist()):
            given.pop(owner, None)
        new: Int64s = found[np.array(is_new, np.bool_)]
        for owner, mate in new.tolist():
            if others.is_alive(mate):
                self._by_other[1 - side].setdefault(mate, set()).add(owner)
        return new
