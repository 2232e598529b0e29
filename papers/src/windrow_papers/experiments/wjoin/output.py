"""The same output, and what it takes: transactions of stores, hash, one hour.

Both run to the end of the day and give the same combinations. The curves show how much work, and
how much time, each had spent by the time it had given so many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.kernels.tuple_at_a_time.tape import FOUND
from windrow_papers.experiments.board import TIME, WORK, Board
from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import Claim, Finding, Reading, below
from windrow_papers.experiments.contest import BEW_HASH, FEW_HASH, measure, uniform
from windrow_papers.experiments.errors import ExperimentError
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.wjoin.papers import PAPER_2003
from windrow_papers.experiments.workloads.retail import Retail
from windrow_papers.experiments.workloads.streams import HOUR, Streams
from windrow_papers.experiments.workloads.transactions import transactions

SEED = 23
ALGORITHMS = (BEW_HASH, FEW_HASH)
REAL = "4 streams, real"


@dataclass(frozen=True)
class OutputSize:
    """Transactions per hour, days, and days of real transactions."""

    per_hour: float
    days: int
    real_days: int
    every: int


SIZES = {
    Size.tiny: OutputSize(per_hour=200, days=1, real_days=1, every=200),
    Size.quick: OutputSize(per_hour=3_000, days=1, real_days=7, every=1_000),
    Size.full: OutputSize(per_hour=5_000, days=3, real_days=28, every=1_000),
}


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    workloads = {
        f"{count} stores": Retail(count, chosen.days, chosen.per_hour, seed=SEED).streams()
        for count in (2, 3, 4)
    }
    board = Board(say)
    try:
        workloads[REAL] = transactions(4, days=chosen.real_days)
    except ExperimentError as error:
        board.leave_out(REAL, error)
    for case, streams in workloads.items():
        _measure(board, case, streams, chosen.every)
    return Findings(
        board.table(),
        (
            Finding(
                _less(board, list(workloads), WORK),
                _less(board, list(workloads), TIME),
                reason="where a probe finds little, FEW saves few window tests, and what it does besides "
                "joining (sweeping, admitting, dropping in order) weighs more; with more streams, "
                "hence more to join per tuple, FEW is ahead",
                reason_on_time=board.costs("4 stores", ALGORITHMS),
                left_out=board.said_left_out,
            ),
        ),
        _chart(board, list(workloads)),
        board.series_table(),
        left_out=board.said_left_out,
    )


def _measure(board: Board, case: str, streams: Streams, every: int) -> None:
    join = uniform(len(streams), HOUR)
    for algorithm in ALGORITHMS:
        board.say(f"{case}: {algorithm.name}, {streams.tuples:,} tuples")
        series = measure(algorithm, join, streams, streams.live(), every=every, is_ended=True)
        board.put(case, algorithm.name, series)


def _less(board: Board, cases: list[str], by: str) -> Reading:
    return below([board.versus(case, FEW_HASH, BEW_HASH, by) for case in cases])


def _chart(board: Board, cases: list[str]) -> Chart:
    panels = []
    for by, label in ((WORK, "work, million units"), (TIME, "seconds")):
        for case in cases:
            lines = []
            for algorithm in ALGORITHMS:
                series = board.series(case, algorithm.name)
                spent = series.work / 1e6 if by == WORK else series.seconds
                given = np.cumsum(series.counts[:, FOUND]) / 1_000
                lines.append(Line(algorithm.name, given.tolist(), np.cumsum(spent).tolist()))
            panels.append(Panel(case, "thousand results", label, lines, is_log=False))
    return Chart("What the output takes, hash, window 1 h", panels, columns=len(cases))


EXPERIMENT = Experiment(
    name="bew-vs-few-output",
    paper=PAPER_2003,
    figure="output execution time",
    setting="2, 3 and 4 stores (generated, 5,000 transactions per hour over all) and real "
    "transactions, hash, window 1 h; live, to the end",
    claims=(
        Claim(
            "FEW produces the same output in less time",
            "BEW's work over FEW's for the whole output, which is equal: above 1 in every case",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
