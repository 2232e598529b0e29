"""More and more streams of comparable rates.

Streams of one rate stay side by side however they are read, so NLW and MW go through the same
tuples. What is left of MW's lead is the window test, one comparison of two; with more streams even
that shrinks, for the look-ups and the steps of mode 1 come on top. The paper took the stores'
transactions here; synthetic streams of one rate let the numbers of streams be compared.
"""

from __future__ import annotations

from windrow.experiments.board import TIME, WORK, Board
from windrow.experiments.claims import Claim, Finding, Reading, below, falling
from windrow.experiments.contest import FEW, HW, NLW
from windrow.experiments.experiment import Experiment, Findings, Say, Size
from windrow.experiments.wjoin.papers import REPORT_2002
from windrow.experiments.wjoin.synthetic_streams import cases, chart, run_streams

SEED = 12
RATE_PER_S = 550.0
"""The average of the rates of figure 9(a)."""


def rates(count: int) -> list[float]:
    """All the same."""
    return [RATE_PER_S] * count


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    board = run_streams(size, say, rates, SEED)
    return Findings(
        board.table(),
        (
            Finding(
                falling(cases(board, size, FEW, NLW, WORK)),
                falling(cases(board, size, FEW, NLW, TIME)),
                "NLW stores the combinations of all streams but the last, and what it pays for "
                "keeping and scanning them grows faster with the number of streams than what MW "
                "pays for finding them again",
            ),
            Finding(
                _hash_best(board, size, WORK),
                _hash_best(board, size, TIME),
                "with few streams a scan of a short buffer is quicker than a probe, an insertion "
                "and a removal at each level of a pipeline",
            ),
        ),
        chart(board, size, "2 to 6 streams, 550 tuples per s each, window 0.2 s"),
        board.series_table(),
    )


def _hash_best(board: Board, size: Size, by: str) -> Reading:
    rivals = [case for rival in (FEW, NLW) for case in cases(board, size, HW, rival, by)]
    return below(rivals)


EXPERIMENT = Experiment(
    name="wjoin-streams-even",
    paper=REPORT_2002,
    figure="figure 9(b)",
    setting="2 to 6 synthetic streams at 550 per s each, 50 values, window 0.2 s; replayed, and "
    "live for comparison",
    claims=(
        Claim(
            "MW and NLW approach each other as streams are added",
            "NLW's work over MW's, replayed streams: less with 6 streams than with 2",
        ),
        Claim(
            "HW best",
            "NLW's and MW's work over HW's, replayed streams: above 1 for every number of streams",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
