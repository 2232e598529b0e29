"""Graph and path joins in which one window is much larger than the rest.

The conservative approaches hold the large window against every stream, or against every stream that
it touches directly or by a path. BEW along the stated constraints goes through a stream only within
the constraints that it takes part in. As printed it also drops by those, which loses answers: a
tuple that no tuple to come can meet directly may still meet one by way of a tuple that is buffered.
Here it drops by the closed bounds, along constraints as far as they lead.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.plan.windows import Bound
from windrow_papers.experiments.board import TIME, TOUCHED, Board
from windrow_papers.experiments.charts import Chart, Panel
from windrow_papers.experiments.claims import Claim, Finding, Reading, below
from windrow_papers.experiments.contest import BEW_GRAPH, CLOSURE, GCA, LCA, Join, joined
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.wjoin.papers import PAPER_2003
from windrow_papers.experiments.workloads.streams import SECOND
from windrow_papers.experiments.workloads.synthetic import synthetic

SEED = 16
ALGORITHMS = (GCA, LCA, BEW_GRAPH, CLOSURE)
STREAMS = 4
SMALL, LARGE = SECOND // 20, SECOND // 2
VALUES = 30
STEADY_AFTER = 0.4
GRAPHS = {
    "path, the last window large": ((0, 1, SMALL), (1, 2, SMALL), (2, 3, LARGE)),
    "path, the middle window large": ((0, 1, SMALL), (1, 2, LARGE), (2, 3, SMALL)),
    "graph: triangle and a far stream": (
        (0, 1, SMALL), (1, 2, SMALL), (0, 2, SMALL), (2, 3, LARGE),
    ),
    "graph: ring, closed by the large window": (
        (0, 1, SMALL), (1, 2, SMALL), (2, 3, SMALL), (0, 3, LARGE),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class GraphSize:
    """Rate and seconds."""

    rate_per_s: float
    seconds: float
    every: int


SIZES = {
    Size.tiny: GraphSize(rate_per_s=60, seconds=3.0, every=100),
    Size.quick: GraphSize(rate_per_s=300, seconds=6.0, every=1_000),
    Size.full: GraphSize(rate_per_s=400, seconds=20.0, every=1_000),
}


def graph(name: str) -> Join:
    """The join over one of the graphs."""
    return joined([Bound(a, b, window, window) for a, b, window in GRAPHS[name]], STREAMS)


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    board = Board(say, STEADY_AFTER)
    streams = synthetic(
        [chosen.rate_per_s] * STREAMS, values=VALUES, seconds=chosen.seconds, seed=SEED
    )
    for name in GRAPHS:
        board.run(name, ALGORITHMS, graph(name), streams, streams.live(), every=chosen.every)
    panels = [
        Panel(
            name,
            "thousand tuples",
            "tuples iterated over, per tuple",
            [board.curve(name, algorithm, TOUCHED) for algorithm in ALGORITHMS],
        )
        for name in GRAPHS
    ]
    reason = "the constraints of the graph leave BEW as large a period as the conservative windows"
    on_time = board.costs(next(iter(GRAPHS)), ALGORITHMS)
    return Findings(
        board.table(),
        (Finding(_fewer(board, TOUCHED), _fewer(board, TIME), reason, on_time),),
        Chart("One window ten times the others", panels, columns=2),
        board.series_table(),
    )


def _fewer(board: Board, by: str) -> Reading:
    return below(
        [board.versus(name, BEW_GRAPH, rival, by) for name in GRAPHS for rival in (GCA, LCA)]
    )


EXPERIMENT = Experiment(
    name="bew-graph-vs-conservative",
    paper=PAPER_2003,
    figure="section 5",
    setting="4 synthetic streams at 400 per s, 30 values; two paths and two graphs with windows of "
    "0.05 s and one of 0.5 s; live",
    claims=(
        Claim(
            "bew-graph iterates over fewer tuples than gca and lca",
            "tuples that gca and lca iterate over, over those of bew-graph: above 1 in every case",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
