"""MatWin against nested loops, over the size of the streams: two dimensions, eps 0.1.

Windows hold a tenth of each stream. Nested loops (algorithm 1, within the constraints) go over all of
the right stream for every candidate; a variant stops at the first pair that is better. MatWin's pages
have 32 tuples, memory has room for 16 of them. The standard materialization sorts and merges, and
writes the whole window for every tuple that comes; with the grid order (ego) only pages within reach
are read and compared; the grid materialization writes a tuple's own page.

MatWin does far less, and what it does is done page by page in Python, where nested loops are one
compiled loop: on time it is ahead once streams are long. Of the loops that stop, only the grid
materialization is ahead on time, and only with the longest streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow_papers.experiments.bmj.runs import (
    CELLS,
    COMPARISONS,
    CONTESTANTS,
    LOOPS,
    MATWINS,
    ORDERED,
    PAPER,
    PLAIN,
    SECONDS,
    STOPPING,
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
from windrow_papers.experiments.claims import Claim, Finding, Reading, below
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.workloads.points import (
    ANTI_CORRELATED,
    CORRELATED,
    NORMAL,
    TICKS,
    UNIFORM,
)

SEED = 61
OTHERS = (CORRELATED, ANTI_CORRELATED, NORMAL)
WIDE, NARROW = 0.2, 0.05
"""Other eps, as shares of the range of values."""


@dataclass(frozen=True)
class Extent:
    """Tuples of each stream in the cases over size, and in those of other data and eps."""

    tuples: tuple[int, ...]
    others: int


SIZES = {
    Size.tiny: Extent((60, 120), 60),
    Size.quick: Extent((500, 1_000, 2_000), 500),
    Size.full: Extent((500, 1_000, 2_000, 4_000, 8_000), 2_000),
}


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    extent = SIZES[size]
    warm_up()
    streams = {f"{count:,} tuples": made(count, 2, UNIFORM, seed=SEED) for count in extent.tuples}
    over_size = run_all(streams, CONTESTANTS, say)
    others = _others(extent.others, say)
    last = list(over_size)[-1]
    return Findings(
        runs_table({**over_size, **others}),
        (
            Finding(
                _below({**over_size, **others}, LOOPS, COMPARISONS).and_also(
                    _below({**over_size, **others}, STOPPING, COMPARISONS)
                ),
                _below({last: over_size[last]}, LOOPS, SECONDS),
                reason="few tuples are candidates, so that nested loops compare little more than "
                "each pair once",
                reason_on_time="pages are scheduled, read and written in Python: a comparison of "
                "nested loops takes 3 ns, a page of MatWin's some 15 us",
            ),
            *_of_order({**over_size, **others}, {last: over_size[last]}),
        ),
        _chart(extent, list(over_size.values())),
    )


def _others(count: int, say: Say) -> Mapping[str, Runs]:
    """Other distributions, and other eps."""
    inputs = {name: made(count, 2, name, seed=SEED) for name in OTHERS}
    for share in (WIDE, NARROW):
        given = made(count, 2, UNIFORM, seed=SEED)
        inputs[f"eps {share}"] = Input(given.left, given.right, int(share * TICKS))
    return run_all(
        {f"{label}, {count:,}": given for label, given in inputs.items()}, CONTESTANTS, say
    )


def _below(cases: Mapping[str, Runs], loops: str, by: str) -> Reading:
    return below([case for name in MATWINS for case in versus(cases, name, loops, by)])


def _of_order(cases: Mapping[str, Runs], last: Mapping[str, Runs]) -> tuple[Finding, Finding]:
    """With the grid order below without; grid materialization ahead of standard."""
    with_order = below(versus(cases, ORDERED, PLAIN, COMPARISONS)).and_also(
        below(versus(cases, ORDERED, PLAIN, TRANSFERS))
    )
    return (
        Finding(
            with_order,
            below(versus(last, ORDERED, PLAIN, SECONDS)),
            reason="windows have so few pages that the order rules none out",
            reason_on_time="what is saved is less than what the order costs to keep",
        ),
        Finding(
            below(versus(cases, CELLS, ORDERED, COMPARISONS)).and_also(
                below(versus(cases, CELLS, ORDERED, TRANSFERS))
            ),
            below(versus(last, CELLS, ORDERED, SECONDS)),
            reason="windows of a few pages are merged with fewer transfers than the half-empty pages "
            "of the cells take to be read",
            reason_on_time="more pages are read to be compared, as those of a cell are not full",
        ),
    )


def _chart(extent: Extent, cases: list[Runs]) -> Chart:
    panels = [
        Panel(
            "work", "tuples of each stream", "comparisons",
            lines_over(extent.tuples, cases, CONTESTANTS, lambda one: one.figure(COMPARISONS)),
        ),
        Panel(
            "pages", "tuples of each stream", "pages read and written",
            lines_over(extent.tuples, cases, MATWINS, lambda one: one.figure(TRANSFERS)),
        ),
        Panel(
            "time", "tuples of each stream", "s",
            lines_over(extent.tuples, cases, CONTESTANTS, lambda one: one.figure(SECONDS)),
        ),
    ]  # fmt: skip
    return Chart("MatWin and nested loops, two dimensions, uniform, eps 0.1", panels)


EXPERIMENT = Experiment(
    name="bmj-size",
    paper=PAPER,
    figure="figure 11",
    setting="2 dimensions, eps 0.1, uniform, 500 to 8,000 tuples of each stream; with 2,000 tuples also "
    "correlated, anti-correlated and normal data, and eps 0.2 and 0.05; left outer; pages of 32 "
    "tuples, 16 buffers",
    claims=(
        Claim(
            "every MatWin variant below nested loops",
            "comparisons of nested loops, as printed and stopping, over those of each variant: above 1 in "
            "every case; on time, as printed, with the longest streams",
        ),
        Claim(
            "with the grid order below without",
            "comparisons, and pages read and written, of the standard materialization without the "
            "grid order over those with it: above 1 in every case; on time, with the longest streams",
        ),
        Claim(
            "the grid materialization slightly below the standard one",
            "comparisons, and pages read and written, of the standard materialization over those of the "
            "grid one: above 1 in every case; on time, with the longest streams",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
