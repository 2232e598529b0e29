"""Response times as more tuples pass: a selection below SUM (Q1), a join below MAX (Q5).

Q1 runs over a day of one retail stream of the shape the paper describes, 1.4 sales per s while the
doors are open, with bursts. A selection that passes a fifth makes ITA wait for every fifth tuple;
one that passes all tells it of every tuple, as the others learn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.experiments.charts import Chart
from windrow.experiments.claims import Case, Claim, Finding, at_least, at_most
from windrow.experiments.experiment import Experiment, Findings, Say, Size
from windrow.experiments.sched.queries import Q1, Q5
from windrow.experiments.sched.runs import (
    MAGNITUDE,
    PAPER,
    Three,
    in_order,
    response_panels,
    run_all,
    runs_table,
)
from windrow.experiments.sched.sales import Sales, synthetic_sales
from windrow.experiments.workloads.retail import Retail

SEED = 43
SELECTIONS = (0.2, 0.4, 0.6, 0.8, 1.0)
JOINS = (0.1, 0.2, 0.4, 0.6, 0.8)
RATE_PER_S = 20.0
EQUAL = 1.05


@dataclass(frozen=True)
class SelectivitySize:
    """Retail transactions per hour; the share of Q5's windows, and how many of them a run lasts."""

    per_hour: float
    scale: float
    windows: float


SIZES = {
    Size.tiny: SelectivitySize(500, 0.05, windows=3.0),
    Size.quick: SelectivitySize(5_000, 1.0, windows=2.0),
    Size.full: SelectivitySize(5_000, 1.0, windows=5.0),
}

Shares = Mapping[float, Three]


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    sold = Sales.drawn(Retail(1, per_hour=chosen.per_hour, seed=SEED).streams(), SEED)
    one = {}
    for share in SELECTIONS:
        say(f"{_selection(share)}: {len(sold):,} tuples")
        setting = Q1.setting(selectivity=share)
        one[share] = run_all(_selection(share), Q1, sold, setting)
    several = {share: _joined(share, chosen, say) for share in JOINS}
    joins = {_join(share): runs for share, runs in several.items()}
    return Findings(
        runs_table({_selection(share): runs for share, runs in one.items()} | joins),
        (
            Finding(
                at_least(MAGNITUDE, [_ita_over_tpa(one, SELECTIONS[0])]),
                reason="with a selectivity of 0.2 every fifth tuple reaches SUM, whenever it comes, so "
                "that ITA waits five times as long as TPA does for any tuple; ten times would need "
                "tuples that pass in clusters",
            ),
            Finding(
                at_most(EQUAL, [_ita_over_tpa(one, SELECTIONS[-1])]),
                reason="what TPA and NTA do in addition shows",
            ),
            Finding(
                in_order(joins, ("nta", "tpa")).and_also(in_order(joins, ("nta", "ita"))),
                reason="so few pairs are in the buffer that to scan it is less than to take every "
                "tuple twice",
            ),
        ),
        _chart(one, several),
    )


def _joined(share: float, chosen: SelectivitySize, say: Say) -> Three:
    setting = Q5.setting(scale=chosen.scale)
    sales = synthetic_sales(
        RATE_PER_S,
        streams=2,
        items=Q5.items(RATE_PER_S, setting, share),
        seconds=chosen.windows * max(setting.windows_s),
        seed=SEED,
    )
    say(f"{_join(share)}: {len(sales):,} tuples")
    return run_all(_join(share), Q5, sales, setting)


def _selection(share: float) -> str:
    return f"Q1, selection {share}"


def _join(share: float) -> str:
    return f"Q5, join {share}"


def _ita_over_tpa(shares: Shares, share: float) -> Case:
    runs = shares[share]
    return Case(f"selection {share}", runs["tpa"].mean_s, runs["ita"].mean_s)


def _chart(one: Shares, several: Shares) -> Chart:
    by_name = {"selection (Q1)": one, "join (Q5)": several}
    panels = response_panels(by_name, "selectivity")
    return Chart("Output response time as more tuples pass", panels, columns=2)


EXPERIMENT = Experiment(
    name="sched-selectivity",
    paper=PAPER,
    figure="figures 12 and 15",
    setting="Q1 over a day of generated retail sales (5,000 per hour), window 10 min, selection 0.2 "
    "to 1; Q5 at 20 tuples per s and stream, windows 10 and 5 min, join 0.1 to 0.8; simulated clock",
    claims=(
        Claim(
            "an order of magnitude between ITA and TPA at 0.2",
            "ITA's mean response time over TPA's: at least 5",
        ),
        Claim("equal at 1.0", "ITA's mean response time over TPA's: at most 1.05"),
        Claim(
            "with several windows NTA best",
            "TPA's and ITA's mean response time over NTA's: above 1 at every selectivity",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
