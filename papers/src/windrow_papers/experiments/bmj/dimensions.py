"""MatWin over the number of dimensions: 1,000 tuples of each stream, eps 0.1.

The grid materialization has a page per cell that is in use. In two dimensions these are ten cells, and
a tuple that comes costs one page, where the standard materialization writes the whole window anew.
In six nearly every tuple has a cell, and so a page, of its own: all of them are read to be compared.
The standard materialization keeps full pages whatever the dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow_papers.experiments.bmj.runs import (
    CELLS,
    COMPARISONS,
    EPS,
    LOOPS,
    MATWINS,
    ORDERED,
    PAPER,
    PLAIN,
    SECONDS,
    TRANSFERS,
    Input,
    Runs,
    lines_over,
    made,
    run_all,
    runs_table,
    versus,
    warm_up,
)
from windrow_papers.experiments.charts import Chart, Panel
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading, at_most, below
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.workloads.points import ANTI_CORRELATED, CORRELATED, NORMAL, UNIFORM

SEED = 62
DIMENSIONS = (2, 3, 4, 5, 6)
FEWEST, MOST = DIMENSIONS[0], DIMENSIONS[-1]
OTHERS = (CORRELATED, ANTI_CORRELATED, NORMAL)
WIDE = "eps 0.2"
NAMES = (LOOPS, *MATWINS)
ALIKE = 1.25


@dataclass(frozen=True)
class Extent:
    """Tuples of each stream."""

    tuples: int


SIZES = {Size.tiny: Extent(60), Size.quick: Extent(300), Size.full: Extent(1_000)}


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    count = SIZES[size].tuples
    warm_up()
    over = run_all(
        {_case(one): made(count, one, UNIFORM, seed=SEED) for one in DIMENSIONS}, NAMES, say
    )
    uniform = {one: over[_case(one)] for one in DIMENSIONS}
    few = {_case(FEWEST): uniform[FEWEST], **_others(count, FEWEST, say)}
    many = {_case(MOST): uniform[MOST], **_others(count, MOST, say)}
    return Findings(
        runs_table({**over, **few, **many}),
        (
            Finding(
                _grid_ahead_then_behind(few, many, TRANSFERS),
                _grid_ahead_then_behind(few, many, SECONDS),
                reason="windows have a few pages only, which are merged with fewer transfers than the "
                "half-empty pages of the cells take to be read",
                reason_on_time="in 2 dimensions the pages saved are fewer than what runs of one input "
                "differ by on a machine that others use",
            ),
            Finding(
                _alike(uniform, TRANSFERS),
                _alike(uniform, SECONDS),
                reason="in more dimensions the order rules out other pages",
                reason_on_time="pages and comparisons are alike, and time neither rises nor falls with the "
                "dimensions: runs of one input differ as much on a machine that others use",
            ),
            Finding(
                below(versus(over, ORDERED, LOOPS, COMPARISONS)),
                below(versus(over, ORDERED, LOOPS, SECONDS)),
                reason="in many dimensions few tuples are candidates, and nested loops compare little "
                "more than each pair once",
                reason_on_time="with 1,000 tuples nested loops take milliseconds, compiled, and MatWin's "
                "pages are scheduled, read and written in Python",
            ),
        ),
        _chart(list(uniform.values())),
    )


def _case(dimensions: int) -> str:
    return f"{dimensions} dimensions"


def _others(count: int, dimensions: int, say: Say) -> Mapping[str, Runs]:
    """Other distributions, and a wider eps."""
    inputs = {name: made(count, dimensions, name, seed=SEED) for name in OTHERS}
    given = made(count, dimensions, UNIFORM, seed=SEED)
    inputs[WIDE] = Input(given.left, given.right, 2 * EPS)
    named = {f"{label}, {_case(dimensions)}": one for label, one in inputs.items()}
    return run_all(named, (ORDERED, CELLS), say)


def _grid_ahead_then_behind(few: Mapping[str, Runs], many: Mapping[str, Runs], by: str) -> Reading:
    ahead = below(versus(few, CELLS, ORDERED, by))
    return ahead.and_also(below(versus(many, ORDERED, CELLS, by)))


def _alike(runs: Mapping[int, Runs], by: str) -> Reading:
    """The most over the least, for each standard materialization."""
    cases = []
    for name in (PLAIN, ORDERED):
        figures = [one[name].figure(by) for one in runs.values()]
        cases.append(Case(f"{name}, most against least", min(figures), max(figures)))
    return at_most(ALIKE, cases)


def _chart(cases: list[Runs]) -> Chart:
    panels = [
        Panel(
            "work", "dimensions", "comparisons",
            lines_over(DIMENSIONS, cases, NAMES, lambda one: one.figure(COMPARISONS)),
        ),
        Panel(
            "pages", "dimensions", "pages read and written",
            lines_over(DIMENSIONS, cases, MATWINS, lambda one: one.figure(TRANSFERS)),
        ),
        Panel(
            "time", "dimensions", "s",
            lines_over(DIMENSIONS, cases, NAMES, lambda one: one.figure(SECONDS)),
        ),
    ]  # fmt: skip
    return Chart("MatWin over the number of dimensions, uniform, eps 0.1", panels)


EXPERIMENT = Experiment(
    name="bmj-dimensions",
    paper=PAPER,
    figure="figure 12",
    setting="2 to 6 dimensions, 1,000 tuples of each stream, eps 0.1, uniform; in 2 and 6 dimensions "
    "also correlated, anti-correlated and normal data, and eps 0.2; left outer; pages of 32 tuples, "
    "16 buffers",
    claims=(
        Claim(
            "the grid materialization is ahead in few dimensions, behind in many",
            "pages read and written by the standard materialization over those of the grid one: above "
            "1 in 2 dimensions, below 1 in 6, for all data and eps",
        ),
        Claim(
            "the standard materialization is not affected by the number of dimensions",
            "the most pages read and written over the least, from 2 to 6 dimensions: at most 1.25, with "
            "the grid order and without",
        ),
        Claim(
            "the standard materialization with the grid order below nested loops",
            "comparisons of nested loops over its own: above 1 in every number of dimensions",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
