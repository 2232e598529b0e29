"""More and more streams, of rates between 1,000 and 100 tuples per second.

The order in which tuples are taken decides this experiment. The papers' operators poll their
sources in turn, and at these rates their machine could not keep up: every source had a backlog, and
a tuple of each was taken in every round. Slow streams then run ahead of fast ones in event time,
their tuples pile up in NLW's buffers, out of every window and yet not to be dropped, and every new
tuple goes over them. MW takes from a stream only what lies in its period. So the claim is decided
on replayed streams; on live streams, which a present machine keeps up with, the lead is far
smaller.
"""

from __future__ import annotations

import numpy as np

from windrow_papers.experiments.board import TIME, WORK, Board
from windrow_papers.experiments.claims import Claim, Finding, Reading, at_least, below
from windrow_papers.experiments.contest import FEW, HW, NLW
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.wjoin.papers import REPORT_2002
from windrow_papers.experiments.wjoin.synthetic_streams import (
    ALGORITHMS,
    cases,
    chart,
    replayed,
    run_streams,
)

SEED = 11
FASTEST_PER_S, SLOWEST_PER_S = 1_000.0, 100.0


def rates(count: int) -> list[float]:
    """Rates from the fastest to the slowest, evenly spread."""
    return [float(rate) for rate in np.linspace(FASTEST_PER_S, SLOWEST_PER_S, count)]


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    board = run_streams(size, say, rates, SEED)
    costs = board.costs(replayed(2), ALGORITHMS)
    return Findings(
        board.table(),
        (
            Finding(
                _ten_times(board, size, WORK),
                _ten_times(board, size, TIME),
                reason="too few tuples were replayed for the streams to drift apart",
                reason_on_time="a tuple out of every window costs NLW one quick comparison, and "
                "taking a tuple costs MW the same however little it then joins: with few streams "
                f"that is most of its time; {costs}",
            ),
            Finding(
                _hash_best(board, size, WORK),
                _hash_best(board, size, TIME),
                reason="where streams drift apart HW's buckets fill with tuples that are out of every "
                "window, while MW, though it scans, takes none of them. On live streams HW is "
                f"best: {_hash_best(board, size, WORK, is_live=True).text}",
                reason_on_time="a scan's next tuple costs less than a step along a bucket, and a "
                f"pipeline inserts and removes at every level; {costs}",
            ),
        ),
        chart(board, size, "2 to 6 streams, 1,000 to 100 tuples per s, window 0.2 s"),
        board.series_table(),
    )


def _ten_times(board: Board, size: Size, by: str) -> Reading:
    reading = at_least(10.0, cases(board, size, FEW, NLW, by))
    on_live = at_least(10.0, cases(board, size, FEW, NLW, by, is_live=True))
    return Reading(reading.figure, f"{reading.text} (live: {on_live.text})", reading.holds)


def _hash_best(board: Board, size: Size, by: str, *, is_live: bool = False) -> Reading:
    return below(
        [
            case
            for rival in (FEW, NLW)
            for case in cases(board, size, HW, rival, by, is_live=is_live)
        ]
    )


EXPERIMENT = Experiment(
    name="wjoin-streams-variable",
    paper=REPORT_2002,
    figure="figure 9(a)",
    setting="2 to 6 synthetic streams at rates spread from 1,000 to 100 per s, 50 values, window "
    "0.2 s; replayed, and live for comparison",
    claims=(
        Claim(
            "MW more than ten times below NLW, kept as streams are added",
            "NLW's work over MW's, replayed streams: at least 10 for every number of streams",
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
