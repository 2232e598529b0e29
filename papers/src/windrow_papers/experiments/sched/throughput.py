"""How fast outputs come when tuples come faster than they can be worked off.

Tuples wait at the scan all the time, so that TPA, which probes when nothing waits, does what ITA
does. NTA takes every tuple twice; ITA and TPA scan Q5's buffer with every pair that comes. Windows
hold as many tuples as at 20 per s: 40,000 outputs are there long before a tuple would leave a window
of 10 minutes at 2,056 per s. The clock is set so slow that the rate is twice what ITA can work off;
on time, the compiled operators run as fast as this machine does. To hold the rows of Q4's answer in
the order in which they leave is their reader's, as in sched-workload; were it counted, NTA would be
2% faster there than ITA and TPA.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading, at_most, below
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.sched.queries import MACHINE, Q4, Q5, SCHEDULINGS, WorkloadQuery
from windrow_papers.experiments.sched.runs import PAPER, Ran, Three, run_all, run_query
from windrow_papers.experiments.sched.sales import synthetic_sales
from windrow_papers.experiments.tables import Table, Value, table
from windrow_papers.experiments.workloads.streams import SECOND
from windrow_papers.kernels.scheduling import machine as m

SEED = 44
RATE_PER_S = 2_056.0
USUAL_PER_S = 20.0
OVERLOAD = 2.0
LEVEL = 1.05
LEVEL_ON_TIME = 1.25
MARKS = 20


@dataclass(frozen=True)
class ThroughputSize:
    """How many outputs, the share of the windows' tuples, and how often time is taken."""

    outputs: int
    scale: float
    repeats: int


SIZES = {
    Size.tiny: ThroughputSize(1_000, 0.05, repeats=1),
    Size.quick: ThroughputSize(40_000, 1.0, repeats=3),
    Size.full: ThroughputSize(40_000, 1.0, repeats=5),
}


@dataclass(frozen=True)
class Contest:
    """One query: its runs on the slow clock, and seconds of this machine by scheduling."""

    runs: Three
    outputs: int
    seconds: Mapping[str, float]

    def reached_s(self, name: str, outputs: int) -> float:
        """When so many outputs were there, from the first arrival on."""
        one = self.runs[name]
        return float((one.outputs[outputs - 1, m.MADE_AT] - one.arrivals[0]) / SECOND)

    def case(self, label: str, small: str, large: str, *, is_on_time: bool) -> Case:
        """Two schedulings by the time that they take for all outputs."""
        took = (
            self.seconds if is_on_time else {n: self.reached_s(n, self.outputs) for n in self.runs}
        )
        return Case(f"{label}, {small} against {large}", took[small], took[large])


def run(size: Size, say: Say) -> Findings:
    """Measures and decides."""
    contests = {query.name: _contest(query, SIZES[size], say) for query in (Q4, Q5)}
    one, several = contests[Q4.name], contests[Q5.name]
    return Findings(
        _table(contests),
        (
            Finding(
                _level(one, is_on_time=False),
                _level(one, is_on_time=True),
                reason="something is probed although tuples wait",
                reason_on_time="the counts are level; time follows what else the machine did",
            ),
            Finding(
                below([one.case(Q4.name, other, "nta", is_on_time=False) for other in ("ita", "tpa")]),
                below([one.case(Q4.name, other, "nta", is_on_time=True) for other in ("ita", "tpa")]),
                reason="ITA and TPA work as much to find what expires as NTA to take it again",
                reason_on_time="to hold the answer's rows in the order in which they leave is their "
                "reader's and not counted, but takes its time in ITA and TPA",
            ),
            Finding(
                below([several.case(Q5.name, "nta", other, is_on_time=False) for other in ("ita", "tpa")]),
                below([several.case(Q5.name, "nta", other, is_on_time=True) for other in ("ita", "tpa")]),
                reason="so few pairs are in the buffer that to scan it is less than to take every "
                "tuple twice",
                reason_on_time="look-ups of tables beyond the processor's cache take the most time here, and "
                "NTA does twice as many; a scan reads in order",
            ),
        ),
        _chart(contests),
    )  # fmt: skip


