"""How many tuples the operators of a plan hold once its windows are full, by rates and different keys.

    SlidingAggregate sum(x)      tpa: the pairs alive           nta: none, the sum alone
      join a.k = b.k             the tuples of both windows     the same: pairs leave with them
        a [RANGE 10 min]
        b [RANGE 5 min]

Of two windows with n and m tuples alive, n m / d pairs are alive where keys take d different values.
What is kept per group or per different row is no tuple, and the same by either scheduling.
"""

from __future__ import annotations

from math import prod

from windrow.optimize.plan_statistics import PlanStatistics
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.expire_rows import ExpireRows
from windrow.physical.nodes.filter_rows import FilterRows
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.project_rows import ProjectRows
from windrow.physical.nodes.range_rows import RangeRows
from windrow.physical.nodes.scan_stream import ScanStream
from windrow.physical.nodes.scan_table import ScanTable
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.nodes.table_join_rows import TableJoinRows
from windrow.physical.nodes.union_rows import UnionRows
from windrow.plan.statistics import ASSUMED

ADDED_UP = frozenset({"sum", "count", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp"})
"""The aggregates that take a value back by subtracting it, and need no other values for that."""

_HOLDING_NONE = ScanStream | ScanTable | FilterRows | ProjectRows | RangeRows | UnionRows


def held_rows(spec: PhysicalNode, numbers: PlanStatistics) -> float | None:
    """Tuples that a plan holds on average; None where its numbers do not tell."""
    parts = [held_rows(child, numbers) for child in spec.inputs]
    return _total([_held_by(spec, numbers), *parts])


def _held_by(spec: PhysicalNode, numbers: PlanStatistics) -> float | None:
    """Tuples that one operator holds."""
    hands_on = isinstance(spec, SetOp) and spec.hands_on
    if hands_on or isinstance(spec, _HOLDING_NONE | TableJoinRows):
        return 0.0
    if isinstance(spec, ExpireRows):
        return _alive(spec.input, numbers)
    if isinstance(spec, SlidingAggregate) and not spec.estimated_from:
        subtracts = all(a.function in ADDED_UP and not a.is_distinct for a in spec.aggregates)
        is_needed = spec.input.has_ends or not subtracts
        return _alive(spec.input, numbers) if is_needed else 0.0
    if isinstance(spec, SetOp):
        return _total([_alive(c, numbers) if c.has_ends else 0.0 for c in spec.inputs])
    if isinstance(spec, MultiJoin) and spec.joins_what_is_alive:
        return _total([_alive(child, numbers) for child in spec.inputs])
    return None


def _alive(spec: PhysicalNode, numbers: PlanStatistics) -> float | None:
    """Rows of a spec that are alive at an instant."""
    if isinstance(spec, ProjectRows | ExpireRows):
        return _alive(spec.input, numbers)
    if isinstance(spec, SetOp) and spec.hands_on:
        return _alive(spec.inputs[0], numbers)
    if isinstance(spec, UnionRows):
        return _total([_alive(child, numbers) for child in spec.inputs])
    if isinstance(spec, MultiJoin):
        return _alive_pairs(spec, numbers)
    if len(spec.scans) > 1:  # a selection over a join: what passes it is not known
        return None
    length, rate = spec.alive_ticks, numbers.rate(spec)
    return None if length is None or rate is None else rate.value * length


def _alive_pairs(join: MultiJoin, numbers: PlanStatistics) -> float | None:
    """Combinations of a join that are alive: those of equal keys, of all that could be."""
    if join.predicates or not join.joins_what_is_alive:
        return None
    alive = [_alive(child, numbers) for child in join.inputs]
    apart = 1.0
    for own in join.classes:
        keys = [numbers.different(join.inputs[at], str(own.columns[at])) for at in own.inputs]
        if any(figure.source == ASSUMED for figure in keys):
            return None
        apart *= max(figure.value for figure in keys) ** (len(keys) - 1)
    known = [rows for rows in alive if rows is not None]
    return prod(known) / max(apart, 1.0) if len(known) == len(alive) else None


def _total(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
