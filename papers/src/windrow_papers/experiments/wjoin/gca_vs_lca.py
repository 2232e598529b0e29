"""Windows that differ: one window for all, or the largest of each stream.

Four streams, one pair within 1 s of each other, all other pairs within 0.8 s or 0.1 s. GCA joins
with 1 s everywhere; LCA with 1 s for two streams and the smaller window for the others. Both then
refine, and throw the surplus away. The closed bounds of each pair (closure, few) need no refining,
and are shown beside them.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.plan.windows import Bound
from windrow_papers.experiments.board import TIME, WORK, Board
from windrow_papers.experiments.charts import Chart, Panel
from windrow_papers.experiments.claims import Claim, Finding, Reading, below
from windrow_papers.experiments.contest import CLOSURE, FEW, GCA, LCA, Join, joined
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.wjoin.papers import REPORT_2002
from windrow_papers.experiments.workloads.streams import SECOND
from windrow_papers.experiments.workloads.synthetic import synthetic

SEED = 14
ALGORITHMS = (GCA, LCA, CLOSURE, FEW)
STREAMS = 4
LARGE_S = 1.0
SMALL_S = (0.8, 0.1)
STEADY_AFTER = 0.4


@dataclass(frozen=True)
class CliqueSize:
    """Rate, values in proportion to it (a probe matches 10 tuples of 1 s), and seconds."""

    rate_per_s: float
    values: int
    seconds: float
    every: int


SIZES = {
    Size.tiny: CliqueSize(rate_per_s=60, values=6, seconds=3.0, every=100),
    Size.quick: CliqueSize(rate_per_s=200, values=20, seconds=3.0, every=500),
    Size.full: CliqueSize(rate_per_s=1_000, values=100, seconds=4.0, every=1_000),
}


def clique(small_s: float) -> Join:
    """All pairs within the small window, the first two streams within the large one."""
    pairs = [(a, b) for a in range(STREAMS) for b in range(a + 1, STREAMS)]
    ticks = [int((LARGE_S if pair == (0, 1) else small_s) * SECOND) for pair in pairs]
    return joined([Bound(a, b, w, w) for (a, b), w in zip(pairs, ticks, strict=True)], STREAMS)


def case_of(small_s: float) -> str:
    """The case of a small window."""
    return f"windows {small_s} s, one of {LARGE_S:.0f} s"


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    board = Board(say, STEADY_AFTER)
    streams = synthetic(
        [chosen.rate_per_s] * STREAMS, values=chosen.values, seconds=chosen.seconds, seed=SEED
    )
    for small_s in SMALL_S:
        board.run(
            case_of(small_s), ALGORITHMS, clique(small_s), streams, streams.live(),
            every=chosen.every,
        )  # fmt: skip
    panels = [
        Panel(
            case_of(small_s),
            "thousand tuples",
            "comparisons and look-ups per tuple",
            [board.curve(case_of(small_s), algorithm) for algorithm in ALGORITHMS],
        )
        for small_s in SMALL_S
    ]
    reason = "the local windows cover as much as the global one"
    on_time = board.costs(case_of(SMALL_S[0]), (GCA, LCA))
    return Findings(
        board.table(),
        (Finding(_lca_below(board, WORK), _lca_below(board, TIME), reason, on_time),),
        Chart("Four streams with different windows: GCA and LCA", panels),
        board.series_table(),
    )


def _lca_below(board: Board, by: str) -> Reading:
    return below([board.versus(case_of(small_s), LCA, GCA, by) for small_s in SMALL_S])


EXPERIMENT = Experiment(
    name="gca-vs-lca",
    paper=REPORT_2002,
    figure="figure 13",
    setting="4 synthetic streams at 1,000 per s, 100 values; all windows 0.8 s, or 0.1 s, but one "
    "of 1 s; live",
    claims=(
        Claim("LCA below GCA in both", "GCA's work over LCA's: above 1 for 0.8 s and for 0.1 s"),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
