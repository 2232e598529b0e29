"""The machines of the papers' window joins: what each is told about a join of a query.

As in `windrow.operators.joins.tuple_at_a_time.machines`, a maker imports its kernels itself: a worker compiles
those of its own algorithm alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.operators.joins.tuple_at_a_time.machines import (
    conditions_of,
    pipeline,
    stated_conditions,
)
from windrow_papers.kernels.loop_machine import order_by_keys

if TYPE_CHECKING:
    from windrow.kernels.tuple_at_a_time.machine import ArrivalMachine
    from windrow.kernels.tuple_at_a_time.sweep_machine import SweepMachine
    from windrow.kernels.tuple_at_a_time.tape import Int64s
    from windrow.physical.nodes.time_join import TimeJoin


def bew(node: TimeJoin, first: Int64s) -> ArrivalMachine:
    """Backward evaluation, by nested loops or by hash."""
    from windrow_papers.kernels.bew import BewNestedLoop  # noqa: PLC0415
    from windrow_papers.kernels.bew_hash import BewHash  # noqa: PLC0415

    conditions = conditions_of(node)
    make = BewHash if node.method == "hash" else BewNestedLoop
    return make(conditions, first, order_by_keys(conditions))


def bew_graph(node: TimeJoin, first: Int64s) -> ArrivalMachine:
    """Backward evaluation along the stated windows."""
    from windrow_papers.kernels.bew_graph import BewGraph  # noqa: PLC0415

    return BewGraph(stated_conditions(node), conditions_of(node).upper, first)


def closure(node: TimeJoin, first: Int64s) -> ArrivalMachine:
    """The join by the closed bound of each pair."""
    from windrow_papers.kernels.closure import Closure  # noqa: PLC0415

    conditions = conditions_of(node)
    return Closure(conditions, first, order_by_keys(conditions))


def ripple(node: TimeJoin, first: Int64s) -> ArrivalMachine:
    """The adapted ripple join."""
    from windrow_papers.kernels.ripple import Ripple  # noqa: PLC0415

    conditions = conditions_of(node)
    return Ripple(conditions, first, order_by_keys(conditions))


def xjoin(node: TimeJoin, first: Int64s) -> ArrivalMachine:
    """The adapted XJoin."""
    from windrow_papers.kernels.xjoin import XJoinLoops  # noqa: PLC0415

    return pipeline(node, first, XJoinLoops)


def gca(node: TimeJoin, first: Int64s) -> SweepMachine:
    """The global conservative approach."""
    from windrow_papers.kernels.conservative_machines import GcaMachine  # noqa: PLC0415

    stated = stated_conditions(node).upper
    return GcaMachine(conditions_of(node), stated, first, method=node.method)


def lca(node: TimeJoin, first: Int64s) -> SweepMachine:
    """The local conservative approach."""
    from windrow_papers.kernels.conservative_machines import LcaMachine  # noqa: PLC0415

    stated = stated_conditions(node).upper
    return LcaMachine(conditions_of(node), stated, first, method=node.method)
