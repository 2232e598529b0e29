"""Measures the weights: searches alone and updates alone, at twenty rates, fitted by least squares.

    cost                    x       the model: cost = weight * tuples touched, a line through the
      |               x  .'          origin, since without arrivals there is nothing to do
      |         x  .'
      |      .' x                   weight = sum(touched * cost) / sum(touched^2)
      |  x'
      +------------------- tuples touched = operations * touches of one, as the model counts them

A rate's run is 20 seconds' worth of tuples without pauses, of which the paper takes a minute's. What the machine does
besides only ever adds time: of some runs the least counts. Cost is read off two meters: seconds,
and counted work, which no other program disturbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from windrow.optimize.cost.structures import Sizes, Structure, Touches, touches
from windrow.optimize.cost.weights import Weight, Weights

RATES = tuple(range(5, 101, 5))
"""Arrivals per second: twenty of them."""

SECONDS_WORTH = 20
WINDOWS = (1_000, 5_000, 25_000)
"""Window sizes that weights are fitted over: one weight must serve small windows and large ones."""

REPEATS = 3

Say = Callable[[str], None]
"""Told what is being measured now."""


@dataclass(frozen=True)
class Metered:
    """What some operations cost: processor seconds, and counted work."""

    seconds: float
    work: float


class Bench(Protocol):
    """A structure filled with a window's tuples, on which operations are metered."""

    def search(self, count: int) -> Metered:
        """So many probes by key; nothing changes."""

    def update(self, count: int) -> Metered:
        """So many arrivals: each is inserted, and the oldest goes."""


MakeBench = Callable[[Structure, int, Sizes], Bench]
"""Fills a structure with a window of so many tuples."""


@dataclass(frozen=True)
class Point:
    """One run.

    Attributes:
        structure: what was run.
        is_search: searches, or updates.
        window: tuples in the window.
        rate: arrivals per second.
        touched: tuples touched, as the model counts them.
        cost: what the run cost.
    """

    structure: Structure
    is_search: bool
    window: int
    rate: int
    touched: float
    cost: Metered


def measure(
    make: MakeBench, sizes: Sizes, say: Say, *, windows: Sequence[int] = WINDOWS
) -> list[Point]:
    """Runs every structure at every rate over windows of every size."""
    found: list[Point] = []
    for structure in Structure:
        for window in windows:
            say(f"{structure.name}: a window of {window:,}, {len(RATES)} rates")
            bench, touched = make(structure, window, sizes), touches(structure, window, sizes)
            found += _points(structure, window, bench, touched)
    return found


def _points(structure: Structure, window: int, bench: Bench, touched: Touches) -> Iterator[Point]:
    for rate in RATES:
        count = rate * SECONDS_WORTH
        searched = _least(bench.search, count)
        yield Point(structure, True, window, rate, count * touched.search, searched)
        # An arrival is two updates: it comes, and the oldest goes.
        updated = _least(bench.update, count)
        yield Point(structure, False, window, rate, 2 * count * touched.update, updated)


def _least(run: Callable[[int], Metered], count: int) -> Metered:
    runs = [run(count) for _ in range(REPEATS)]
    return Metered(min(one.seconds for one in runs), min(one.work for one in runs))


def weights_in_microseconds(points: Sequence[Point]) -> Weights:
    """The weights on this machine's time."""
    return _fitted(points, lambda cost: cost.seconds * 1e6, "us per unit of time")


def weights_in_work(points: Sequence[Point]) -> Weights:
    """The weights on counted work, the same wherever they are measured."""
    return _fitted(points, lambda cost: cost.work, "units of work per unit of time")


def _fitted(points: Sequence[Point], read: Callable[[Metered], float], unit: str) -> Weights:
    def weight(structure: Structure) -> Weight:
        own = [point for point in points if point.structure is structure]
        return Weight(
            slope([(one.touched, read(one.cost)) for one in own if one.is_search]),
            slope([(one.touched, read(one.cost)) for one in own if not one.is_search]),
        )

    return Weights(
        buffer=weight(Structure.buffer),
        hash=weight(Structure.hash),
        btree=weight(Structure.btree),
        ttree=weight(Structure.ttree),
        unit=unit,
    )


def slope(pairs: Sequence[tuple[float, float]]) -> float:
    """The slope of the line through the origin that is nearest to points, by least squares.

    Examples:
        >>> slope([(1.0, 2.1), (2.0, 3.9)])
        1.98
    """
    return sum(x * y for x, y in pairs) / sum(x * x for x, _ in pairs)
