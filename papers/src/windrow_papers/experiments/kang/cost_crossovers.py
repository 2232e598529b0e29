"""Which combination is the cheapest as arrivals shift from stream B to stream A.

The faster stream probes more, so that its partner's window is worth a tree; the slower one probes
little, so that its partner's window is worth nothing dearer than a buffer. In between both windows
are hash tables. With the equations the crossovers are exact ratios of the rates.

B+trees are left out, as in the paper: with its weights they would take the place of the T-trees in
windows of this size, which cost a little more, and take more memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.calibration.measuring import (
    ROUNDS,
    CompiledBench,
    measure,
    weights_in_microseconds,
)
from windrow.optimize.cost.structures import Sizes
from windrow_papers.cost.combinations import PAPER as PAPER_WEIGHTS
from windrow_papers.cost.combinations import Combination, Workload, combination_cost
from windrow_papers.cost.crossovers import PAPER_STRUCTURES, paper_crossovers, reigns
from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading, below
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.kang.combinations import EIGHT, PAPER
from windrow_papers.experiments.kang.counted_work import weights_in_work
from windrow_papers.experiments.kang.joins import arrivals, metered
from windrow_papers.experiments.kang.winners import (
    WHY_NOT_PREDICTED,
    Costs,
    Meeting,
    agreement,
    meeting,
    predicted_costs,
    winner,
)
from windrow_papers.experiments.tables import Table, Value, table

SEED = 3
WINDOW = 5_000
ALL_RATES = 100
WINNERS = ("TN", "TH", "HH", "HT", "NT")
SMALL_BUCKETS = 2
SKEWED_WINDOWS = ((6_000, 4_000), (8_000, 2_000), (9_500, 500))
"""Windows of 10,000 tuples together, A larger than B."""

WHY_NOT_TO_THE_RIGHT = (
    "TN/TH and HT/NT, where a buffer and a hash table meet, do move to the right. TH/HH and HH/HT "
    "follow the height of the T-trees: over a larger window A the tree is higher, and gives way to "
    "the hash table sooner; over a smaller window B it is lower, and takes over sooner. Both move "
    "to the left, by the paper's own equations 9 and 10 as well"
)

HH, HT, TH = (Combination.of(letters) for letters in ("HH", "HT", "TH"))


@dataclass(frozen=True)
class CrossoversSize:
    """Arrivals per run, rates of A (every so many of 100), and rounds of fitting weights."""

    tuples: int
    every: int
    rounds: int = ROUNDS


SIZES = {
    Size.tiny: CrossoversSize(tuples=200, every=20, rounds=1),
    Size.quick: CrossoversSize(tuples=5_000, every=5),
    Size.full: CrossoversSize(tuples=20_000, every=5),
}


def run(size: Size, say: Say) -> Findings:
    """Measures, computes and decides."""
    chosen = SIZES[size]
    points = measure(CompiledBench, Sizes(), say, windows=(WINDOW,), rounds=chosen.rounds)
    in_work = weights_in_work(say, (WINDOW,), chosen.rounds)
    in_time = weights_in_microseconds(points)
    on_work, on_time = [], []
    for workload in map(workload_at, range(0, ALL_RATES + 1, chosen.every)):
        came = arrivals(workload, chosen.tuples, SEED)
        runs = metered(EIGHT, came, Sizes(), say)
        on_work.append(meeting(workload, in_work, Sizes(), runs, lambda run: run.work))
        on_time.append(meeting(workload, in_time, Sizes(), runs, lambda run: run.seconds * 1e6))
    return Findings(
        _table(on_work, on_time),
        (
            Finding(
                agreement(on_work),
                agreement(on_time),
                reason=WHY_NOT_PREDICTED,
                reason_on_time=WHY_NOT_PREDICTED,
            ),
            Finding(_winners(), reason="the equations rank the combinations otherwise"),
            Finding(_small_buckets(), reason="a tree is cheaper than a bucket of two"),
            Finding(below(_moves()), reason=WHY_NOT_TO_THE_RIGHT),
            Finding(_at_500(), reason="the equations give another ratio"),
        ),
        _chart(on_time),
    )


def workload_at(rate_a: float) -> Workload:
    """A workload of figure 2: so many of 100 arrivals are A's."""
    return Workload(rate_a, ALL_RATES - rate_a, WINDOW, WINDOW)


def _cost(combination: Combination, workload: Workload, sizes: Sizes) -> float:
    return combination_cost(combination, workload, PAPER_WEIGHTS, sizes).total


def _winners() -> Reading:
    found = [
        str(reign.combination)
        for reign in reigns(WINDOW, WINDOW, PAPER_WEIGHTS, Sizes(), PAPER_STRUCTURES)
    ]
    return Reading(len(found), ", ".join(found), holds=tuple(found) == WINNERS)


