"""How evenly results come: 1,000 tuples of each stream, two dimensions, eps 0.1.

A pair comes out when its left tuple leaves the window, so that results lag behind the work by what a
window holds. The curves show which share of the results had come by the time that a share of the work
was done; results that come evenly, and at once, lie on the diagonal.
Where y1 has one decimal, as eps has, tuples lie on the bounds of the windows: a step of the window
takes in, and gives back, all tuples of one value.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow_papers.experiments.bmj.runs import ORDERED, PAPER, SETTINGS, Input, made, warm_up
from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading, below
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.tables import Table, Value, table
from windrow_papers.experiments.workloads.points import DISTRIBUTIONS, NORMAL, UNIFORM
from windrow_papers.operators.matwin.matwin import MatWin
from windrow_papers.operators.matwin.source import PageSource

SEED = 63
DECIMALS = (1, 2, 3, 4, 5)
FARTHEST = 0.15
"""Results that flow are never so far, as a share of all, from the share of work done."""

A_STEP = 0.05
"""A share of all results that comes at once and is seen as a step in the curve."""

_MOST_POINTS = 200
"""A curve in the figure has no more points."""


@dataclass(frozen=True)
class Extent:
    """Tuples of each stream."""

    tuples: int


SIZES = {Size.tiny: Extent(120), Size.quick: Extent(500), Size.full: Extent(1_000)}


@dataclass(frozen=True)
class Flow:
    """A run: after each step of the window, what had come and what had been done.

    Attributes:
        results: pairs given.
        work: comparisons, and pages read and written.
        seconds: processor time.
    """

    results: NDArray[np.int64]
    work: NDArray[np.int64]
    seconds: NDArray[np.float64]

    @property
    def largest_step(self) -> float:
        """The largest share of all results that came at once."""
        return float(np.diff(self.results, prepend=0).max() / self.results[-1])

    @property
    def longest_pause(self) -> float:
        """The largest share of the work between two steps that gave results."""
        giving = np.flatnonzero(np.diff(self.results, prepend=0))
        return float(np.diff(self.work[giving]).max() / self.work[-1])

    def distance(self, done: NDArray[np.generic]) -> float:
        """How far the share of results was from the share of what was done, at most."""
        shares = np.asarray(done, np.float64) / float(done[-1])
        return float(np.abs(self.results / self.results[-1] - shares).max())


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    count = SIZES[size].tuples
    warm_up()
    by_data, by_decimals = {}, {}
    for name in DISTRIBUTIONS:
        say(f"{name}: {count:,} tuples of each stream")
        by_data[name] = _flow(made(count, 2, name, seed=SEED))
    for decimals in DECIMALS:
        say(f"{_places(decimals)}: {count:,} tuples of each stream")
        by_decimals[_places(decimals)] = _flow(
            made(count, 2, UNIFORM, seed=SEED, decimals=decimals)
        )
    return Findings(
        _table({**by_data, **by_decimals}),
        (
            Finding(
                _even({name: one.distance(one.work) for name, one in by_data.items()}),
                _even({name: one.distance(one.seconds) for name, one in by_data.items()}),
                reason=_why_uneven(by_data),
                reason_on_time="the machine was busy with other work for a part of the run",
            ),
            Finding(
                _longest(by_data),
                below(
                    _over(by_data, "time", {n: float(f.seconds[-1]) for n, f in by_data.items()})
                ),
                reason="data in which the dimensions hang together lies along a line: more of its tuples "
                "are candidates of each other than of normal data",
                reason_on_time="the number of pairs decides little of the time: pages are read and "
                "written for every tuple, whatever it is compared with",
            ),
            Finding(_steps(by_decimals), reason="streams are so short that each tuple is a step"),
        ),
        _chart(by_data, by_decimals),
    )


def _places(decimals: int) -> str:
    return f"{decimals} decimal{'s' if decimals > 1 else ''}"


def _flow(given: Input) -> Flow:
    eps = [given.eps] * given.left.shape[1]
    join = MatWin(PageSource(given.left), PageSource(given.right), eps, SETTINGS[ORDERED])
    results, work, seconds = [], [], []
    began = time.process_time()
    given_so_far = 0
    for pairs in join.run():
        given_so_far += len(pairs)
        results.append(given_so_far)
        work.append(join.counts.comparisons + join.counts.transfers)
        seconds.append(time.process_time() - began)
    return Flow(np.array(results), np.array(work), np.array(seconds))


def _even(distances: Mapping[str, float]) -> Reading:
    worst = max(distances, key=lambda name: distances[name])
    least = min(distances, key=lambda name: distances[name])
    text = f"{distances[least]:.3f} ({least}) to {distances[worst]:.3f} ({worst}) of the results"
    return Reading(distances[worst], text, holds=distances[worst] <= FARTHEST)


def _why_uneven(by_data: Mapping[str, Flow]) -> str:
    pause = max(one.longest_pause for one in by_data.values())
    return (
        "a result waits for the window to pass, which holds a tenth of uniform data and up to a quarter of "
        "normal data, and where tuples are dense each is compared with more; but results never "
        f"pause, once they have begun, for more than {pause:.3f} of the work, in any distribution"
    )


def _over(by_data: Mapping[str, Flow], of: str, figures: Mapping[str, float]) -> list[Case]:
    """Normal data over each of the others."""
    return [
        Case(f"{of}, normal against {name}", figures[name], figures[NORMAL])
        for name in by_data
        if name != NORMAL
    ]


def _longest(by_data: Mapping[str, Flow]) -> Reading:
    results = {name: float(one.results[-1]) for name, one in by_data.items()}
    work = {name: float(one.work[-1]) for name, one in by_data.items()}
    return below(_over(by_data, "results", results)).and_also(below(_over(by_data, "work", work)))


def _steps(by_decimals: Mapping[str, Flow]) -> Reading:
    """A step with one decimal, none with more."""
    shares = {name: one.largest_step for name, one in by_decimals.items()}
    coarse = _places(DECIMALS[0])
    fine = max(share for name, share in shares.items() if name != coarse)
    text = (
        f"{shares[coarse]:.3f} of the results at once with {coarse}, at most {fine:.3f} with more"
    )
    return Reading(shares[coarse] / fine, text, holds=shares[coarse] >= A_STEP > fine)


def _table(flows: Mapping[str, Flow]) -> Table:
    rows: list[list[Value]] = [
        [
            name, int(one.results[-1]), len(one.results), int(one.work[-1]), one.largest_step,
            one.longest_pause, one.distance(one.work), one.distance(one.seconds), float(one.seconds[-1]),
        ]
        for name, one in flows.items()
    ]  # fmt: skip
    columns = (
        "case", "results", "steps", "comparisons and pages", "largest step",
        "longest pause", "farthest from even, work", "farthest from even, time", "s",
    )  # fmt: skip
    return table(columns, rows)


def _chart(by_data: Mapping[str, Flow], by_decimals: Mapping[str, Flow]) -> Chart:
    panels = [
        Panel(title, "share of the work", "share of the results", _curves(flows), is_log=False)
        for title, flows in (("distributions", by_data), ("decimals of y1", by_decimals))
    ]
    times = [_curve(name, one, one.seconds) for name, one in by_data.items()]
    panels.append(Panel("distributions, on time", "s", "share of the results", times, is_log=False))
    return Chart("Results over work and time, two dimensions, eps 0.1", panels)


def _curves(flows: Mapping[str, Flow]) -> list[Line]:
    return [_curve(name, one, one.work / one.work[-1]) for name, one in flows.items()]


def _curve(name: str, flow: Flow, x: NDArray[np.float64]) -> Line:
    shares = flow.results / flow.results[-1]
    shown = np.linspace(0, len(x) - 1, min(len(x), _MOST_POINTS)).astype(np.int64)
    # Results come at once, at the end of a step: the curve goes up there, and is level in between.
    levels = np.repeat(shares[shown], 2)
    return Line(name, np.repeat(x[shown], 2)[1:].tolist(), levels[:-1].tolist())


EXPERIMENT = Experiment(
    name="bmj-flow",
    paper=PAPER,
    figure="figures 13 and 14",
    setting="1,000 tuples of each stream, 2 dimensions, eps 0.1; uniform, correlated, anti-correlated and "
    "normal data; uniform data with 1 to 5 decimals in y1; MatWin, standard materialization with the "
    "grid order, left outer",
    claims=(
        Claim(
            "results flow evenly whatever the distribution",
            "the farthest that the share of results is from the share of comparisons and pages spent, "
            "and of time: at most 0.15 in every distribution",
        ),
        Claim(
            "normal data takes longer because it has more pairs",
            "results, and comparisons and pages, of normal data over those of the others: above 1 each",
        ),
        Claim(
            "steps appear only where the precision of y1 equals eps",
            "the largest share of the results that comes at once: at least 0.05 with one decimal, less "
            "with two to five",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
