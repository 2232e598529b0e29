"""How many rows W-DISTINCT gives per second, as tuples come faster: equation 1.

    N_d = n (1 - (1 - 1/n) ^ (rate w))        output rate N_d / w, which tends to n / w

Of n values, uniform, N_d are in a window of length w on average. To divide them by w takes it that
each value in the window is given once per window. Algorithm 4.1 gives a value when it comes, and
again whenever the tuple that stands for it leaves and a duplicate is there; the newest one is taken.
That duplicate is younger than the window is long, but not new: it leaves sooner than a window later,
and the value is given more often than once per window, most so where a value comes a few times per
window. Where tuples come fast, the newest duplicate is as good as new. (Were it the oldest, every
tuple would be given in its turn, and nothing would be regulated.) Counted are rows that come and rows
that stand for one that leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import Claim, Finding, Reading
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.sched.queries import Q2, Setting
from windrow_papers.experiments.sched.runs import PAPER, Ran, run_query
from windrow_papers.experiments.sched.sales import synthetic_sales
from windrow_papers.experiments.tables import Value, table
from windrow_papers.experiments.workloads.streams import SECOND
from windrow_papers.kernels.scheduling import machine as m

SEED = 46
VALUES = 100
WINDOW_S = 60.0
MOST_OFF = 0.05
PER_WINDOW = (0.05, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""How often each value comes per window, on average."""


@dataclass(frozen=True)
class RegulatesSize:
    """How many windows a run lasts at least, and how many tuples it has at least."""

    windows: int
    tuples: int


SIZES = {
    Size.tiny: RegulatesSize(4, 500),
    Size.quick: RegulatesSize(60, 20_000),
    Size.full: RegulatesSize(200, 100_000),
}


@dataclass(frozen=True)
class Point:
    """One rate.

    Attributes:
        per_window: how often each value comes per window.
        rate_per_s: tuples per second.
        output_per_s: rows given per second.
        expected: N_d of equation 1.
        listed: values in DL, on average over time.
    """

    per_window: float
    rate_per_s: float
    output_per_s: float
    expected: float
    listed: float

    @property
    def expected_per_s(self) -> float:
        """The equation's output rate."""
        return self.expected / WINDOW_S

    @property
    def off(self) -> float:
        """How far the output rate is from the equation's, as a share of that."""
        return self.output_per_s / self.expected_per_s - 1


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    points = [_point(per_window, SIZES[size], say) for per_window in PER_WINDOW]
    rows: list[list[Value]] = [
        [
            one.per_window, one.rate_per_s, one.output_per_s, one.expected_per_s, one.off,
            one.listed, one.expected,
        ]
        for one in points
    ]  # fmt: skip
    return Findings(
        table(
            ("tuples per value and window", "tuples/s", "rows/s", "equation, rows/s", "off",
             "values in DL", "N_d"),
            rows,
        ),
        (
            Finding(_tends(points), reason="the highest rate is not high enough"),
            Finding(_near(points), reason=_why_not_near(points)),
        ),
        _chart(points),
    )  # fmt: skip


def equation_1(values: int, tuples: float) -> float:
    """How many of so many values a window of so many tuples has, on average."""
    return float(values * (1 - (1 - 1 / values) ** tuples))


def _point(per_window: float, chosen: RegulatesSize, say: Say) -> Point:
    rate = VALUES * per_window / WINDOW_S
    seconds = max(chosen.windows * WINDOW_S, chosen.tuples / rate)
    sales = synthetic_sales(rate, streams=1, items=VALUES, seconds=seconds, seed=SEED)
    say(f"{rate:,.1f} tuples per s: {len(sales):,} tuples")
    ran = run_query(Q2, "tpa", sales, Setting((WINDOW_S, WINDOW_S)))
    return Point(
        per_window, rate, _output_per_s(ran), equation_1(VALUES, rate * WINDOW_S), _listed(ran)
    )


def _output_per_s(ran: Ran) -> float:
    outputs = ran.outputs[ran.outputs[:, m.TRUE_AT] >= ran.steady_from]
    given = np.isin(outputs[:, m.KIND], (m.CAME, m.REPLACED)).sum()
    return float(given / ((ran.arrivals[-1] - ran.steady_from) / SECOND))


def _listed(ran: Ran) -> float:
    """Values in DL, averaged over time: those that came and have not left."""
    outputs = ran.outputs
    change = (outputs[:, m.KIND] == m.CAME).astype(np.int64) - (outputs[:, m.KIND] == m.LEFT)
    listed, since = np.cumsum(change), outputs[:, m.TRUE_AT]
    steady = since >= ran.steady_from
    lasting = np.diff(since[steady])
    return float((listed[steady][:-1] * lasting).sum() / lasting.sum())


def _tends(points: list[Point]) -> Reading:
    last = points[-1]
    ratio = last.output_per_s / (VALUES / WINDOW_S)
    text = f"{ratio:.3f} of n / w at {last.rate_per_s:,.0f} tuples per s"
    return Reading(ratio, text, holds=abs(ratio - 1) <= MOST_OFF)


def _near(points: list[Point]) -> Reading:
    worst = max(points, key=lambda one: abs(one.off))
    near = [one for one in points if abs(one.off) <= MOST_OFF]
    text = (
        f"{worst.off:+.1%} at most, where a value comes {worst.per_window:g} times per window; "
        f"within 5% at {len(near)} of {len(points)} rates"
    )
    return Reading(abs(worst.off), text, holds=len(near) == len(points))


def _why_not_near(points: list[Point]) -> str:
    off = max(abs(one.listed / one.expected - 1) for one in points)
    return (
        "N_d counts the values in a window, and as that it is right: DL holds as many, to "
        f"{off:.1%} at every rate. To be given once per window each, the duplicate that takes the "
        "place of a tuple would have to live for a whole window more, but it is of some age; "
        "with x tuples per value and window, many, it lives 1 - 1/x of a window, and the rate is "
        "that much higher"
    )


def _chart(points: list[Point]) -> Chart:
    x = [float(np.log2(one.per_window)) for one in points]
    rates = [
        Line("rows given", x, [one.output_per_s for one in points]),
        Line("equation 1", x, [one.expected_per_s for one in points], is_dashed=True),
        Line("n / w", x, [VALUES / WINDOW_S] * len(x), is_dashed=True),
    ]
    listed = [
        Line("values in DL", x, [one.listed for one in points]),
        Line("N_d", x, [one.expected for one in points], is_dashed=True),
    ]
    label = "log2 of tuples per value and window"
    panels = [
        Panel("rows per second", label, "rows per s", rates, is_log=False),
        Panel("values in the window", label, "values", listed, is_log=False),
    ]
    return Chart("W-DISTINCT as tuples come faster", panels)


EXPERIMENT = Experiment(
    name="distinct-regulates",
    paper=PAPER,
    figure="equation 1",
    setting="100 values, uniform, window 1 min, from 0.05 to 64 tuples per value and window; TPA",
    claims=(
        Claim(
            "the output rate tends to n / w",
            "rows given per second at the highest rate over n / w: within 5%",
        ),
        Claim(
            "the output rate is that of equation 1",
            "rows given per second over N_d / w: within 5% at every rate",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
