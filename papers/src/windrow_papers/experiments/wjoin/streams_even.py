"""More and more streams of comparable rates.

Live streams of one rate stay side by side, so NLW and MW go through the same tuples of the last
window, and what is left of MW's lead is the window test, one comparison of two. The paper took the
stores' transactions here, whose hour is long against any drift between logs; synthetic streams of
one rate let the numbers of streams be compared. Replayed, streams of one rate drift apart too, by
chance, and with a window of 0.2 s that counts: these rows are shown, and decide nothing.
"""

from __future__ import annotations

from windrow_papers.experiments.board import TIME, WORK, Board
from windrow_papers.experiments.claims import Claim, Finding, Reading, below, falling
from windrow_papers.experiments.contest import FEW, HW, NLW
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.wjoin.papers import REPORT_2002
from windrow_papers.experiments.wjoin.synthetic_streams import (
    ALGORITHMS,
    SIZES,
    cases,
    chart,
    live,
    run_streams,
)

SEED = 12
RATE_PER_S = 550.0
"""The average of the rates of figure 9(a)."""


def rates(count: int) -> list[float]:
    """All the same."""
    return [RATE_PER_S] * count


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    board = run_streams(size, say, rates, SEED)
    few_streams, many_streams = (
        board.costs(live(count), ALGORITHMS) for count in (2, SIZES[size].most)
    )
    return Findings(
        board.table(),
        (
            Finding(
                falling(cases(board, size, FEW, NLW, WORK, is_live=True)),
                falling(cases(board, size, FEW, NLW, TIME, is_live=True)),
                reason="NLW stores the combinations of all streams but the last, and scans more of them "
                "the more streams there are",
                reason_on_time="NLW stores the combinations of all streams but the last, and what "
                "it pays for keeping them grows faster with the number of streams than what MW "
                f"pays for finding them again: {few_streams}; {many_streams}",
            ),
            Finding(
                _hash_best(board, size, WORK),
                _hash_best(board, size, TIME),
                reason="a probe meets as many tuples as a scan",
                reason_on_time="a scan's next tuple costs less than a step along a bucket, and a "
                "pipeline inserts and removes at every level: "
                f"{few_streams}; {many_streams}",
            ),
        ),
        chart(board, size, "2 to 6 streams, 550 tuples per s each, window 0.2 s"),
        board.series_table(),
    )


def _hash_best(board: Board, size: Size, by: str) -> Reading:
    rivals = [
        case for rival in (FEW, NLW) for case in cases(board, size, HW, rival, by, is_live=True)
    ]
    return below(rivals)


EXPERIMENT = Experiment(
    name="wjoin-streams-even",
    paper=REPORT_2002,
    figure="figure 9(b)",
    setting="2 to 6 synthetic streams at 550 per s each, 50 values, window 0.2 s; live, and "
    "replayed for comparison",
    claims=(
        Claim(
            "MW and NLW approach each other as streams are added",
            "NLW's work over MW's, live streams: less with 6 streams than with 2",
        ),
        Claim(
            "HW best",
            "NLW's and MW's work over HW's, live streams: above 1 for every number of streams",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
