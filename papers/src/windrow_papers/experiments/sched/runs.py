"""A query of the workload, run under each scheduling over the same sales; what came of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from windrow_papers.experiments.charts import Line, Panel
from windrow_papers.experiments.claims import Case, Reading, below
from windrow_papers.experiments.contest import agree
from windrow_papers.experiments.experiment import Say
from windrow_papers.experiments.sched.queries import SCHEDULINGS, Setting, WorkloadQuery, machine_of
from windrow_papers.experiments.sched.sales import Sales, synthetic_sales
from windrow_papers.experiments.tables import Table, Value, table
from windrow_papers.experiments.workloads.streams import SECOND, Int64s
from windrow_papers.kernels.scheduling import machine as m
from windrow_papers.kernels.scheduling.schedule import finish, run

PAPER = "2004, Efficient pipelined execution of sliding window queries over data streams"

MAGNITUDE = 5.0
"""From how many times on a claim of an order of magnitude holds: nearer to ten than to one."""


@dataclass(frozen=True)
class Extent:
    """The share of the paper's windows, and how many of them a run lasts."""

    scale: float
    windows: float


@dataclass(frozen=True)
class Ran:
    """One run.

    Attributes:
        outputs: a line each, as `machine.py` has them: those produced while tuples came.
        in_all: how many outputs there are once everything has expired.
        arrivals: when tuples came.
        tuples: a line per arrival: what was stored after it, and the clock.
        work: counts, as `machine.py` has them.
        steady_from: the instant from which all windows are full.
        seconds: of this machine's processor.
    """

    outputs: Int64s
    in_all: int
    arrivals: Int64s
    tuples: Int64s
    work: Int64s
    steady_from: int
    seconds: float

    @property
    def responses_s(self) -> np.ndarray:
        """From when an output became true to its production, in seconds, windows being full."""
        steady = self.outputs[self.outputs[:, m.TRUE_AT] >= self.steady_from]
        return np.asarray((steady[:, m.MADE_AT] - steady[:, m.TRUE_AT]) / SECOND)

    @property
    def mean_s(self) -> float:
        """The average response time."""
        return float(self.responses_s.mean())

    @property
    def max_s(self) -> float:
        """The maximum response time."""
        return float(self.responses_s.max())

    @property
    def touches(self) -> int:
        """All work but runs and scans."""
        return int(self.work.sum() - self.work[m.RUNS] - self.work[m.SCANNED])

    @property
    def scanned(self) -> float:
        """Tuples that scans went over, per arrival."""
        return float(self.work[m.SCANNED] / len(self.arrivals))

    @property
    def stored(self) -> float:
        """Tuples that operators store, on average, windows being full."""
        return float(self._steady(m.STORED_BY_OPERATORS).mean())

    @property
    def stored_by_expire(self) -> float:
        """Tuples that W-Expire stores for itself, on average, windows being full."""
        return float(self._steady(m.STORED_BY_EXPIRE).mean())

    @property
    def waiting(self) -> float:
        """Tuples that have come and wait for the scan, on average, windows being full."""
        come = np.searchsorted(self.arrivals, self.tuples[:, m.FINISHED], side="right")
        waiting = come - np.arange(1, len(self.arrivals) + 1)
        return float(waiting[self.arrivals >= self.steady_from].mean())

    @property
    def held(self) -> float:
        """All of these."""
        return self.stored + self.stored_by_expire + self.waiting

    def _steady(self, column: int) -> Int64s:
        return np.asarray(self.tuples[self.arrivals >= self.steady_from, column], np.int64)


def run_query(query: WorkloadQuery, scheduling: str, sales: Sales, setting: Setting) -> Ran:
    """Runs a query to the end of its sales, and then until everything has expired."""
    machine = machine_of(query, scheduling, sales, setting)
    started = time.process_time()
    run(machine, len(sales))
    seconds = time.process_time() - started
    produced = int(machine.numbers[m.OUTPUTS])
    work = machine.work.copy()
    finish(machine)
    return Ran(
        machine.outputs[:produced],
        int(machine.numbers[m.OUTPUTS]),
        sales.time,
        machine.tuples,
        work,
        int(sales.time[0]) + max(setting.windows),
        seconds,
    )


