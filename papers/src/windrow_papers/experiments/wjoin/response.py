"""How long a tuple takes from its arrival to the end of its join, as streams come faster.

On a simulated clock a tuple waits while the operator is busy with earlier ones. In FEW it also
waits for its period: a tuple beyond the period is held until every stream has one beyond it. At low
rates that wait is long, and BEW, which joins a tuple at once, answers far sooner; at high rates
tuples follow closely and FEW waits less, while BEW's queue grows. The clock is set so that BEW is
saturated at a given rate; rates are shares of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading, below
from windrow_papers.experiments.clock import responses
from windrow_papers.experiments.contest import (
    BEW_HASH,
    FEW_HASH,
    Join,
    agree,
    count,
    measure,
    uniform,
)
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.tables import Value, table
from windrow_papers.experiments.turns import Turns, turn_by_turn
from windrow_papers.experiments.wjoin.papers import PAPER_2003
from windrow_papers.experiments.workloads.streams import SECOND, Streams
from windrow_papers.experiments.workloads.synthetic import synthetic

SEED = 22
STREAMS = 4
WINDOW_S = 60.0
LOW = 0.2
NEAR = (0.5, 1.1)
"""Where a crossing counts as near the saturation, as shares of it."""

_TO_THE_LIMIT = (0.8, 0.9, 0.95, 1.0, 1.05, 1.1)


@dataclass(frozen=True)
class ResponseSize:
    """The rate per stream at which BEW is saturated, keys, length of a run, shares of the rate."""

    saturated_per_s: float
    values: int
    windows: float
    shares: tuple[float, ...]


SIZES = {
    Size.tiny: ResponseSize(2.0, values=50, windows=2.5, shares=(0.1, 0.2, 0.8, 1.0, 1.1)),
    Size.quick: ResponseSize(8.0, values=120, windows=3.5, shares=(0.1, 0.2, 0.5, *_TO_THE_LIMIT)),
    Size.full: ResponseSize(
        25.0, values=400, windows=6.0, shares=(0.05, 0.1, 0.2, 0.4, 0.6, *_TO_THE_LIMIT)
    ),
}


@dataclass(frozen=True)
class Point:
    """The mean response time of each at one rate, in seconds."""

    share: float
    rate_per_s: float
    bew_s: float
    few_s: float
    few_on_time_s: float


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    join = uniform(STREAMS, int(WINDOW_S * SECOND))
    unit_s, ratio = _calibrated(chosen, join, say)
    points = [_point(chosen, join, share, (unit_s, ratio), say) for share in chosen.shares]
    rows: list[list[Value]] = [
        [
            one.share, one.rate_per_s * STREAMS, one.bew_s * 1e3, one.few_s * 1e3,
            one.few_on_time_s * 1e3,
        ]
        for one in points
    ]  # fmt: skip
    columns = (
        "share of bew's saturation", "tuples/s, all streams", "bew, ms", "few, ms",
        "few on time, ms",
    )  # fmt: skip
    cost = f"a unit of FEW's work costs {ratio:.2f} of BEW's here"
    return Findings(
        table(columns, rows),
        (
            Finding(
                _sooner(points, lambda one: one.few_s),
                _sooner(points, lambda one: one.few_on_time_s),
                reason="FEW waits less for its period than BEW takes to join",
                reason_on_time=cost,
            ),
            Finding(
                _crossing(points, lambda one: one.few_s),
                _crossing(points, lambda one: one.few_on_time_s),
                reason="FEW saturates no later than BEW, and its curve stays above",
                reason_on_time=f"{cost}, so that FEW saturates no later than BEW",
            ),
        ),
        _chart(points),
    )


def _calibrated(chosen: ResponseSize, join: Join, say: Say) -> tuple[float, float]:
    """What a unit takes so that BEW is saturated where it shall be, and FEW's unit in BEW's."""
    say("calibrating")
    streams = _streams(chosen, chosen.saturated_per_s)
    every = max(1, streams.tuples // 20)
    bew = count(BEW_HASH, join, streams, streams.live(), every=every)
    units = bew.per_tuple(bew.work + bew.inputs, skipped=_filling(chosen))
    few, bew = (measure(one, join, streams, streams.live()) for one in (FEW_HASH, BEW_HASH))
    agree("calibrating", {"few": few.found, "bew": bew.found})
    return 1.0 / (units * chosen.saturated_per_s * STREAMS), few.cost_s / bew.cost_s


def _streams(chosen: ResponseSize, rate_per_s: float) -> Streams:
    seconds = chosen.windows * WINDOW_S
    return synthetic([rate_per_s] * STREAMS, values=chosen.values, seconds=seconds, seed=SEED)


def _filling(chosen: ResponseSize) -> float:
    """The share of a run in which windows fill."""
    return 1.2 / chosen.windows


def _point(
    chosen: ResponseSize, join: Join, share: float, clock: tuple[float, float], say: Say
) -> Point:
    unit_s, ratio = clock
    rate = share * chosen.saturated_per_s
    say(f"{share:.2f} of the saturation, {rate * STREAMS:.1f} tuples per s")
    streams = _streams(chosen, rate)
    bew = turn_by_turn(BEW_HASH, join, streams)
    few = turn_by_turn(FEW_HASH, join, streams)
    agree(f"{share:.2f} of the saturation", {"bew": bew.found, "few": few.found})
    skipped = _filling(chosen)
    return Point(
        share,
        rate,
        _mean_response(bew, streams, unit_s, skipped),
        _mean_response(few, streams, unit_s, skipped),
        _mean_response(few, streams, unit_s * ratio, skipped),
    )


def _mean_response(turns: Turns, streams: Streams, unit_s: float, skipped: float) -> float:
    """From arrival to the end of the turn that a tuple was joined in, windows being full."""
    arrivals_s = np.asarray(streams.arrivals() / SECOND, np.float64)
    service_s = np.asarray(turns.units * unit_s, np.float64)
    finished_s = np.add(arrivals_s, responses(arrivals_s, arrivals_s, service_s))
    is_done = turns.done >= 0
    steady = np.arange(len(arrivals_s)) >= skipped * len(arrivals_s)
    counted = is_done & steady
    return float((finished_s[turns.done[counted]] - arrivals_s[counted]).mean())


def _sooner(points: list[Point], few_s: Callable[[Point], float]) -> Reading:
    return below(
        [
            Case(f"{one.share} of bew's saturation", one.bew_s, few_s(one))
            for one in points
            if one.share <= LOW
        ]
    )


def _crossing(points: list[Point], few_s: Callable[[Point], float]) -> Reading:
    """The share of the saturation at which BEW's response time first is above FEW's."""
    above = [one.share for one in points if one.bew_s > few_s(one)]
    if not above:
        return Reading(float("inf"), f"no crossing up to {points[-1].share} of it", holds=False)
    text = f"at {above[0]} of bew's saturation"
    return Reading(above[0], text, holds=NEAR[0] <= above[0] <= NEAR[1])


def _chart(points: list[Point]) -> Chart:
    x = [one.rate_per_s * STREAMS for one in points]
    lines = [
        Line("bew", x, [one.bew_s * 1e3 for one in points]),
        Line("few", x, [one.few_s * 1e3 for one in points]),
        Line("few, on time", x, [one.few_on_time_s * 1e3 for one in points], is_dashed=True),
    ]
    panel = Panel("4 streams, hash, window 1 min", "tuples per s, all streams", "ms", lines)
    return Chart("Mean response time on the simulated clock", [panel])


EXPERIMENT = Experiment(
    name="bew-vs-few-response",
    paper=PAPER_2003,
    figure="response time",
    setting="4 synthetic streams of one rate, hash, window 1 min, from 0.05 to 1.1 of the rate at "
    "which BEW is saturated; simulated clock",
    claims=(
        Claim(
            "BEW answers sooner at low rates",
            "FEW's mean response time over BEW's, up to 0.2 of BEW's saturation: above 1",
        ),
        Claim(
            "the curves cross near BEW's saturation",
            "the rate from which BEW's response time is above FEW's: 0.5 to 1.1 of the saturation",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