def _contest(query: WorkloadQuery, chosen: ThroughputSize, say: Say) -> Contest:
    setting = query.setting(scale=chosen.scale * USUAL_PER_S / RATE_PER_S)
    # A pair comes and leaves; the windows of the first tuples are not full yet.
    per_arrival = 2 * query.join_selectivity * setting.selectivity
    seconds = 1.2 * chosen.outputs / per_arrival / (2 * RATE_PER_S) + 2 * max(setting.windows_s)
    sales = synthetic_sales(
        RATE_PER_S,
        streams=2,
        items=query.items(RATE_PER_S, setting, query.join_selectivity),
        seconds=seconds,
        seed=SEED,
    )
    say(f"{query.name}: {len(sales):,} tuples")
    probe = run_query(query, "ita", sales, setting)
    worked_us = np.dot(probe.work, MACHINE.by_kind())
    slower = OVERLOAD * seconds * SECOND / float(worked_us)
    slow = replace(setting, costs=MACHINE.slower(slower))
    runs = run_all(query.name, query, sales, slow)
    timed = dict.fromkeys(SCHEDULINGS, float("inf"))
    for _ in range(chosen.repeats):  # in turns, so that what else the machine does meets all
        for name in SCHEDULINGS:
            timed[name] = min(timed[name], run_query(query, name, sales, slow).seconds)
    outputs = min(chosen.outputs, *(len(one.outputs) for one in runs.values()))
    return Contest(runs, outputs, timed)


def _level(contest: Contest, *, is_on_time: bool) -> Reading:
    """ITA and TPA, whichever is faster."""
    case = contest.case(Q4.name, "ita", "tpa", is_on_time=is_on_time)
    low, high = sorted((case.small, case.large))
    return at_most(LEVEL_ON_TIME if is_on_time else LEVEL, [Case(case.label, low, high)])


def _table(contests: Mapping[str, Contest]) -> Table:
    rows: list[list[Value]] = []
    for case, contest in contests.items():
        for name, one in contest.runs.items():
            count = len(one.arrivals)
            rows.append(
                [
                    case, name, count, one.in_all, contest.outputs,
                    contest.reached_s(name, contest.outputs), _per_tuple(one, m.RUNS),
                    one.touches / count, _per_tuple(one, m.SCANNED), _per_tuple(one, m.PROBES),
                    contest.seconds[name] / count * 1e9,
                ]
            )  # fmt: skip
    return table(
        ("case", "scheduling", "tuples in", "results", "outputs", "reached after, s", "runs/tuple",
         "touches/tuple", "scanned/tuple", "probes/tuple", "ns/tuple"),
        rows,
        ("case", "scheduling", "results", "outputs", "reached after, s", "runs/tuple",
         "touches/tuple", "ns/tuple"),
    )  # fmt: skip


def _per_tuple(one: Ran, kind: int) -> float:
    return float(one.work[kind] / len(one.arrivals))


def _chart(contests: Mapping[str, Contest]) -> Chart:
    panels = []
    for case, contest in contests.items():
        marks = np.linspace(contest.outputs / MARKS, contest.outputs, MARKS).astype(np.int64)
        lines = [
            Line(
                name,
                [float(mark) / 1_000 for mark in marks],
                [contest.reached_s(name, int(mark)) for mark in marks],
            )
            for name in SCHEDULINGS
        ]
        panels.append(Panel(case, "thousand outputs", "seconds", lines, is_log=False))
    return Chart("When outputs are there, tuples coming faster than they are worked off", panels)


EXPERIMENT = Experiment(
    name="sched-throughput",
    paper=PAPER,
    figure="figures 13 and 16",
    setting="Q4 and Q5, 2,056 tuples per s and stream, twice what ITA can work off; windows of as "
    "many tuples as at 20 per s; up to 40,000 outputs; simulated clock",
    claims=(
        Claim(
            "one window: ITA and TPA level",
            "the time for all outputs, the longer over the shorter: at most 1.05 (on time 1.25)",
        ),
        Claim("one window: NTA below", "NTA's time for all outputs over ITA's and TPA's: above 1"),
        Claim("several windows: NTA above", "ITA's and TPA's time for all outputs over NTA's: above 1"),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)  # fmt: skip
