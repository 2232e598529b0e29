"""What the two comparisons over stores share: the transactions, the runs, and the panels.

Transactions are *live*, taken in order of time, and *replayed*, the stores' logs read in turn. The
second day is the first once more: days differ by chance, in results and hence in work, by a
third and more, and what builds up could not be told from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from windrow_papers.experiments.board import TIME, WORK, Board
from windrow_papers.experiments.charts import Chart, Panel
from windrow_papers.experiments.claims import Case
from windrow_papers.experiments.contest import Algorithm, uniform
from windrow_papers.experiments.errors import ExperimentError
from windrow_papers.experiments.experiment import Say, Size
from windrow_papers.experiments.workloads.retail import Retail
from windrow_papers.experiments.workloads.streams import HOUR, Streams
from windrow_papers.experiments.workloads.transactions import transactions

SEED = 7
COUNTS = (2, 3, 4)
REAL = "4 streams, real"
DAY = 24 * HOUR


@dataclass(frozen=True)
class StoresSize:
    """How many transactions, and how often the baselines clean: always every two hours' worth."""

    per_hour: float
    clean_every: int
    every: int
    real_days: int


SIZES = {
    Size.tiny: StoresSize(per_hour=100, clean_every=200, every=100, real_days=1),
    Size.quick: StoresSize(per_hour=1_500, clean_every=3_000, every=1_000, real_days=7),
    Size.full: StoresSize(per_hour=5_000, clean_every=10_000, every=1_000, real_days=28),
}


def live(streams: int) -> str:
    """The case of generated transactions in order of time."""
    return f"{streams} streams, live"


def replayed(streams: int) -> str:
    """The case of generated transactions read from the stores' logs in turn."""
    return f"{streams} streams, replayed"


def run_stores(size: Size, say: Say, algorithms: Sequence[Algorithm]) -> Board:
    """Measures algorithms over 2, 3 and 4 stores, and over the real transactions if installed."""
    chosen = SIZES[size]
    board = Board(say)
    for count in COUNTS:
        streams = _stores(count, size)
        join = replace(uniform(count, HOUR), clean_every=chosen.clean_every)
        for case, turns in ((live(count), streams.live()), (replayed(count), streams.replayed())):
            mark = len(turns) // 2
            board.run(case, algorithms, join, streams, turns, every=chosen.every, mark=mark)
    try:
        streams = transactions(4, days=chosen.real_days)
    except ExperimentError as error:
        board.leave_out(REAL, error)
        return board
    join = replace(uniform(4, HOUR), clean_every=chosen.clean_every)
    board.run(REAL, algorithms, join, streams, streams.live(), every=chosen.every)
    return board


def _stores(count: int, size: Size) -> Streams:
    """The transactions of so many stores, the same day twice."""
    return Retail(count, 1, SIZES[size].per_hour, seed=SEED).streams().twice(DAY)


def decided_cases(board: Board) -> list[str]:
    """The cases that claims are decided by: live, generated and real."""
    return [*map(live, COUNTS), *([REAL] if board.has(REAL) else [])]


def day_against_day(board: Board, algorithm: Algorithm, by: str) -> list[Case]:
    """What the day costs when it comes again, against the first time."""
    cases = []
    for case in map(live, COUNTS):
        series = board.series(case, algorithm.name)
        figures = series.work if by == WORK else series.seconds
        half = len(figures) // 2  # a slice ends with the first day
        first, second = float(figures[:half].sum()), float(figures[half:].sum())
        cases.append(Case(f"{algorithm.name}, {case}", first, second))
    return cases


def panels(board: Board, algorithms: Sequence[Algorithm], title: str) -> Chart:
    """Work above and time below, over the run, for 2, 3 and 4 live streams."""
    names = {WORK: "comparisons and look-ups per tuple", TIME: "service time, us per tuple"}
    return Chart(
        title,
        [
            Panel(
                live(count),
                "thousand tuples",
                names[by],
                [board.curve(live(count), algorithm, by) for algorithm in algorithms],
            )
            for by in (WORK, TIME)
            for count in COUNTS
        ],
    )
