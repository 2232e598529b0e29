"""The hash W-join against XJoin, on transactions of stores.

XJoin probes a hash table that still holds what left the window, up to 10,000 tuples ago, and is
cleaned all at once; HW-join removes old tuples from the bucket that it probes, and a hand goes
round the buckets that are rarely probed.
"""

from __future__ import annotations

from windrow_papers.experiments.board import TIME, TOUCHED, WORK, Board
from windrow_papers.experiments.claims import Claim, Finding, Reading, below
from windrow_papers.experiments.contest import HW, XJOIN
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.wjoin.papers import REPORT_2002
from windrow_papers.experiments.wjoin.stores import SEED, decided_cases, live, panels, run_stores

ALGORITHMS = (XJOIN, HW)


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    board = run_stores(size, say, ALGORITHMS)
    return Findings(
        board.table(),
        (
            Finding(
                _below_xjoin(board, WORK),
                _below_xjoin(board, TIME),
                reason="with two stores a probe meets so few tuples that little is left to save: HW "
                "looks at fewer than XJoin, but tests the window of each, XJoin only of those "
                f"with an equal key. By tuples looked at: {_below_xjoin(board, TOUCHED).text}",
                reason_on_time=board.costs(live(2), ALGORITHMS),
                left_out=board.said_left_out,
            ),
        ),
        panels(board, ALGORITHMS, "Stores, window 1 h: XJoin and HW-join"),
        board.series_table(),
        left_out=board.said_left_out,
    )


def _below_xjoin(board: Board, by: str) -> Reading:
    return below([board.versus(case, HW, XJOIN, by) for case in decided_cases(board)])


EXPERIMENT = Experiment(
    name="wjoin-vs-xjoin",
    paper=REPORT_2002,
    figure="figure 8",
    setting="2, 3 and 4 stores (generated, 5,000 transactions per hour over all) and real "
    "transactions, window 1 h; XJoin cleans its hash tables every 10,000 tuples",
    claims=(
        Claim(
            "HW below XJoin everywhere",
            "XJoin's work over HW's, live and real streams: above 1 in every case",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
