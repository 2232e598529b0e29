"""MatWin's variants and nested loops as contestants: each run over the same points, counted and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from windrow.kernels.epsilon_grid import KINDS_OF_WORK
from windrow_papers.experiments.charts import Line
from windrow_papers.experiments.claims import Case
from windrow_papers.experiments.contest import agree
from windrow_papers.experiments.experiment import Say
from windrow_papers.experiments.tables import Table, Value, table
from windrow_papers.experiments.workloads.points import TICKS, Points, points
from windrow_papers.kernels.matwin.nested_loops import nested_loops
from windrow_papers.operators.matwin.matwin import GRID, STANDARD, MatWin, Setting
from windrow_papers.operators.matwin.pages import MatWinCounts
from windrow_papers.operators.matwin.source import PageSource

PAPER = "Kemper and Stegmaier 2002, Evaluating bestmatch-joins on streaming data"

PAGE_ROWS, BUFFERS = 32, 16
EPS = TICKS // 10

_SHORT_S, _REPETITIONS = 1.0, 4
"""Runs that are repeated, and how often."""

COMPARISONS, TRANSFERS, SECONDS = "comparisons", "transfers", "seconds"
"""What contestants are compared by; transfers are pages read and written."""

LOOPS, STOPPING = "nested-loops", "nested-loops stopping"
PLAIN, ORDERED, CELLS = "matwin/standard", "matwin/standard/ego", "matwin/grid/ego"
SETTINGS = {
    PLAIN: Setting(PAGE_ROWS, BUFFERS, STANDARD, is_grid_ordered=False),
    ORDERED: Setting(PAGE_ROWS, BUFFERS, STANDARD),
    CELLS: Setting(PAGE_ROWS, BUFFERS, GRID),
}
MATWINS = tuple(SETTINGS)
CONTESTANTS = (LOOPS, STOPPING, *MATWINS)


@dataclass(frozen=True)
class Run:
    """One contestant over one input.

    Attributes:
        results: best pairs given.
        counts: what was done; nested loops have no pages.
        seconds: processor time.
    """

    results: int
    counts: MatWinCounts
    seconds: float

    def figure(self, by: str) -> float:
        """What it is compared by."""
        counts = self.counts
        return {
            COMPARISONS: float(counts.comparisons),
            TRANSFERS: float(counts.transfers),
            SECONDS: self.seconds,
        }[by]


Runs = Mapping[str, Run]
"""All contestants over one input."""


@dataclass(frozen=True)
class Input:
    """Two streams of as many points, and eps, the same in every dimension."""

    left: Points
    right: Points
    eps: int = EPS


def made(
    count: int, dimensions: int, distribution: str, *, seed: int, decimals: int | None = None
) -> Input:
    """Two streams of points."""
    left, right = (
        points(count, dimensions, distribution, seed=2 * seed + stream, decimals=decimals)
        for stream in range(2)
    )
    return Input(left, right)


def run_all(
    inputs: Mapping[str, Input], names: Sequence[str], say: Say
) -> dict[str, dict[str, Run]]:
    """Runs contestants over inputs, by case.

    Short runs are repeated, and the least time counts: what else the machine does only ever adds to
    it. Each repetition goes over all cases, so that a busy moment falls on all of them alike.

    Raises:
        InternalError: they did not give the same number of pairs.
    """
    cases: dict[str, dict[str, Run]] = {}
    for case, given in inputs.items():
        cases[case] = {}
        for name in names:
            say(f"{case}: {name}, {len(given.left):,} tuples of each stream")
            cases[case][name] = _run(name, given)
        agree(case, {name: one.results for name, one in cases[case].items()})
    for turn in range(_REPETITIONS):
        say(f"short runs once more, {turn + 1} of {_REPETITIONS}")
        for case, runs in cases.items():
            for name, one in runs.items():
                if one.seconds < _SHORT_S:
                    again = _run(name, inputs[case]).seconds
                    runs[name] = replace(one, seconds=min(one.seconds, again))
    return cases


def warm_up() -> None:
    """Runs every contestant over a few points, so that all loops are compiled."""
    few = made(40, 2, "uniform", seed=1)
    for name in CONTESTANTS:
        _run(name, few)


def _run(name: str, given: Input) -> Run:
    eps = [given.eps] * given.left.shape[1]
    if name not in SETTINGS:
        return _run_loops(given, np.array(eps), is_stopping=name == STOPPING)
    join = MatWin(PageSource(given.left), PageSource(given.right), eps, SETTINGS[name])
    began = time.process_time()
    results = sum(len(pairs) for pairs in join.run())
    return Run(results, join.counts, time.process_time() - began)


def _run_loops(given: Input, eps: Points, *, is_stopping: bool) -> Run:
    work = np.zeros(KINDS_OF_WORK, np.int64)
    began = time.process_time()
    found = nested_loops(given.left, given.right, eps, is_stopping, work)
    return Run(len(found), MatWinCounts(work=work), time.process_time() - began)


def versus(cases: Mapping[str, Runs], small: str, large: str, by: str) -> list[Case]:
    """Two contestants in every case, to be decided about."""
    return [
        Case(f"{small} against {large}, {case}", runs[small].figure(by), runs[large].figure(by))
        for case, runs in cases.items()
    ]


_COLUMNS = (
    "case", "algorithm", "results", "sort tests", "cell tests", "pair tests", "dominance tests",
    "comparisons", "pages read to store", "pages written", "pages read to join", "crabsteps", "s",
)  # fmt: skip
_BRIEF = (
    "case", "algorithm", "results", "comparisons", "pages read to store", "pages written",
    "pages read to join", "s",
)  # fmt: skip


def runs_table(cases: Mapping[str, Runs]) -> Table:
    """A row per run."""
    rows: list[list[Value]] = []
    for case, runs in cases.items():
        for name, one in runs.items():
            counts = one.counts
            rows.append(
                [
                    case, name, one.results, *counts.work.tolist(), counts.comparisons,
                    counts.reads_to_store, counts.writes, counts.reads_to_join, counts.crabsteps,
                    one.seconds,
                ]
            )  # fmt: skip
    return table(_COLUMNS, rows, _BRIEF)


def lines_over(
    x: Sequence[float],
    cases: Sequence[Runs],
    names: Sequence[str],
    figure: Callable[[Run], float],
) -> list[Line]:
    """A curve per contestant over what is varied."""
    return [
        Line(name, list(x), [figure(runs[name]) for runs in cases], is_dashed=name == STOPPING)
        for name in names
    ]
