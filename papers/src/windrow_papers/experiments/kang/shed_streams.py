"""Two streams of which some arrivals probe and some tuples are kept, and what their join gives.

Windows hold a number of tuples, as in the paper, and are full from the start. What is kept of a
window and what is probed with is drawn by seeded hashes. Arrivals that do not probe are still kept.

An arrival of stream A with n tuples of B before it looks at the newest `window` of these:

    tuples of B    0 ............ [ n - window ............ n )          those drawn, of its key

So counts are differences of positions in one sorted array, and nothing is scanned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.allocation.loads import Allocation, StreamLoad, output_rate
from windrow.allocation.strategies import Pot, Strategy, in_order
from windrow.operators.load_shedding.draws import Purpose, draws_of, row_words
from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import Case, Reading
from windrow_papers.experiments.tables import Table, Value, table
from windrow_papers.experiments.workloads.streams import Int64s

MARKS = 10
"""Points of a curve of the figures."""


@dataclass(frozen=True)
class Setting:
    """The streams of an experiment, and for how long they come.

    Attributes:
        loads: rates per second and full windows of A and B.
        values: how many keys each stream has, uniform; those of the one are among the other's.
        seconds: for how long.
    """

    loads: tuple[StreamLoad, StreamLoad]
    values: tuple[int, int]
    seconds: int

    @property
    def selectivity(self) -> float:
        """The smaller of both, which equation 12 takes: here it is exact."""
        return 1 / max(self.values)


@dataclass(frozen=True)
class Arrived:
    """Tuples of both streams; the first `window` of each are there from the start.

    Attributes:
        keys: per stream, of all its tuples.
        before: per stream and arrival, how many tuples of the other came before it.
        second: per stream and arrival, the second that it comes in.
    """

    keys: tuple[Int64s, Int64s]
    before: tuple[Int64s, Int64s]
    second: tuple[Int64s, Int64s]


def arrived(setting: Setting, seed: int) -> Arrived:
    """The tuples of a setting, as many of each stream per second as its rate says."""
    dice = np.random.default_rng(seed)
    counts = [round(load.rate) for load in setting.loads]
    turn = np.repeat([0, 1], counts)
    sides = np.concatenate([dice.permutation(turn) for _ in range(setting.seconds)])
    seconds = np.repeat(np.arange(setting.seconds), sum(counts))
    full = [round(load.window) for load in setting.loads]
    keys = [
        dice.integers(0, values, window + count * setting.seconds)
        for values, window, count in zip(setting.values, full, counts, strict=True)
    ]
    of_b = np.cumsum(sides)
    of_a = np.arange(1, len(sides) + 1) - of_b
    return Arrived(
        (keys[0], keys[1]),
        ((full[1] + of_b)[sides == 0], (full[0] + of_a)[sides == 1]),
        (seconds[sides == 0], seconds[sides == 1]),
    )


def results_per_second(
    setting: Setting, came: Arrived, allocation: Allocation, seed: int
) -> Int64s:
    """How many results come out in each second when what is short is divided so."""
    words = [row_words([pa.array(keys)], np.arange(len(keys))) for keys in came.keys]
    found = np.zeros(setting.seconds, np.int64)
    for prober, window in ((0, 1), (1, 0)):
        load, kept = setting.loads[window], allocation.windows[window]
        drawn = draws_of(words[window], seed, window, Purpose.keep) < _share(kept, load.window)
        first = round(setting.loads[prober].window)
        draws = draws_of(words[prober], seed, prober, Purpose.probe)[first:]
        share = _share(allocation.rates[prober], setting.loads[prober].rate)
        probes = np.flatnonzero(draws < share)
        matches = _matches(
            came.keys[prober][first:][probes],
            came.before[prober][probes],
            came.keys[window],
            drawn,
            round(load.window),
        )
        np.add.at(found, came.second[prober][probes], matches)
    return found


def _matches(
    keys: Int64s, before: Int64s, others: Int64s, drawn: np.ndarray, window: int
) -> Int64s:
    """Per probe, the tuples drawn of its key among the newest of the other stream."""
    tuples = len(others) + 1
    kept = np.flatnonzero(drawn)
    places = np.sort(others[kept] * tuples + kept)
    above = np.searchsorted(places, keys * tuples + before)
    below = np.searchsorted(places, keys * tuples + before - window)
    return above - below


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 1.0


@dataclass(frozen=True)
class Run:
    """A strategy, what it allocated, and what came of it."""

    label: str
    allocation: Allocation
    results: Int64s
    expected: float

    @property
    def per_second(self) -> float:
        """Results per second, measured."""
        return float(self.results.mean())

    @property
    def deviation(self) -> float:
        """How far the measured output is from the equation, as a share of that."""
        if not self.expected:
            return float(self.per_second > 0)
        return abs(self.per_second / self.expected - 1)


def runs_of(setting: Setting, allocations: Mapping[str, Allocation], seed: int) -> tuple[Run, ...]:
    """Every allocation over the same tuples."""
    came = arrived(setting, seed)
    return tuple(
        Run(
            label,
            allocation,
            results_per_second(setting, came, allocation, seed),
            output_rate(allocation, setting.selectivity),
        )
        for label, allocation in allocations.items()
    )


def favoring(stream: int) -> Strategy:
    """MaxA and MaxB of figures 5 to 7: all that it can use to one stream, then to the others."""

    def divide(divided: Pot, loads: Sequence[StreamLoad]) -> tuple[float, ...]:
        return in_order(divided, [stream, *(at for at in range(len(loads)) if at != stream)])

    return divide


def best_of(runs: Sequence[Run], label: str) -> Reading:
    """That one strategy gives more than every other."""
    own = next(run for run in runs if run.label == label)
    others = [run for run in runs if run.label != label]
    second = max(others, key=lambda run: run.per_second)
    case = Case(second.label, second.per_second, own.per_second)
    text = f"{case.ratio:.2f} of the output of {second.label}, the next"
    return Reading(case.ratio, text, holds=case.ratio > 1)


def worst_of(runs: Sequence[Run], label: str) -> Reading:
    """That one strategy gives less than every other."""
    own = next(run for run in runs if run.label == label)
    others = [run for run in runs if run.label != label]
    next_one = min(others, key=lambda run: run.per_second)
    case = Case(next_one.label, own.per_second, next_one.per_second)
    text = f"{next_one.label}, the next, gives {case.ratio:.2f} of its output"
    return Reading(case.ratio, text, holds=case.ratio > 1)


def near_the_equation(runs: Sequence[Run], most: float) -> Reading:
    """That every output is as the equation says, or nearly."""
    worst = max(runs, key=lambda run: run.deviation)
    text = f"at most {worst.deviation:.1%} off ({worst.label})"
    return Reading(worst.deviation, text, holds=worst.deviation <= most)


def runs_table(sections: Mapping[str, Sequence[Run]]) -> Table:
    """A row per run."""
    rows: list[list[Value]] = [
        [
            section, run.label, *run.allocation.rates, *run.allocation.windows,
            run.expected, run.per_second,
        ]
        for section, runs in sections.items()
        for run in runs
    ]  # fmt: skip
    return table(
        ("what is short", "strategy", "probes of A/s", "probes of B/s", "kept of A", "kept of B",
         "expected results/s", "results/s"),
        rows,
        ("strategy", "expected results/s", "results/s"),
    )  # fmt: skip


def output_chart(title: str, runs: Sequence[Run]) -> Chart:
    """Results so far over time, a curve per strategy: the paper's figures 5 to 7."""
    seconds = len(runs[0].results)
    marks = np.unique(np.linspace(1, seconds, min(MARKS, seconds)).astype(np.int64))
    lines = [
        Line(
            run.label,
            [float(mark) for mark in marks],
            [float(so_far) for so_far in np.cumsum(run.results)[marks - 1]],
        )
        for run in runs
    ]
    return Chart(title, [Panel("measured", "seconds", "results so far", lines, is_log=False)])
