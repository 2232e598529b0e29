"""An object that passes four monitors in order, one way or the other.

The question to both: the combinations with equal keys whose times follow the path one way or the
other, each within the window after the one before. NLW answers with two pipelines, one for each
way, in which the last stream alone says where the next tuple may be. LCA builds the complete graph
(the ends of the path are up to three windows apart), joins once with those larger windows, without
direction, and refines: what it keeps follows the path one way or the other. What NLW gains by
smaller windows it loses where the streams drift apart; so the order in which tuples are taken
decides again, and the claims are decided on replayed streams (see wjoin-streams-variable).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.kernels.tuple_at_a_time.machine import Machine
from windrow.kernels.tuple_at_a_time.tape import Tape
from windrow.plan.windows import Bound
from windrow_papers.experiments.board import TIME, WORK, Board
from windrow_papers.experiments.charts import Chart, Panel
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading, below
from windrow_papers.experiments.contest import NLW, Algorithm, Join, Series, joined, measure
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.wjoin.papers import REPORT_2002
from windrow_papers.experiments.workloads.streams import SECOND, Int64s, Streams
from windrow_papers.experiments.workloads.synthetic import synthetic, synthetic_of_length
from windrow_papers.kernels.conservative_machines import LcaMachine

SEED = 15
STREAMS = 4
WINDOW = SECOND // 10
VALUES = 20
STEADY_AFTER = 0.4
RATES_PER_S = {"even": (400.0,) * 4, "uneven": (1_000.0, 700.0, 400.0, 100.0)}


@dataclass(frozen=True)
class PathSize:
    """Tuples per stream, on average."""

    tuples: int
    every: int


SIZES = {
    Size.tiny: PathSize(tuples=300, every=100),
    Size.quick: PathSize(tuples=2_000, every=500),
    Size.full: PathSize(tuples=5_000, every=1_000),
}


def one_way() -> Join:
    """Directed windows from the first stream to the last."""
    return joined([Bound(a, a + 1, 0, WINDOW) for a in range(STREAMS - 1)], STREAMS)


def other_way() -> Join:
    """Directed windows from the last stream to the first."""
    return joined([Bound(a, a + 1, WINDOW, 0) for a in range(STREAMS - 1)], STREAMS)


def undirected() -> Join:
    """The same windows without direction, which both ways lie within."""
    return joined([Bound(a, a + 1, WINDOW, WINDOW) for a in range(STREAMS - 1)], STREAMS)


def _lca(join: Join, tape: Tape) -> Machine:
    """LCA by windows without direction, what it finds refined to the two ways."""
    ways = np.stack([one_way().stated, other_way().stated])
    return LcaMachine(join.conditions(join.closed), ways, tape.first)


LCA = Algorithm("lca", _lca)


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    board = Board(say, STEADY_AFTER)
    for name, rates in RATES_PER_S.items():
        seconds = chosen.tuples * STREAMS / sum(rates)
        live = synthetic(rates, values=VALUES, seconds=seconds, seed=SEED)
        logs = synthetic_of_length(rates, values=VALUES, tuples=chosen.tuples, seed=SEED)
        _measure(board, f"{name}, live", live, live.live(), chosen.every)
        _measure(board, f"{name}, replayed", logs, logs.replayed(), chosen.every)
    panels = [
        Panel(
            f"{name}, {order}",
            "thousand tuples",
            "comparisons and look-ups per tuple",
            [board.curve(f"{name}, {order}", algorithm) for algorithm in (NLW, LCA)],
        )
        for order in ("replayed", "live")
        for name in RATES_PER_S
    ]
    return Findings(
        board.table(),
        (
            Finding(
                _reading(board, "even", WORK),
                _reading(board, "even", TIME),
                reason="the closed windows of the path are as narrow as its steps",
                reason_on_time=board.costs("even, replayed", (NLW, LCA)),
            ),
            Finding(
                _reading(board, "uneven", WORK),
                _reading(board, "uneven", TIME),
                reason="too few tuples were replayed for the streams to drift apart",
                reason_on_time=board.costs("uneven, replayed", (NLW, LCA)),
            ),
        ),
        Chart("Four streams along a path, window 0.1 s a step, either way", panels, columns=2),
        board.series_table(),
    )


def _measure(board: Board, case: str, streams: Streams, turns: Int64s, every: int) -> None:
    """NLW both ways, their work added up; LCA once.

    A combination whose times are all equal follows both ways, and NLW would give it twice: the
    board would find that out. Times in microseconds are not equal four times over.
    """
    board.say(f"{case}: nlw, both ways, {len(turns):,} tuples")
    there = measure(NLW, one_way(), streams, turns, every=every)
    mirrored = Streams(streams.times[::-1], streams.keys[::-1])
    # The way back is the way there over the streams in the opposite order.
    back = measure(NLW, one_way(), mirrored, STREAMS - 1 - turns, every=every)
    both = Series(
        there.inputs,
        there.counts + back.counts,
        there.seconds + back.seconds,
        there.given_late + back.given_late,
    )
    board.put(case, NLW.name, both)
    board.run(case, (LCA,), undirected(), streams, turns, every=every)


def _reading(board: Board, name: str, by: str) -> Reading:
    """NLW below LCA for even rates, the other way round for uneven ones."""
    small, large = (NLW, LCA) if name == "even" else (LCA, NLW)
    decided = below([board.versus(f"{name}, replayed", small, large, by)])
    live = Case(
        "live",
        board.figure(f"{name}, live", small.name, by),
        board.figure(f"{name}, live", large.name, by),
    )
    text = f"{decided.text} (live: {below([live]).text})"
    return Reading(decided.figure, text, holds=decided.holds)


EXPERIMENT = Experiment(
    name="path",
    paper=REPORT_2002,
    figure="figure 14",
    setting="4 synthetic streams along a path, directed windows of 0.1 s a step, either way, 20 "
    "values; at 400 per s each, or 1,000, 700, 400 and 100; replayed, and live for comparison; LCA "
    "refines to the two ways, so that both give the same combinations",
    claims=(
        Claim("NLW below LCA when rates are even", "LCA's work over NLW's, replayed: above 1"),
        Claim("LCA below NLW when rates are uneven", "NLW's work over LCA's, replayed: above 1"),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
