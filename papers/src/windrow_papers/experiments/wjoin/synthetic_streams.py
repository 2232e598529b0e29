"""Synthetic streams of one to many rates, live and replayed, as the experiments of figure 9 use them.

Live streams end at the same time, replayed ones after the same number of tuples: polled in turn,
each source has a tuple to give until the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windrow_papers.experiments.board import TIME, WORK, Board
from windrow_papers.experiments.charts import Chart, Panel
from windrow_papers.experiments.claims import Case
from windrow_papers.experiments.contest import FEW, HW, NLW, Algorithm, uniform
from windrow_papers.experiments.experiment import Say, Size
from windrow_papers.experiments.workloads.streams import SECOND
from windrow_papers.experiments.workloads.synthetic import synthetic, synthetic_of_length

ALGORITHMS = (NLW, FEW, HW)
WINDOW_S = 0.2
VALUES = 50
STEADY_AFTER = 0.4


@dataclass(frozen=True)
class StreamsSize:
    """Up to how many streams, and about how many tuples each."""

    most: int
    tuples: int
    every: int

    @property
    def counts(self) -> range:
        """The numbers of streams."""
        return range(2, self.most + 1)


SIZES = {
    Size.tiny: StreamsSize(most=4, tuples=300, every=100),
    Size.quick: StreamsSize(most=6, tuples=1_500, every=500),
    Size.full: StreamsSize(most=6, tuples=4_000, every=1_000),
}


def live(streams: int) -> str:
    """The case of tuples taken in order of time."""
    return f"{streams} streams, live"


def replayed(streams: int) -> str:
    """The case of sources polled in turn."""
    return f"{streams} streams, replayed"


def run_streams(size: Size, say: Say, rates: Callable[[int], Sequence[float]], seed: int) -> Board:
    """Measures NLW, MW and HW over 2 to 6 streams at the rates of each number of streams."""
    chosen = SIZES[size]
    board = Board(say, STEADY_AFTER)
    for count in chosen.counts:
        per_s = rates(count)
        join = uniform(count, int(WINDOW_S * SECOND))
        seconds = chosen.tuples * count / sum(per_s)
        streams = synthetic(per_s, values=VALUES, seconds=seconds, seed=seed)
        board.run(live(count), ALGORITHMS, join, streams, streams.live(), every=chosen.every)
        logs = synthetic_of_length(per_s, values=VALUES, tuples=chosen.tuples, seed=seed)
        board.run(replayed(count), ALGORITHMS, join, logs, logs.replayed(), every=chosen.every)
    return board


def cases(
    board: Board, size: Size, small: Algorithm, large: Algorithm, by: str, *, is_live: bool = False
) -> list[Case]:
    """One algorithm against another for each number of streams."""
    name = live if is_live else replayed
    return [board.versus(name(count), small, large, by) for count in SIZES[size].counts]


def chart(board: Board, size: Size, title: str) -> Chart:
    """Work and time by number of streams, replayed and live."""
    counts = SIZES[size].counts
    ticks = [str(count) for count in counts]
    names = {WORK: "comparisons and look-ups per tuple", TIME: "service time, us per tuple"}

    def panel(by: str) -> Panel:
        lines = [
            board.bars(
                [case(count) for count in counts],
                algorithm,
                f"{algorithm.name}, {case.__name__}",
                by,
                is_dashed=case is live,
            )
            for algorithm in ALGORITHMS
            for case in (replayed, live)
        ]
        return Panel(names[by].split(" per")[0], "streams", names[by], lines, ticks=ticks)

    return Chart(title, [panel(WORK), panel(TIME)])
