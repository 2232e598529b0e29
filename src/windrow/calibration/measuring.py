"""Measures the weights: searches alone and updates alone, at twenty rates, fitted by least squares.

    cost                    x       the model: cost = weight * tuples touched, a line through the
      |               x  .'          origin, since without arrivals there is nothing to do
      |         x  .'
      |      .' x                   weight = sum(touched * cost) / sum(touched^2)
      |  x'
      +------------------- tuples touched = operations * touches of one, as the model counts them

A rate's run is 20 seconds' worth of tuples without pauses, of which the paper takes a minute's.
What the machine does besides only ever adds time: of some runs the least counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from windrow.kernels.structures.store import Int64s, Store
from windrow.kernels.structures.window import (
    STRUCTURES,
    filled_store,
    search_only,
    update_only,
)
from windrow.optimize.cost.structures import (
    INSERT_AND_REMOVE,
    Sizes,
    Structure,
    Weight,
    Weights,
    touches,
)

RATES = tuple(range(5, 101, 5))
"""Arrivals per second: twenty of them."""

SECONDS_WORTH = 20
WINDOWS = (1_000, 5_000, 25_000)
"""Window sizes that weights are fitted over: one weight must serve small windows and large ones."""

ROUNDS = 5

LAST_START_S = 25.0
"""A user who waits does so for less than a minute: after this long no further round is begun. Each
takes two seconds of processor; compiling before the first, half a minute, is not part of this."""

Say = Callable[[str], None]
"""Told what is being measured now."""


class Bench(Protocol):
    """A structure filled with a window's tuples, on which operations are measured."""

    def search(self, count: int) -> float:
        """What so many probes by key cost; nothing changes."""

    def update(self, count: int) -> float:
        """What so many arrivals cost: each is inserted, and the oldest goes."""


MakeBench = Callable[[Structure, int, Sizes], Bench]
"""Fills a structure with a window of so many tuples."""


@dataclass(frozen=True)
class Run:
    """What is run: searches, or updates, at so many arrivals per second, in a window of so many tuples."""

    structure: Structure
    window: int
    rate: int
    is_search: bool


@dataclass(frozen=True)
class Point:
    """A run, the tuples that it touches as the model counts them, and what it cost."""

    run: Run
    touched: float
    cost: float


def measure(
    make: MakeBench,
    sizes: Sizes,
    say: Say,
    *,
    windows: Sequence[int] = WINDOWS,
    rounds: int = ROUNDS,
    last_start_s: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> list[Point]:
    """Runs every structure at every rate over windows of every size, some rounds over.

    After `last_start_s` seconds, from when all is compiled, no round begins; the first always does.
    """
    benches: dict[tuple[Structure, int], Bench] = {}
    for structure in Structure:
        say(f"making ready: {structure.name}")
        for window in windows:
            benches[structure, window] = make(structure, window, sizes)
    began = clock()
    least: dict[Run, float] = {}
    # All take turns: a busy spell of the machine is then no single one's.
    for number in range(1, rounds + 1):
        if least and clock() - began > last_start_s:
            break
        for (structure, window), bench in benches.items():
            say(f"round {number} of {rounds}: {structure.name}, a window of {window:,}")
            for run, cost in _runs(structure, window, bench):
                least[run] = min(cost, least.get(run, cost))
    return [Point(run, _touched(run, sizes), cost) for run, cost in least.items()]


def _runs(structure: Structure, window: int, bench: Bench) -> Iterator[tuple[Run, float]]:
    """Every rate once: searches alone, then updates alone."""
    for is_search, run in ((True, bench.search), (False, bench.update)):
        for rate in RATES:
            yield Run(structure, window, rate, is_search), run(rate * SECONDS_WORTH)


def _touched(run: Run, sizes: Sizes) -> float:
    """Tuples touched in a run, as the model counts them."""
    of_one, count = touches(run.structure, run.window, sizes), run.rate * SECONDS_WORTH
    # An arrival is two updates: it comes, and the oldest goes.
    return count * of_one.search if run.is_search else INSERT_AND_REMOVE * count * of_one.update


def weights_in_microseconds(points: Sequence[Point]) -> Weights:
    """The weights on this machine's time, of points that cost seconds."""
    return fitted([replace(one, cost=one.cost * 1e6) for one in points], "us per unit of time")


def fitted(points: Sequence[Point], unit: str) -> Weights:
    """The weights in the unit that the points' costs have."""

    def weight(structure: Structure) -> Weight:
        own = [point for point in points if point.run.structure is structure]
        return Weight(
            slope([(one.touched, one.cost) for one in own if one.run.is_search]),
            slope([(one.touched, one.cost) for one in own if not one.run.is_search]),
        )

    return Weights(**{one.name: weight(one) for one in Structure}, unit=unit)


def slope(pairs: Sequence[tuple[float, float]]) -> float:
    """The slope of the line through the origin that is nearest to points, by least squares.

    Examples:
        >>> slope([(1.0, 2.1), (2.0, 3.9)])
        1.98
    """
    return sum(x * y for x, y in pairs) / sum(x * x for x, _ in pairs)


SEED = 2003
_WARM_UP = 16
_MOST = RATES[-1] * SECONDS_WORTH


class CompiledBench:
    """A structure that holds a window; a probe meets one tuple of it on average. Costs are seconds."""

    def __init__(self, structure: Structure, window: int, sizes: Sizes) -> None:
        dice = np.random.default_rng(SEED)
        self.store = filled(structure, sizes, dice.integers(0, window, window))
        self._probed = dice.integers(0, window, _MOST)
        # Keys come again only after the window has forgotten them: it stays a random one.
        self._coming = dice.integers(0, window, max(2 * window, _MOST))
        self._call_s = 0.0
        # The first call compiles. What a call of nothing takes is no operation's.
        self.search(_WARM_UP)
        self.update(_WARM_UP)
        self._call_s = min(self.search(0) for _ in range(_WARM_UP))

    def search(self, count: int) -> float:
        """The processor seconds of so many probes by key."""
        keys = self._probed[:count]
        began = time.thread_time()
        search_only(self.store, keys, keys)
        return max(0.0, time.thread_time() - began - self._call_s)

    def update(self, count: int) -> float:
        """Those of so many arrivals: each is inserted, and the oldest goes."""
        keys = self._coming[:count].copy()
        self._coming = np.roll(self._coming, -count)
        began = time.thread_time()
        self.store = update_only(self.store, keys)
        return max(0.0, time.thread_time() - began - self._call_s)


def filled(structure: Structure, sizes: Sizes, keys: Int64s) -> Store:
    """A structure that holds tuples with these keys, in the order in which they came."""
    return filled_store(STRUCTURES[structure.name], sizes.of(structure.name), keys)