Three = Mapping[str, Ran]
"""The runs of one case by scheduling."""


def run_all(case: str, query: WorkloadQuery, sales: Sales, setting: Setting) -> Three:
    """Runs a query under every scheduling.

    Raises:
        InternalError: they do not give the same number of outputs.
    """
    runs = {name: run_query(query, name, sales, setting) for name in SCHEDULINGS}
    agree(case, {name: one.in_all for name, one in runs.items()})
    return runs


def run_synthetic(
    case: str,
    query: WorkloadQuery,
    extent: Extent,
    say: Say,
    *,
    rate: float,
    join_selectivity: float,
    seed: int,
) -> Three:
    """Runs a query under every scheduling, over synthetic sales."""
    setting = query.setting(scale=extent.scale)
    sales = synthetic_sales(
        rate,
        streams=query.streams,
        items=query.items(rate, setting, join_selectivity),
        seconds=extent.windows * max(setting.windows_s),
        seed=seed,
    )
    say(f"{case}: {len(sales):,} tuples")
    return run_all(case, query, sales, setting)


_COLUMNS = (
    "case", "scheduling", "tuples in", "results", "mean, ms", "max, ms", "runs/tuple",
    "touches/tuple", "scanned/tuple", "stored", "stored by W-Expire",
)  # fmt: skip
_BRIEF = (
    "case", "scheduling", "results", "mean, ms", "max, ms", "runs/tuple", "scanned/tuple", "stored"
)  # fmt: skip


def runs_table(cases: Mapping[str, Three]) -> Table:
    """A row per run; results are counted until everything has expired."""
    rows: list[list[Value]] = []
    for case, runs in cases.items():
        for name, one in runs.items():
            count = len(one.arrivals)
            rows.append(
                [
                    case, name, count, one.in_all, one.mean_s * 1e3, one.max_s * 1e3,
                    float(one.work[m.RUNS] / count), one.touches / count,
                    one.scanned, one.stored, one.stored_by_expire,
                ]
            )  # fmt: skip
    return table(_COLUMNS, rows, _BRIEF)


def in_order(cases: Mapping[str, Three], names: Sequence[str]) -> Reading:
    """That mean response times rise from the first scheduling to the last, in every case."""
    steps = [
        Case(f"{small} before {large}, {case}", runs[small].mean_s, runs[large].mean_s)
        for case, runs in cases.items()
        for small, large in pairwise(names)
    ]
    least = min(steps, key=lambda step: step.ratio)
    text = (
        f"{least.ratio:.4f} x at least ({least.label}: {least.small * 1e3:.3f} ms against "
        f"{least.large * 1e3:.3f} ms)"
    )
    return Reading(least.ratio, text, holds=below(steps).holds)


def lines_over(x: Sequence[float], cases: Sequence[Three], *, is_max: bool = False) -> list[Line]:
    """Response times in milliseconds, a curve per scheduling; NTA's lets TPA's shine through."""
    figures = {
        name: [runs[name].max_s if is_max else runs[name].mean_s for runs in cases]
        for name in SCHEDULINGS
    }
    return [
        Line(name, list(x), [seconds * 1e3 for seconds in by_case], is_dashed=name == "nta")
        for name, by_case in figures.items()
    ]


def response_panels(by_name: Mapping[str, Mapping[float, Three]], axis: str) -> list[Panel]:
    """Average and maximum response times over what is varied, for each of some queries."""
    return [
        Panel(
            f"{name}, {'maximum' if is_max else 'average'}",
            axis,
            "ms",
            lines_over(list(cases), list(cases.values()), is_max=is_max),
        )
        for name, cases in by_name.items()
        for is_max in (False, True)
    ]
