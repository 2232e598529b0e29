"""Chances as they change over event time, and the chance that draws just so many.

The chance to be kept is constant within a pane of event time and may change with the next. A tuple
that was let go does not come back, so that its chance at some instant is the least since its own:

    chance        0.8 |____
                      |    |____          ____       a tuple of the first pane has 0.5 by the end,
                  0.5 |         |____|____|          one of the last pane 0.6
    panes                0    1    2    3

What is kept are these least chances alone, which never fall from an older pane to a newer one.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Chances:
    """The least chance of one stream from each of some panes on, by their starts, ascending."""

    def __init__(self, starts: list[int] | None = None, least: list[float] | None = None) -> None:
        self.starts = starts or []
        self.least = least or []

    def add(self, start: int, chance: float) -> None:
        """From an instant on, later than all before, the chance is another."""
        first = bisect_left(self.least, chance)
        if first == len(self.least):
            self.starts.append(start)
            self.least.append(chance)
            return
        # All panes from there on had as much or more: one stands for all of them now.
        del self.starts[first + 1 :], self.least[first + 1 :]
        self.least[first] = chance

    def since(self, times: NDArray[np.int64]) -> Floats:
        """The least chance from some instants on; the first one's for instants before it."""
        at = np.searchsorted(np.array(self.starts, np.int64), times, side="right") - 1
        return np.array(self.least, np.float64)[np.maximum(at, 0)]

    def forget(self, before: int) -> None:
        """Nobody will ask for an instant before this one."""
        while len(self.starts) > 1 and self.starts[1] <= before:
            del self.starts[0], self.least[0]


class Caps:
    """What chances are at most, of panes of which rows were let go before they were decided.

    They are kept by the starts of panes, ascending.
    """

    def __init__(self, pane: int, chances: dict[int, float] | None = None) -> None:
        self._pane = pane
        self.chances = chances or {}

    def add(self, start: int, chance: float) -> None:
        """Of the pane that begins there, later than all before, no row has a higher chance."""
        self.chances[start] = chance

    def at(self, times: NDArray[np.int64]) -> Floats:
        """The caps at some instants, 1 where there is none."""
        if not self.chances:
            return np.ones(len(times))
        starts = np.array(list(self.chances), np.int64)
        place = np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)
        since = times - starts[place]
        is_capped = (since >= 0) & (since < self._pane)
        return np.where(is_capped, np.array(list(self.chances.values()))[place], 1.0)

    def forget(self, before: int) -> None:
        """Nobody will ask for an instant before this one."""
        alive = before - self._pane
        self.chances = {start: own for start, own in self.chances.items() if start > alive}


def chance_of(draws: Floats, most: float) -> float:
    """The chance that draws no more than so many: the next draw after theirs, or 1 for all.

    It is 0 for none, which nothing can be estimated from.

    Whoever is drawn would be drawn with that chance whatever its own draw was, so that it may stand
    for the tuple's probability.
    """
    if len(draws) <= most:
        return 1.0
    if most < 1:
        return 0.0
    return float(np.partition(draws, int(most))[int(most)])
