"""The costs that the model estimates, figure by figure against those that the paper prints.

The paper's weights, buckets of 10 and nodes of 100. As printed, equation 6 counts the binary search
of a T-tree once for an insertion and a removal; the table's figures count it twice, and so do we.
B+trees, which the table leaves out, are in the table of results without a figure to compare with.
"""

from __future__ import annotations

from windrow.optimize.cost.structures import Sizes
from windrow_papers.cost.combinations import PAPER as PAPER_WEIGHTS
from windrow_papers.cost.combinations import combination_cost, every_cost
from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import Claim, Finding, Reading
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.kang.combinations import EIGHT, PAPER, WORKLOADS
from windrow_papers.experiments.tables import Value, table

DECIMALS = 2
PRINTED = {
    "highly skewed": (7.06, 9.56, 10.89, 5.74, 5.99, 2845.87, 4.67, 2849.69),
    "moderately skewed": (7.06, 11.85, 6.46, 12.46, 722.39, 424.87, 727.78, 424.27),
    "even": (7.06, 11.60, 8.93, 9.73, 993.42, 543.84, 996.09, 545.71),
}
"""Table 3, in the order of its columns."""


def run(size: Size, say: Say) -> Findings:
    """Computes and decides; nothing is measured, so that every size is the same."""
    say(f"table 3 at {size} size: {len(EIGHT) * len(WORKLOADS)} figures")
    estimated = {name: _estimates(name) for name in WORKLOADS}
    alike = sum(
        round(ours, DECIMALS) == theirs
        for name, printed in PRINTED.items()
        for ours, theirs in zip(estimated[name], printed, strict=True)
    )
    asked = sum(map(len, PRINTED.values()))
    text = f"{alike} of {asked} figures alike"
    return Findings(
        table(("workload", "combination", "model", "paper"), _rows()),
        (
            Finding(
                Reading(alike / asked, text, holds=alike == asked),
                reason="the equations as repaired do not give the paper's figures",
            ),
        ),
        Chart("Estimated costs of the combinations", [_panel(name) for name in WORKLOADS]),
    )


def _estimates(name: str) -> list[float]:
    return [combination_cost(one, WORKLOADS[name], PAPER_WEIGHTS, Sizes()).total for one in EIGHT]


def _rows() -> list[list[Value]]:
    """All sixteen combinations, the cheapest first; what the paper does not print is blank."""
    rows: list[list[Value]] = []
    for name, workload in WORKLOADS.items():
        printed = dict(zip(EIGHT, PRINTED[name], strict=True))
        for cost in every_cost(workload, PAPER_WEIGHTS, Sizes()):
            theirs = printed.get(cost.combination)
            shown = "" if theirs is None else f"{theirs:.{DECIMALS}f}"
            rows.append([name, str(cost.combination), f"{cost.total:.{DECIMALS}f}", shown])
    return rows


def _panel(name: str) -> Panel:
    workload, x = WORKLOADS[name], [float(at) for at in range(len(EIGHT))]
    return Panel(
        f"{name}: windows {workload.window_a:g}/{workload.window_b:g}, "
        f"rates {workload.rate_a:g}/{workload.rate_b:g}",
        "combination",
        "cost per unit of time",
        [Line("model", x, _estimates(name)), Line("paper", x, PRINTED[name], is_dashed=True)],
        ticks=[str(one) for one in EIGHT],
    )


EXPERIMENT = Experiment(
    name="cost-table",
    paper=PAPER,
    figure="table 3",
    setting="the three workloads of figure 4, the paper's weights; computed, nothing measured",
    claims=(
        Claim(
            "the 24 figures of the table come out to two decimals",
            "figures that are the paper's when rounded: 24 of 24",
        ),
    ),
    seed=0,
    run=run,
    prose=__doc__,
)