def _small_buckets() -> Reading:
    """HH against HT and TH with buckets of two, at every rate."""
    sizes = Sizes(bucket=SMALL_BUCKETS)
    return below(
        [
            Case(
                f"HH against {other}, {rate_a}/{ALL_RATES - rate_a}",
                _cost(HH, workload_at(rate_a), sizes),
                _cost(other, workload_at(rate_a), sizes),
            )
            for other in (HT, TH)
            for rate_a in range(ALL_RATES + 1)
        ]
    )


def _moves() -> list[Case]:
    """Each crossover with windows alike, and with a larger A and a smaller B."""
    cases = []
    level = paper_crossovers(WINDOW, WINDOW, PAPER_WEIGHTS, Sizes())
    for window_a, window_b in SKEWED_WINDOWS:
        skewed = paper_crossovers(window_a, window_b, PAPER_WEIGHTS, Sizes())
        for before, after in zip(level, skewed, strict=True):
            assert before.ratio is not None, "with the paper's weights every crossover is there"
            assert after.ratio is not None, "with the paper's weights every crossover is there"
            label = f"{before.below}/{before.above}, windows {window_a:,} and {window_b:,}"
            cases.append(Case(label, before.ratio, after.ratio))
    return cases


def _at_500() -> Reading:
    ratio = paper_crossovers(WINDOW, 500, PAPER_WEIGHTS, Sizes())[0].ratio or 0.0
    return Reading(ratio, f"{ratio:.4f}", holds=round(ratio, 4) == 0.0094)


def _table(on_work: Sequence[Meeting], on_time: Sequence[Meeting]) -> Table:
    """A row per rate and combination, and who wins, by the model and when run."""
    rows: list[list[Value]] = []
    for work, timed in zip(on_work, on_time, strict=True):
        by_paper = predicted_costs(EIGHT, work.workload, PAPER_WEIGHTS, Sizes())
        winners = [
            str(winner(costs)) for met in (work, timed) for costs in (met.predicted, met.measured)
        ]
        rows += [
            [
                work.workload.rate_a, work.workload.rate_b, str(one), by_paper[one] * ALL_RATES,
                work.predicted[one], work.measured[one], timed.predicted[one],
                timed.measured[one], *winners,
            ]
            for one in EIGHT
        ]  # fmt: skip
    return table(_COLUMNS, rows, _BRIEF)


_COLUMNS = (
    "rate A", "rate B", "combination", "the paper's weights", "model, work/tuple",
    "measured, work/tuple", "model, us/tuple", "measured, us/tuple", "wins by work, model",
    "wins by work, measured", "wins by time, model", "wins by time, measured",
)  # fmt: skip
_BRIEF = ("rate A", "combination", "model, us/tuple", "measured, us/tuple")


def _chart(on_time: Sequence[Meeting]) -> Chart:
    """Figures 2 and 3: the paper's weights, this machine's, and runs."""
    rates = range(ALL_RATES + 1)
    by_paper = [predicted_costs(EIGHT, workload_at(at), PAPER_WEIGHTS, Sizes()) for at in rates]
    measured_at = [met.workload.rate_a for met in on_time]
    panels = [
        _panel("the paper's weights", "units of the paper per tuple", rates, by_paper),
        _panel("model, weights of this machine", "us per tuple", measured_at,
               [met.predicted for met in on_time]),
        _panel("measured", "us per tuple", measured_at, [met.measured for met in on_time]),
    ]  # fmt: skip
    return Chart(f"Costs of eight combinations, windows of {WINDOW:,}", panels)


def _panel(title: str, y_label: str, rates: Sequence[float], costs: Sequence[Costs]) -> Panel:
    x = [float(rate) for rate in rates]
    lines = [Line(str(one), x, [at[one] for at in costs]) for one in EIGHT]
    return Panel(title, f"arrivals of A, of {ALL_RATES}", y_label, lines)


EXPERIMENT = Experiment(
    name="cost-crossovers",
    paper=PAPER,
    figure="figures 2 and 3, equations 8 to 11",
    setting="windows of 5,000 tuples, rates of A and B from 0/100 to 100/0, buckets of 10, nodes "
    "of 100",
    claims=(
        Claim(
            "the predicted winner is the measured one, except within 5% of a crossover",
            "the cheapest of the eight, weights fitted in the same run: alike at all rates that "
            "are more than 5 of 100 arrivals away from a predicted crossover",
        ),
        Claim(
            "the winners are TN, TH, HH, HT, NT in that order",
            "the cheapest combination at every ratio of the rates, the paper's weights: these",
        ),
        Claim(
            "with buckets of 2, HH beats HT and TH everywhere",
            "their cost over HH's, at 101 rates: above 1",
        ),
        Claim(
            "a larger A with a smaller B moves every crossover to the right",
            "each of the four ratios over that of equal windows, for three pairs of windows: "
            "above 1",
        ),
        Claim("the TN/TH crossover at B = 500 is 0.0094", "the ratio, rounded: 0.0094"),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
