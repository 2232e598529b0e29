"""The same machines driven by this machine's own clock: tuples are let in at their real instants.

arrivals     |      |   |         |        the driver sleeps until the next
steps        [ita][tpa][nta]               every scheduling takes the tuple, in turns
response     from when an output became true to the end of the step that produced it
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from windrow_papers.experiments.sched.queries import (
    FREE,
    SCHEDULINGS,
    Setting,
    WorkloadQuery,
    machine_of,
)
from windrow_papers.experiments.sched.sales import Sales, synthetic_sales
from windrow_papers.experiments.workloads.streams import SECOND
from windrow_papers.kernels.scheduling import machine as m
from windrow_papers.kernels.scheduling.schedule import run


def real_responses(
    query: WorkloadQuery, setting: Setting, *, rate_per_s: float, seconds: float, seed: int
) -> dict[str, float]:
    """The mean response time per scheduling, in seconds, windows being full."""
    items = query.items(rate_per_s, setting, query.join_selectivity)
    sales = synthetic_sales(
        rate_per_s, streams=query.streams, items=items, seconds=seconds, seed=seed
    )
    free = Setting(setting.windows_s, setting.selectivity, FREE)
    for scheduling in SCHEDULINGS:  # compiled before the clock runs
        run(machine_of(query, scheduling, sales, free), len(sales))
    machines = {name: machine_of(query, name, sales, free) for name in SCHEDULINGS}
    drive(machines, sales)
    steady_from = int(sales.time[0]) + max(free.windows)
    return {name: _mean_s(machine, steady_from) for name, machine in machines.items()}


def drive(machines: Mapping[str, m.Machine], sales: Sales) -> None:
    """Hands every tuple over at its instant, and stamps what comes of it when it is there."""
    names = list(machines)
    began = time.perf_counter() - int(sales.time[0]) / SECOND
    for number, instant in enumerate(sales.time.tolist()):
        time.sleep(max(0.0, instant / SECOND - (time.perf_counter() - began)))
        turn = number % len(names)  # nobody is always first
        for name in names[turn:] + names[:turn]:
            _step(machines[name], number, began)


def _step(machine: m.Machine, number: int, began: float) -> None:
    before = int(machine.numbers[m.OUTPUTS])
    machine.numbers[m.NOW] = int((time.perf_counter() - began) * SECOND)
    run(machine, number + 1)
    made_at = int((time.perf_counter() - began) * SECOND)
    machine.outputs[before : machine.numbers[m.OUTPUTS], m.MADE_AT] = made_at


def _mean_s(machine: m.Machine, steady_from: int) -> float:
    outputs = machine.outputs[: machine.numbers[m.OUTPUTS]]
    steady = outputs[outputs[:, m.TRUE_AT] >= steady_from]
    return float(np.mean((steady[:, m.MADE_AT] - steady[:, m.TRUE_AT]) / SECOND))
