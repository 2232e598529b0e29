"""Response times as tuples come faster: one window (Q3), and two that differ (Q5).

Whoever waits for the next tuple waits less when tuples come faster; whoever works on a buffer works
more, since there is more in it. With one window only the former counts. With two, the buffer of MAX
is scanned by TPA with every tuple and by ITA with every pair.
"""

from __future__ import annotations

from collections.abc import Mapping

from windrow_papers.experiments.charts import Chart
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading, at_most, below, falling
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.sched.queries import Q3, Q5, SCHEDULINGS, WorkloadQuery
from windrow_papers.experiments.sched.runs import (
    PAPER,
    Extent,
    Three,
    in_order,
    response_panels,
    run_synthetic,
    runs_table,
)

SEED = 42
ONE, SEVERAL = (5.0, 10.0, 20.0, 30.0, 40.0), (10.0, 20.0, 30.0, 40.0)
JOIN_SELECTIVITY = 0.2
ALIKE = 1.25
"""How far maxima may be apart that are almost the same."""


SIZES = {
    Size.tiny: Extent(0.05, windows=3.0),
    Size.quick: Extent(1.0, windows=2.0),
    Size.full: Extent(1.0, windows=5.0),
}

Rates = Mapping[float, Three]


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    one = {rate: _at(Q3, rate, 0.0, chosen, say) for rate in ONE}
    several = {rate: _at(Q5, rate, JOIN_SELECTIVITY, chosen, say) for rate in SEVERAL}
    return Findings(
        runs_table(_named(Q3, one) | _named(Q5, several)),
        (
            Finding(
                in_order(_named(Q3, one), ("tpa", "nta", "ita")),
                reason="what probing takes and what negative tuples take is near each other",
            ),
            Finding(_converging(one), reason="the gap follows work, which grows with the rate"),
            Finding(
                in_order(_named(Q5, several), ("nta", "tpa", "ita")),
                reason="at that rate the buffer is so small that to scan it is less than to take "
                "every tuple twice",
            ),
            Finding(_degrading(several), reason=_why_not_degrading(several)),
            Finding(
                _alike(several), reason="the longest wait for a tuple falls together with a scan"
            ),
        ),
        _chart(one, several),
    )


def _at(query: WorkloadQuery, rate: float, selectivity: float, chosen: Extent, say: Say) -> Three:
    return run_synthetic(
        _case(query, rate),
        query,
        chosen,
        say,
        rate=rate,
        join_selectivity=selectivity,
        seed=SEED,
    )


def _case(query: WorkloadQuery, rate: float) -> str:
    return f"{query.name}, {rate:.0f} per s"


def _named(query: WorkloadQuery, rates: Rates) -> dict[str, Three]:
    return {_case(query, rate): runs for rate, runs in rates.items()}


def _converging(rates: Rates) -> Reading:
    """How far the slowest is from the fastest, in seconds, at the lowest and the highest rate."""
    gaps = []
    for rate, runs in rates.items():
        means = [one.mean_s for one in runs.values()]
        gaps.append(Case(f"{rate:.0f} per s", 1.0, max(means) - min(means)))
    first, last = gaps[0], gaps[-1]
    text = f"{first.large:.3f} s apart at {first.label}, {last.large:.3f} s at {last.label}"
    return Reading(last.large / first.large, text, holds=falling(gaps).holds)


def _degrading(rates: Rates) -> Reading:
    """Mean response times at the highest rate over those at the lowest."""
    slow, fast = rates[min(rates)], rates[max(rates)]
    return below([Case(name, slow[name].mean_s, fast[name].mean_s) for name in SCHEDULINGS])


def _why_not_degrading(rates: Rates) -> str:
    slow, fast = rates[min(rates)]["tpa"], rates[max(rates)]["tpa"]
    return (
        "the wait for the next tuple, which tells that time has passed, shrinks as rates grow, and "
        "is most of a response time here: TPA's mean is "
        f"{slow.mean_s * 1e3:.1f} ms at {min(rates):.0f} per s and {fast.mean_s * 1e3:.1f} ms at "
        f"{max(rates):.0f} per s, though it scans "
        f"{fast.scanned / slow.scanned:.1f} times as many pairs per tuple. They would degrade on a "
        "machine near its capacity, where work is the larger part"
    )


def _alike(rates: Rates) -> Reading:
    cases = []
    for rate, runs in rates.items():
        low, high = sorted((runs["tpa"].max_s, runs["nta"].max_s))
        cases.append(Case(f"{rate:.0f} per s", low, high))
    return at_most(ALIKE, cases)


def _chart(one: Rates, several: Rates) -> Chart:
    by_name = {"one window (Q3)": one, "two windows (Q5)": several}
    panels = response_panels(by_name, "tuples per s and stream")
    return Chart("Output response time as tuples come faster", panels, columns=2)


EXPERIMENT = Experiment(
    name="sched-rate",
    paper=PAPER,
    figure="figures 11 and 14",
    setting="Q3 at 5 to 40 tuples per s, window 10 min; Q5 at 10 to 40 per s and stream, windows 10 "
    "and 5 min, selectivity of the join 0.2; simulated clock",
    claims=(
        Claim(
            "one window: TPA, NTA, ITA in that order",
            "the next one's mean response time over each one's: above 1 at every rate",
        ),
        Claim(
            "one window: the three converge as the rate grows",
            "seconds from the fastest to the slowest: fewer at the highest rate than at the lowest",
        ),
        Claim(
            "several windows: NTA, TPA, ITA in that order",
            "the next one's mean response time over each one's: above 1 at every rate",
        ),
        Claim(
            "several windows: all degrade as the rate grows",
            "the mean response time at the highest rate over that at the lowest: above 1 for all",
        ),
        Claim(
            "several windows: TPA and NTA alike in the maximum",
            "the larger maximum over the smaller: at most 1.25 at every rate",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
