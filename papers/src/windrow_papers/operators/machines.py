"""The machines of the papers' window joins: what each is told about a join of a query.

As in `windrow.operators.joins.tuple_at_a_time.machines`, a maker imports its kernels itself: a worker compiles
those of its own algorithm alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.kernels.tuple_at_a_time.arrival import order_by_keys
from windrow.operators.joins.tuple_at_a_time.machines import (
    conditions_of,
    pipeline,
    stated_conditions,
)

if TYPE_CHECKING:
    from windrow.kernels.tuple_at_a_time.machine import ArrivalMachine
    from windrow.kernels.tuple_at_a_time.sweep_machine import SweepMachine
    from windrow.kernels.tuple_at_a_time.tape import Numbers
    from windrow.physical.nodes.time_join import TimeJoin


def bew(spec: TimeJoin, first: Numbers) -> ArrivalMachine:
    """Backward evaluation, by nested loops or by hash."""
    from windrow_papers.kernels.bew import BewNestedLoop  # noqa: PLC0415
    from windrow_papers.kernels.bew_hash import BewHash  # noqa: PLC0415

    conditions = conditions_of(spec)
    make = BewHash if spec.method == "hash" else BewNestedLoop
    return make(conditions, first, order_by_keys(conditions))


def bew_graph(spec: TimeJoin, first: Numbers) -> ArrivalMachine:
    """Backward evaluation along the stated windows."""
    from windrow_papers.kernels.bew_graph import BewGraph  # noqa: PLC0415

    return BewGraph(stated_conditions(spec), conditions_of(spec).upper, first)


def closure(spec: TimeJoin, first: Numbers) -> ArrivalMachine:
    """The join by the closed bound of each pair."""
    from windrow_papers.kernels.closure import Closure  # noqa: PLC0415

    conditions = conditions_of(spec)
    return Closure(conditions, first, order_by_keys(conditions))


def ripple(spec: TimeJoin, first: Numbers) -> ArrivalMachine:
    """The adapted ripple join."""
    from windrow_papers.kernels.ripple import Ripple  # noqa: PLC0415

    conditions = conditions_of(spec)
    return Ripple(conditions, first, order_by_keys(conditions))


def xjoin(spec: TimeJoin, first: Numbers) -> ArrivalMachine:
    """The adapted XJoin."""
    from windrow_papers.kernels.xjoin import XJoinLoops  # noqa: PLC0415

    return pipeline(spec, first, XJoinLoops)


def gca(spec: TimeJoin, first: Numbers) -> SweepMachine:
    """The global conservative approach."""
    from windrow_papers.kernels.conservative_machines import GcaMachine  # noqa: PLC0415

    stated = stated_conditions(spec).upper
    return GcaMachine(conditions_of(spec), stated, first, method=spec.method)


def lca(spec: TimeJoin, first: Numbers) -> SweepMachine:
    """The local conservative approach."""
    from windrow_papers.kernels.conservative_machines import LcaMachine  # noqa: PLC0415

    stated = stated_conditions(spec).upper
    return LcaMachine(conditions_of(spec), stated, first, method=spec.method)
