"""Weights are found again that a bench was made with, whatever noise adds."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from windrow.calibration.measuring import (
    RATES,
    measure,
    slope,
    weights_in_microseconds,
)
from windrow.optimize.cost.structures import Sizes, Structure, touches
from windrow_papers.cost.combinations import PAPER


@dataclass
class PaperBench:
    """A machine that costs what the paper's does, some runs being disturbed."""

    structure: Structure
    window: int
    sizes: Sizes
    disturbances: list[float] = field(default_factory=lambda: [1.5, 1.0, 3.0])
    runs: int = 0  # 40 of a round, so that each rate meets every disturbance in three rounds

    def search(self, count):
        touched = touches(self.structure, self.window, self.sizes).search
        return self._cost(count * touched * PAPER.of(self.structure).search)

    def update(self, count):
        touched = touches(self.structure, self.window, self.sizes).update
        return self._cost(2 * count * touched * PAPER.of(self.structure).update)

    def _cost(self, cost):
        self.runs += 1
        return cost * self.disturbances[self.runs % 3]


@pytest.fixture(scope="module")
def points():
    return measure(PaperBench, Sizes(), lambda _: None)


@pytest.mark.parametrize(("seconds_per_look", "rounds"), [(1.0, 3), (50.0, 1)])
def test_a_slow_machine_measures_fewer_rounds_and_one_at_least(seconds_per_look, rounds):
    now = iter(range(100))
    told: list[str] = []
    found = measure(
        PaperBench, Sizes(), told.append, windows=(1_000,), last_start_s=2.5,
        clock=lambda: seconds_per_look * next(now),
    )  # fmt: skip
    assert len(told) == (1 + rounds) * len(Structure)
    assert len(found) == 2 * len(RATES) * len(Structure)


def test_the_time_that_compiling_takes_costs_no_round():
    seconds = [0.0]

    class Compiling(PaperBench):
        def __post_init__(self) -> None:
            seconds[0] += 30.0

    told: list[str] = []
    measure(
        Compiling, Sizes(), told.append, windows=(1_000,), rounds=2, last_start_s=2.5,
        clock=lambda: seconds[0],
    )  # fmt: skip
    assert sum(line.startswith("round 2") for line in told) == len(Structure)


@pytest.mark.parametrize("structure", Structure)
def test_the_weights_of_the_machine_are_found(points, structure):
    in_time = weights_in_microseconds(points)
    expected = PAPER.of(structure)
    assert in_time.of(structure).search == pytest.approx(expected.search * 1e6)
    assert in_time.of(structure).update == pytest.approx(expected.update * 1e6)


def test_each_structure_runs_at_twenty_rates_both_ways(points):
    for structure in Structure:
        for is_search in (True, False):
            own = {
                (point.run.window, point.run.rate)
                for point in points
                if point.run.structure is structure and point.run.is_search is is_search
            }
            windows = {window for window, _ in own}
            assert own == {(window, rate) for window in windows for rate in RATES}
    assert len(RATES) == 20


def test_what_is_measured_is_told():
    told: list[str] = []
    measure(PaperBench, Sizes(), told.append, windows=(100,))
    assert told[:4] == [f"making ready: {one.name}" for one in Structure]
    assert told[4:8] == [f"round 1 of 5: {one.name}, a window of 100" for one in Structure]
    assert len(told) == 24


def test_the_line_through_the_origin_is_the_nearest():
    assert slope([(1.0, 2.1), (2.0, 3.9)]) == pytest.approx(1.98)
