"""How many tuples each scheduling holds, in its operators, in W-Expire and waiting at the scan.

W-Expire stands below what selects, and holds all tuples of a window: that is what NTA pays in Q1 to
Q3. In return SUM needs no tuples, only a total per group. Where there is a join, its buffers are
W-Expire's. ITA holds expired tuples until the next one comes by. The rows of Q4's answer are their
reader's, and nobody's here.
"""

from __future__ import annotations

from collections.abc import Mapping

from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import (
    Case,
    Claim,
    Finding,
    Reading,
    at_least,
    at_most,
    below,
)
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.sched.queries import SCHEDULINGS, WORKLOAD
from windrow_papers.experiments.sched.runs import PAPER, Extent, Three, run_synthetic
from windrow_papers.experiments.tables import Table, Value, table

SEED = 45
RATE_PER_S = 20.0
SINGLE, JOINED, SUMMED = ("Q1", "Q2", "Q3"), ("Q4", "Q5"), ("Q1", "Q3")
ALIKE = 1.01
ONLY_TOTALS = 2.0
"""So much less an operator stores that keeps totals per group and not the window's tuples."""


SIZES = {
    Size.tiny: Extent(0.05, windows=3.0),
    Size.quick: Extent(1.0, windows=2.5),
    Size.full: Extent(1.0, windows=5.0),
}


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    cases = {}
    for query in WORKLOAD:
        cases[query.name] = run_synthetic(
            query.name,
            query,
            chosen,
            say,
            rate=RATE_PER_S,
            join_selectivity=query.join_selectivity,
            seed=SEED,
        )
    return Findings(
        _table(cases),
        (
            Finding(_less(cases), reason="what SUM need not store is more than W-Expire's window"),
            Finding(_shared(cases), reason="negative tuples wait in queues"),
            Finding(
                _totals(cases),
                reason="there are hardly fewer groups than tuples: the total of a group takes the "
                "place of the one or two tuples that it has in the window",
            ),
        ),
        _chart(cases),
    )


def _less(cases: Mapping[str, Three]) -> Reading:
    """What NTA holds over what the others hold."""
    return below(
        [
            Case(f"{name}, {other}", cases[name][other].held, cases[name]["nta"].held)
            for name in SINGLE
            for other in ("ita", "tpa")
        ]
    )


def _shared(cases: Mapping[str, Three]) -> Reading:
    return at_most(
        ALIKE, [Case(name, cases[name]["tpa"].held, cases[name]["nta"].held) for name in JOINED]
    )


def _totals(cases: Mapping[str, Three]) -> Reading:
    """What SUM stores with tuples over what it stores with totals."""
    return at_least(
        ONLY_TOTALS,
        [
            Case(f"{name}, {other}", cases[name]["nta"].stored, cases[name][other].stored)
            for name in SUMMED
            for other in ("ita", "tpa")
        ],
    )


def _table(cases: Mapping[str, Three]) -> Table:
    rows: list[list[Value]] = [
        [case, name, one.in_all, one.stored, one.stored_by_expire, one.waiting, one.held]
        for case, runs in cases.items()
        for name, one in runs.items()
    ]
    return table(
        ("case", "scheduling", "results", "stored by operators", "stored by W-Expire",
         "waiting at the scan", "held"),
        rows,
    )  # fmt: skip


def _chart(cases: Mapping[str, Three]) -> Chart:
    x = list(range(len(cases)))
    lines = [Line(name, x, [runs[name].held for runs in cases.values()]) for name in SCHEDULINGS]
    operators = [
        Line(f"{name}, operators", x, [runs[name].stored for runs in cases.values()])
        for name in SCHEDULINGS
    ]
    panels = [
        Panel("all", "query", "tuples held, on average", lines, ticks=list(cases)),
        Panel("in operators", "query", "tuples stored, on average", operators, ticks=list(cases)),
    ]
    return Chart("Tuples held, 20 tuples per s and stream", panels)


EXPERIMENT = Experiment(
    name="sched-memory",
    paper=PAPER,
    figure="section 6.4",
    setting="Q1 to Q5, 20 tuples per s and stream, windows 10 min (Q5: 10 and 5 min)",
    claims=(
        Claim(
            "TPA and ITA hold less than NTA",
            "tuples that NTA holds over those of ITA and of TPA: above 1 in Q1 to Q3, where W-Expire "
            "has a window of its own",
        ),
        Claim(
            "as part of the join's buffers, W-Expire takes no memory",
            "tuples that NTA holds over those of TPA: at most 1.01 in Q4 and Q5",
        ),
        Claim(
            "NTA keeps only accumulators for SUM",
            "what ITA's and TPA's operators store over what NTA's store: at least 2 in Q1 and Q3",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
