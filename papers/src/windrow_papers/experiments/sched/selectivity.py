"""Response times as more tuples pass: a selection below SUM (Q1), a join below MAX (Q5).

Q1 runs over a day of one retail stream of the shape the paper describes, 1.4 sales per s while the
doors are open, with bursts. A selection that passes a fifth makes ITA wait for every fifth tuple;
one that passes all tells it of every tuple, as the others learn. It runs over real transactions too,
where all items of a basket have one time; whether an item passes is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow_papers.experiments.charts import Chart
from windrow_papers.experiments.claims import Case, Claim, Finding, at_least, at_most
from windrow_papers.experiments.errors import ExperimentError
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.sched.queries import Q1, Q5
from windrow_papers.experiments.sched.runs import (
    MAGNITUDE,
    PAPER,
    Three,
    in_order,
    response_panels,
    run_all,
    runs_table,
)
from windrow_papers.experiments.sched.sales import Sales, synthetic_sales
from windrow_papers.experiments.workloads.retail import Retail
from windrow_papers.experiments.workloads.streams import Streams
from windrow_papers.experiments.workloads.transactions import transactions

SEED = 43
SELECTIONS = (0.2, 0.4, 0.6, 0.8, 1.0)
JOINS = (0.1, 0.2, 0.4, 0.6, 0.8)
RATE_PER_S = 20.0
EQUAL = 1.05
REAL = ", real transactions"


@dataclass(frozen=True)
class SelectivitySize:
    """Retail transactions per hour; days of real ones; Q5's share of its windows, and how many.

    Attributes:
        per_hour: transactions that are generated.
        real_days: of real transactions.
        scale: the share of Q5's windows.
        windows: how many of them a run of Q5 lasts.
    """

    per_hour: float
    real_days: int
    scale: float
    windows: float


SIZES = {
    Size.tiny: SelectivitySize(500, 1, 0.05, windows=3.0),
    Size.quick: SelectivitySize(5_000, 7, 1.0, windows=2.0),
    Size.full: SelectivitySize(5_000, 28, 1.0, windows=5.0),
}

Shares = Mapping[float, Three]


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    one = _selected(Retail(1, per_hour=chosen.per_hour, seed=SEED).streams(), "", say)
    real: dict[float, Three] = {}
    left_out = ""
    try:
        real = _selected(transactions(1, days=chosen.real_days), REAL, say)
    except ExperimentError as error:
        left_out = f"Q1{REAL} ({error.sentence})"
        say(f"Q1{REAL}: not measured: {error.sentence}")
    several = {share: _joined(share, chosen, say) for share in JOINS}
    joins = {_join(share): runs for share, runs in several.items()}
    selections = {_selection(share): runs for share, runs in one.items()}
    selections |= {_selection(share) + REAL: runs for share, runs in real.items()}
    return Findings(
        runs_table(selections | joins),
        (
            Finding(
                at_least(MAGNITUDE, _ita_over_tpa(one, real, SELECTIONS[0])),
                reason="with a selectivity of 0.2 every fifth tuple reaches SUM, whenever it comes, so "
                "that ITA waits five times as long as TPA does for any tuple; ten times would need "
                "tuples that pass in clusters. Real tuples come in baskets, and about two of three "
                "baskets have an item that passes, by which ITA learns of time",
                left_out=left_out,
            ),
            Finding(
                at_most(EQUAL, _ita_over_tpa(one, real, SELECTIONS[-1])),
                reason="what TPA and NTA do in addition shows",
                left_out=left_out,
            ),
            Finding(
                in_order(joins, ("nta", "tpa")).and_also(in_order(joins, ("nta", "ita"))),
                reason="so few pairs are in the buffer that to scan it is less than to take every "
                "tuple twice",
            ),
        ),
        _chart(one, several),
        left_out=left_out,
    )


def _selected(streams: Streams, kind: str, say: Say) -> dict[float, Three]:
    """Q1 over sales at the times of a stream, by the share that passes."""
    sold = Sales.drawn(streams, SEED)
    found = {}
    for share in SELECTIONS:
        case = _selection(share) + kind
        say(f"{case}: {len(sold):,} tuples")
        found[share] = run_all(case, Q1, sold, Q1.setting(selectivity=share))
    return found


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


def _ita_over_tpa(one: Shares, real: Shares, share: float) -> list[Case]:
    """ITA's mean response time against TPA's, over generated and, if measured, real sales."""
    cases = {f"selection {share}": one[share]}
    if share in real:
        cases[f"selection {share}{REAL}"] = real[share]
    return [Case(label, runs["tpa"].mean_s, runs["ita"].mean_s) for label, runs in cases.items()]


def _chart(one: Shares, several: Shares) -> Chart:
    by_name = {"selection (Q1)": one, "join (Q5)": several}
    panels = response_panels(by_name, "selectivity")
    return Chart("Output response time as more tuples pass", panels, columns=2)


EXPERIMENT = Experiment(
    name="sched-selectivity",
    paper=PAPER,
    figure="figures 12 and 15",
    setting="Q1 over a day of generated retail sales (5,000 per hour) and over 28 days of real ones, "
    "window 10 min, selection 0.2 to 1; Q5 at 20 tuples per s and stream, windows 10 and 5 min, join 0.1 to 0.8; simulated clock",
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
