"""The W-joins against the ripple join, on transactions of stores.

The ripple join joins a new tuple with all it has kept and cleans its buffers every 10,000 tuples;
in between it goes over tuples that left the window long ago. The W-joins drop them on the way. Work
follows the stores' day, as in the paper: its peaks are the hours after opening and before closing.
The same day comes twice, so that what builds up shows the second time. The real transactions
(stores in four groups, joined on the product's category) are a second opinion on the generated
ones.
"""

from __future__ import annotations

from windrow_papers.experiments.board import TIME, WORK, Board
from windrow_papers.experiments.claims import Claim, Finding, Reading, at_least, at_most, below
from windrow_papers.experiments.contest import FEW, NLW, RIPPLE
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.wjoin.papers import REPORT_2002
from windrow_papers.experiments.wjoin.stores import (
    SEED,
    day_against_day,
    decided_cases,
    live,
    panels,
    replayed,
    run_stores,
)

ALGORITHMS = (RIPPLE, NLW, FEW)


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    board = run_stores(size, say, ALGORITHMS)
    return Findings(
        board.table(),
        (
            Finding(
                _below_ripple(board, WORK),
                _below_ripple(board, TIME),
                reason="so few tuples are in ripple's buffers beyond the window that there is nothing "
                "to save",
                reason_on_time="where windows hold few tuples, what is done once per tuple "
                f"outweighs the loops; {board.costs(live(2), ALGORITHMS)}",
                left_out=board.said_left_out,
            ),
            Finding(
                _ten_times(board, WORK),
                _ten_times(board, TIME),
                reason="the stores' streams keep step, so both go through the same tuples of the last "
                "hour: MW saves the window test, one comparison of two, while the pairs that NLW "
                "stores save it loops that MW repeats. Where logs are read in turn and drift "
                "apart, NLW goes over tuples that MW never takes, yet stores drift too little: "
                f"{_replayed(board)}. See wjoin-streams-variable for streams that drift further",
                reason_on_time=board.costs(live(2), ALGORITHMS),
                left_out=board.said_left_out,
            ),
            Finding(
                _steady(board, WORK),
                _steady(board, TIME),
                reason="the same day costs more the second time: something is kept too long",
                reason_on_time="the counts of both days are level; time follows what else the machine did",
            ),
        ),
        panels(board, ALGORITHMS, "Stores, window 1 h: ripple join, NLW-join, MW-join (few)"),
        board.series_table(),
        left_out=board.said_left_out,
    )


def _below_ripple(board: Board, by: str) -> Reading:
    return below(
        [
            board.versus(case, ours, RIPPLE, by)
            for case in decided_cases(board)
            for ours in (NLW, FEW)
        ]
    )


def _ten_times(board: Board, by: str) -> Reading:
    return at_least(5.0, [board.versus(case, FEW, NLW, by) for case in decided_cases(board)])


def _replayed(board: Board) -> str:
    return at_least(5.0, [board.versus(replayed(n), FEW, NLW, WORK) for n in (2, 3, 4)]).text


def _steady(board: Board, by: str) -> Reading:
    return at_most(1.05, [case for ours in (NLW, FEW) for case in day_against_day(board, ours, by)])


EXPERIMENT = Experiment(
    name="wjoin-vs-ripple",
    paper=REPORT_2002,
    figure="figure 7",
    setting="2, 3 and 4 stores (generated, 5,000 transactions per hour over all) and real "
    "transactions, window 1 h; the ripple join cleans its buffers every 10,000 tuples",
    claims=(
        Claim(
            "NLW and MW below ripple everywhere",
            "ripple's work over NLW's and MW's, live and real streams: above 1 in every case",
        ),
        Claim(
            "MW about ten times below NLW",
            "NLW's work over MW's, live and real streams: at least 5 in every case",
        ),
        Claim(
            "service time does not build up",
            "NLW's and MW's work when the same day comes again, over that of the first "
            "time, live: at most 1.05",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
