"""How many tuples per second an operator can take before its queue no longer drains.

Streams come faster and faster; with time windows the buffers grow with the rate, and so does the
work of each tuple. On a simulated clock every unit of work (a look-up, a comparison, the taking of
a tuple) takes a time, and the operator is saturated at the rate at which a second's tuples need a
second. On counts a unit takes either algorithm equally long; on time a unit of FEW takes as much
longer or shorter than one of BEW as it did in the same run on this machine.

FEW saves the window test of every tuple that its loops go through. With a work that grows like a
power of the rate, the more streams the higher, the same saving moves the saturation less and less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading, below, falling
from windrow_papers.experiments.clock import STEADY_AFTER, saturation
from windrow_papers.experiments.contest import (
    BEW,
    BEW_HASH,
    FEW,
    FEW_HASH,
    Algorithm,
    Join,
    agree,
    count,
    measure,
    uniform,
)
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.tables import Value, table
from windrow_papers.experiments.wjoin.papers import PAPER_2003
from windrow_papers.experiments.workloads.streams import SECOND, Streams
from windrow_papers.experiments.workloads.synthetic import synthetic

SEED = 21
WINDOWS_PER_RUN = 4.0
LEAST_TO_CALIBRATE = 4_000
"""Tuples; over fewer, the calls would be timed and not the loops."""


@dataclass(frozen=True)
class Method:
    """A pair of implementations and their workload.

    Attributes:
        name: nested loop or hash.
        bew: backward evaluation.
        few: forward evaluation.
        window_s: the window.
        values: how many different keys there are.
        guess_per_s: a rate to begin with, per stream.
    """

    name: str
    bew: Algorithm
    few: Algorithm
    window_s: float
    values: int
    guess_per_s: float


METHODS = (
    Method("nested loop", BEW, FEW, window_s=2.0, values=50, guess_per_s=40.0),
    Method("hash", BEW_HASH, FEW_HASH, window_s=60.0, values=1_000, guess_per_s=20.0),
)


@dataclass(frozen=True)
class ThroughputSize:
    """Up to how many streams, and what a unit of work takes on the simulated clock."""

    most: int
    unit_s: float


SIZES = {
    Size.tiny: ThroughputSize(most=3, unit_s=2e-4),
    Size.quick: ThroughputSize(most=6, unit_s=1e-4),
    Size.full: ThroughputSize(most=6, unit_s=1e-5),
}


@dataclass(frozen=True)
class Limits:
    """The saturation of both for one number of streams, in tuples per second of all streams."""

    method: Method
    streams: int
    bew: float
    few: float
    few_on_time: float
    cost_ratio: float


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    chosen = SIZES[size]
    found = [
        _limits(method, streams, chosen.unit_s, say)
        for method in METHODS
        for streams in range(2, chosen.most + 1)
    ]
    rows: list[list[Value]] = [
        [
            one.method.name, one.streams, one.bew, one.few, one.few_on_time,
            one.few / one.bew, one.few_on_time / one.bew, one.cost_ratio,
        ]
        for one in found
    ]  # fmt: skip
    columns = (
        "method", "streams", "bew, max tuples/s", "few, max tuples/s", "few on time, max tuples/s",
        "lead", "lead on time", "few's unit cost / bew's",
    )  # fmt: skip
    costs = "; ".join(
        f"{one.method.name}, {one.streams} streams: {one.cost_ratio:.2f}" for one in found
    )
    return Findings(
        table(columns, rows),
        (
            Finding(
                below(_leads(found, lambda one: one.few)),
                below(_leads(found, lambda one: one.few_on_time)),
                reason="FEW's sweep costs more than the window tests that it saves",
                reason_on_time="a window test, compiled, is nearly free, and what FEW does once "
                "per tuple weighs more the shorter the buffers are: a unit of its work costs so "
                f"many of BEW's: {costs}",
            ),
            Finding(
                _shrinking(found, lambda one: one.few),
                _shrinking(found, lambda one: one.few_on_time),
                reason="the load grows no faster with the rate when there are more streams",
                reason_on_time="the lead follows what a unit of work costs either algorithm, and "
                f"FEW's become cheaper as its loops become longer, against BEW's: {costs}",
            ),
        ),
        _chart(found),
    )


def _limits(method: Method, streams: int, unit_s: float, say: Say) -> Limits:
    def load_of(algorithm: Algorithm) -> Callable[[float], float]:
        def load(rate_per_s: float) -> float:
            say(f"{method.name}, {streams} streams at {rate_per_s:.1f} per s: {algorithm.name}")
            made = _streams(method, streams, rate_per_s, WINDOWS_PER_RUN)
            every = max(1, made.tuples // 10)
            series = count(algorithm, _join(method, streams), made, made.live(), every=every)
            units = series.per_tuple(series.work + series.inputs, STEADY_AFTER)
            return units * unit_s * rate_per_s * streams

        return load

    bew = saturation(load_of(method.bew), method.guess_per_s)
    few = saturation(load_of(method.few), bew.rate)
    ratio = _cost_ratio(method, streams, bew.rate)
    return Limits(
        method, streams, bew.rate * streams, few.rate * streams, few.at_cost(ratio) * streams, ratio
    )


def _cost_ratio(method: Method, streams: int, rate_per_s: float) -> float:
    """What a unit of FEW's work takes in units of BEW's, over a run long enough to be timed."""
    tuples_per_window = rate_per_s * streams * method.window_s
    windows = max(WINDOWS_PER_RUN, LEAST_TO_CALIBRATE / tuples_per_window)
    made, join = _streams(method, streams, rate_per_s, windows), _join(method, streams)
    few, bew = (measure(one, join, made, made.live()) for one in (method.few, method.bew))
    agree(f"{method.name}, {streams} streams", {"few": few.found, "bew": bew.found})
    return few.cost_s / bew.cost_s


def _join(method: Method, streams: int) -> Join:
    return uniform(streams, int(method.window_s * SECOND))


def _streams(method: Method, streams: int, rate_per_s: float, windows: float) -> Streams:
    seconds = windows * method.window_s
    return synthetic([rate_per_s] * streams, values=method.values, seconds=seconds, seed=SEED)


def _leads(found: list[Limits], few: Callable[[Limits], float]) -> list[Case]:
    return [Case(f"{one.method.name}, {one.streams} streams", one.bew, few(one)) for one in found]


def _shrinking(found: list[Limits], few: Callable[[Limits], float]) -> Reading:
    readings = [
        falling(_leads([one for one in found if one.method is method], few)) for method in METHODS
    ]
    return readings[0].and_also(readings[1])


def _chart(found: list[Limits]) -> Chart:
    panels = []
    for method in METHODS:
        own = [one for one in found if one.method is method]
        x = [float(number) for number in range(len(own))]
        lines = [
            Line("bew", x, [one.bew for one in own]),
            Line("few", x, [one.few for one in own]),
            Line("few, on time", x, [one.few_on_time for one in own], is_dashed=True),
        ]
        title = f"{method.name}, window {method.window_s:.0f} s"
        ticks = [str(one.streams) for one in own]
        panels.append(Panel(title, "streams", "max tuples per s, all streams", lines, ticks=ticks))
    return Chart("Maximum throughput on the simulated clock", panels)


EXPERIMENT = Experiment(
    name="bew-vs-few-throughput",
    paper=PAPER_2003,
    figure="maximum throughput",
    setting="2 to 6 synthetic streams of one rate, rising until the queue no longer drains; nested "
    "loop with windows of 2 s, hash with windows of 1 min; simulated clock",
    claims=(
        Claim(
            "FEW's maximum throughput higher",
            "FEW's saturation over BEW's: above 1 for both methods and every number of streams",
        ),
        Claim(
            "the lead shrinks as streams are added",
            "FEW's saturation over BEW's: less with the most streams than with 2, both methods",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
