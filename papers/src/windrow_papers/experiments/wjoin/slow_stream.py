"""One stream of four slows down, again and again.

The last stream switches between 10 and 1,000 tuples per second every 100 tuples, so that it is slow
most of the time. MW finds no starting tuple in it, stays in mode 1 and joins nothing meanwhile,
which is what the paper reports, and what makes its window shorter than the 0.1 s between two slow
tuples: the paper does not say which it took. NLW and HW join the other three streams all the same.
Tuples are taken live; replayed, the slow stream runs ahead and NLW's buffers fill up instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow_papers.experiments.board import TIME, WORK, Board
from windrow_papers.experiments.charts import Chart, Panel
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading, at_least, at_most
from windrow_papers.experiments.contest import FEW, HW, NLW, Algorithm, uniform
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.wjoin.papers import REPORT_2002
from windrow_papers.experiments.workloads.streams import SECOND
from windrow_papers.experiments.workloads.synthetic import (
    synthetic_of_length,
    with_switching_stream,
)

SEED = 13
ALGORITHMS = (NLW, HW, FEW)
STREAMS = 4
RATE_PER_S = 1_000.0
VALUES = 20
STEADY_AFTER = 0.2


@dataclass(frozen=True)
class SlowSize:
    """Windows, and tuples per stream: with even rates, with the slow stream live, replayed."""

    windows_s: tuple[float, ...]
    even: int
    slow: int
    logs: int
    every: int


SIZES = {
    Size.tiny: SlowSize((0.02,), even=400, slow=1_500, logs=300, every=200),
    Size.quick: SlowSize((0.05,), even=2_000, slow=11_000, logs=1_000, every=1_000),
    Size.full: SlowSize((0.05, 0.1), even=4_000, slow=22_000, logs=2_000, every=1_000),
}
# 11,000 tuples last 11 s: a slow stretch of the last stream, a fast one, and the next slow one.


def even(window_s: float) -> str:
    """The case of four streams at one rate."""
    return f"even, window {window_s} s"


def slow(window_s: float) -> str:
    """The case with a slow stream, live."""
    return f"one slow, window {window_s} s"


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    board = Board(say, STEADY_AFTER)
    steady = synthetic_of_length(
        [RATE_PER_S] * STREAMS, values=VALUES, tuples=chosen.even, seed=SEED
    )
    made = with_switching_stream(RATE_PER_S, STREAMS, values=VALUES, tuples=chosen.slow, seed=SEED)
    switching = made.until(int(min(times[-1] for times in made.times)))
    logs = with_switching_stream(RATE_PER_S, STREAMS, values=VALUES, tuples=chosen.logs, seed=SEED)
    for window_s in chosen.windows_s:
        join = uniform(STREAMS, int(window_s * SECOND))
        every = chosen.every
        board.run(even(window_s), ALGORITHMS, join, steady, steady.live(), every=every)
        board.run(slow(window_s), ALGORITHMS, join, switching, switching.live(), every=every)
        case = f"{slow(window_s)}, replayed"
        board.run(case, ALGORITHMS, join, logs, logs.replayed(), every=every)
    first = chosen.windows_s[0]
    panels = [
        Panel(
            f"{algorithm.name}, window {first} s",
            "thousand tuples",
            "comparisons and look-ups per tuple",
            [
                board.curve(even(first), algorithm, label=f"{algorithm.name}, even"),
                board.curve(slow(first), algorithm, label=f"{algorithm.name}, one slow"),
            ],
        )
        for algorithm in ALGORITHMS
    ]
    return Findings(
        board.table(),
        (
            Finding(
                _gain(board, size, (FEW,), WORK, is_great=True),
                _gain(board, size, (FEW,), TIME, is_great=True),
                reason="the slow stream has a tuple within the window most of the time",
                reason_on_time="taking a tuple and sweeping over it costs MW the same in either "
                f"mode, and is most of what is left; {board.costs(slow(first), ALGORITHMS)}",
            ),
            Finding(
                _gain(board, size, (NLW, HW), WORK, is_great=False),
                _gain(board, size, (NLW, HW), TIME, is_great=False),
                reason="per tuple taken NLW and HW gain too, if less than MW: the last level of the "
                "pipeline, where combinations of three streams meet the fourth, has next to "
                "nothing to do while that stream is slow, and with a wider window it is a larger "
                "share of the work",
                reason_on_time="the last level has next to nothing to do while its stream is slow",
            ),
        ),
        Chart("Four streams at 1,000 per s; one switches between 10 and 1,000", panels),
        board.series_table(),
    )


def _gain(
    board: Board, size: Size, algorithms: tuple[Algorithm, ...], by: str, *, is_great: bool
) -> Reading:
    """How much less an algorithm does per tuple when one stream is slow."""
    cases = [
        Case(
            f"{algorithm.name}, window {window_s} s",
            board.figure(slow(window_s), algorithm.name, by),
            board.figure(even(window_s), algorithm.name, by),
        )
        for window_s in SIZES[size].windows_s
        for algorithm in algorithms
    ]
    return at_least(3.0, cases) if is_great else at_most(1.5, cases)


EXPERIMENT = Experiment(
    name="wjoin-slow-stream",
    paper=REPORT_2002,
    figure="figure 9(c)",
    setting="4 synthetic streams at 1,000 per s, 20 values, windows 0.05 and 0.1 s; then one "
    "switches between 10 and 1,000 per s every 100 tuples; live, and replayed for comparison",
    claims=(
        Claim(
            "MW improves greatly",
            "MW's work per tuple with even rates over that with the slow stream, live: at least 3",
        ),
        Claim("NLW and HW hardly improve", "the same for NLW and HW: at most 1.5"),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
