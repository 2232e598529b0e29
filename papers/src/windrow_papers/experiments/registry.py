"""All experiments, in the order of the papers."""

from __future__ import annotations

from collections.abc import Sequence

from windrow_papers.experiments.bmj import dimensions, flow, pages
from windrow_papers.experiments.bmj import size as bmj_size
from windrow_papers.experiments.errors import ExperimentError
from windrow_papers.experiments.experiment import Experiment
from windrow_papers.experiments.kang import (
    cost_crossovers,
    cost_table,
    cost_workloads,
    shed_both,
    shed_cpu,
    shed_memory,
    structure_memory,
)
from windrow_papers.experiments.sched import memory, rate, regulates, selectivity, workload
from windrow_papers.experiments.sched import throughput as sched_throughput
from windrow_papers.experiments.wjoin import (
    bew_graph,
    gca_vs_lca,
    output,
    path,
    response,
    slow_stream,
    streams_even,
    streams_variable,
    throughput,
    vs_ripple,
    vs_xjoin,
)

EXPERIMENTS: tuple[Experiment, ...] = (
    vs_ripple.EXPERIMENT,
    vs_xjoin.EXPERIMENT,
    streams_variable.EXPERIMENT,
    streams_even.EXPERIMENT,
    slow_stream.EXPERIMENT,
    gca_vs_lca.EXPERIMENT,
    path.EXPERIMENT,
    bew_graph.EXPERIMENT,
    throughput.EXPERIMENT,
    response.EXPERIMENT,
    output.EXPERIMENT,
    cost_table.EXPERIMENT,
    cost_crossovers.EXPERIMENT,
    structure_memory.EXPERIMENT,
    cost_workloads.EXPERIMENT,
    shed_cpu.EXPERIMENT,
    shed_memory.EXPERIMENT,
    shed_both.EXPERIMENT,
    workload.EXPERIMENT,
    rate.EXPERIMENT,
    selectivity.EXPERIMENT,
    sched_throughput.EXPERIMENT,
    memory.EXPERIMENT,
    regulates.EXPERIMENT,
    bmj_size.EXPERIMENT,
    dimensions.EXPERIMENT,
    flow.EXPERIMENT,
    pages.EXPERIMENT,
)

ALL = "all"


def chosen(names: Sequence[str]) -> tuple[Experiment, ...]:
    """The experiments of these names, each once, in the order of the papers; `all` is every one.

    Raises:
        ExperimentError: there is no experiment of some name.
    """
    known = {experiment.name for experiment in EXPERIMENTS}
    for name in names:
        if name not in known and name != ALL:
            raise ExperimentError.unknown(name, known)
    return tuple(
        experiment for experiment in EXPERIMENTS if ALL in names or experiment.name in names
    )
