"""How long an output takes from the instant at which it is true, for five queries.

Three schedulings run the same operators over the same sales. ITA looks for expired tuples when a
tuple reaches the operator: those that a selection or a join keeps away never tell it that time has
passed. TPA asks the operators below, and NTA sends a negative tuple, so that both know with the
next tuple that comes at all. They part in what they work: TPA scans the buffer of Q5's MAX, whose
pairs are in no useful order, and NTA takes every tuple twice.

On the simulated clock an operator that takes a tuple from its queue takes 20 us; a tuple looked up
or compared, or an operator asked for its clock, 10 us; a tuple that a scan goes over, 2 us. That is
about a thousand times what the compiled operators take where these figures were made. The factor is
set by what the paper says of its machine: it keeps up with every rate shown. The heaviest case, TPA
over Q5 at 40 per s with selectivity 0.2, scans 3,200 pairs 80 times per s, and is taken as half its
load. The order hardly hangs on the proportion: it is the same with queues ten times as dear, and if
all work costs the same, TPA and NTA tie in Q4.

An aggregate has an output for every change of its window. A row that leaves is an output too. In Q4
nothing stands above the join: the rows, which say themselves when they leave, are held by their
reader, and neither they nor what it takes to hold them in order is counted. Were it, NTA, whose
reader is told what leaves, would be ahead of TPA there, by 1%.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from windrow_papers.experiments.charts import Chart, Panel
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading, at_least, below
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.sched.queries import Q1, Q5, SCHEDULINGS, WORKLOAD, WorkloadQuery
from windrow_papers.experiments.sched.real_time import real_responses
from windrow_papers.experiments.sched.runs import (
    MAGNITUDE,
    PAPER,
    Extent,
    Three,
    in_order,
    lines_over,
    run_synthetic,
    runs_table,
)

SEED = 41
RATE_PER_S = 20.0
REAL_SCALE = 1 / 60
"""Windows of 10 s and 5 s where the clock is this machine's own."""


@dataclass(frozen=True)
class WorkloadSize(Extent):
    """The extent of a run, and seconds in real time."""

    real_s: float


SIZES = {
    Size.tiny: WorkloadSize(0.05, windows=3.0, real_s=0.0),
    Size.quick: WorkloadSize(1.0, windows=2.5, real_s=0.0),
    Size.full: WorkloadSize(1.0, windows=6.0, real_s=60.0),
}

Means = Mapping[str, Mapping[str, float]]
"""Mean response times by query and scheduling."""


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    cases = {query.name: _one(query, chosen, say) for query in WORKLOAD}
    means = {name: {one: ran.mean_s for one, ran in runs.items()} for name, runs in cases.items()}
    real = _in_real_time(chosen, say)
    return Findings(
        runs_table(cases),
        (
            Finding(
                _ita_slowest(means),
                _ita_slowest(real) if real else None,
                reason="so many tuples reach the operator that it learns of time as soon as others",
                reason_on_time="the wait for the next tuple differs less than steps do",
            ),
            Finding(
                _first(cases, "tpa", [one.name for one in WORKLOAD[:-1]]),
                reason="to probe takes longer there than to take a negative tuple",
            ),
            Finding(
                _first(cases, "nta", [Q5.name]),
                reason="so few pairs are in the buffer that to scan it is less than to take every "
                "tuple twice",
            ),
            Finding(
                _magnitude(means),
                _magnitude(real) if real else None,
                reason="a selection of 0.25 makes ITA wait for every fourth tuple, hence four times "
                "as long",
                reason_on_time="the two queries run in real time are those with the most and the "
                "least selective operators, four and ten times",
            ),
        ),
        _chart(cases),
    )


def _one(query: WorkloadQuery, chosen: WorkloadSize, say: Say) -> Three:
    return run_synthetic(
        query.name,
        query,
        chosen,
        say,
        rate=RATE_PER_S,
        join_selectivity=query.join_selectivity,
        seed=SEED,
    )


def _in_real_time(chosen: WorkloadSize, say: Say) -> dict[str, dict[str, float]]:
    """Q1 and Q5 by this machine's clock, where there is time for it."""
    if not chosen.real_s:
        return {}
    real = {}
    for query in (Q1, Q5):
        say(f"{query.name} in real time, {chosen.real_s:.0f} s")
        real[query.name] = real_responses(
            query,
            query.setting(scale=REAL_SCALE),
            rate_per_s=RATE_PER_S,
            seconds=chosen.real_s,
            seed=SEED,
        )
    return real


def _ita_slowest(means: Means) -> Reading:
    return below(
        [
            Case(f"{name}, ita against {other}", by[other], by["ita"])
            for name, by in means.items()
            for other in ("tpa", "nta")
        ]
    )


def _first(cases: Mapping[str, Three], best: str, names: list[str]) -> Reading:
    """That one scheduling answers sooner than either other in these queries."""
    chosen = {name: cases[name] for name in names}
    one, other = (in_order(chosen, (best, name)) for name in SCHEDULINGS if name != best)
    return one.and_also(other)


def _magnitude(means: Means) -> Reading:
    """ITA over the best, averaged over the queries."""
    times = {name: by["ita"] / min(by.values()) for name, by in means.items()}
    average = fmean(times.values())
    each = ", ".join(f"{name} {ratio:.1f} x" for name, ratio in times.items())
    decided = at_least(MAGNITUDE, [Case("on average", 1.0, average)])
    return Reading(average, f"{average:.1f} x on average ({each})", holds=decided.holds)


def _chart(cases: Mapping[str, Three]) -> Chart:
    x = list(range(len(cases)))
    panels = [
        Panel(
            title,
            "query",
            "ms",
            lines_over(x, list(cases.values()), is_max=is_max),
            ticks=list(cases),
        )
        for title, is_max in (("average", False), ("maximum", True))
    ]
    return Chart("Output response time, 20 tuples per s", panels)


EXPERIMENT = Experiment(
    name="sched-workload",
    paper=PAPER,
    figure="figure 10",
    setting="Q1 to Q5, 20 tuples per s and stream, windows 10 min (Q5: 10 and 5 min), selectivities "
    "0.25 (selections), 0.1 (joins with tables, Q5's join), 0.6 (Q4's join); simulated clock; at "
    "full size Q1 and Q5 also in real time for a minute each, with windows of 10 s and 5 s",
    claims=(
        Claim(
            "ITA slowest in all", "ITA's mean response time over TPA's and NTA's: above 1 in each"
        ),
        Claim("TPA best for Q1 to Q4", "ITA's and NTA's mean response time over TPA's: above 1"),
        Claim("NTA best for Q5", "ITA's and TPA's mean response time over NTA's: above 1"),
        Claim(
            "ITA an order of magnitude above the best on average",
            "ITA's mean response time over the best one's, averaged over the queries: at least 5",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
